"""What pages are made of: slices by how boxes lie, what is said for what, and colours that can be read."""

import re
from pathlib import Path

import pytest
from report_kit import COSINES, FakeEncoder, Page, graph, make_run

from sgeval.relclip import box_tables
from sgeval.report import render_report
from sgeval.report.single import confused_rows

CSS = (Path(__file__).parents[1] / "sgeval" / "report" / "report.css").read_text(encoding="utf-8")


def test_scores_by_how_boxes_lie(tmp_path):
    row = graph("a", [(0, 1, "left of"), (1, 0, "right of"), (0, 2, "on")], ("dog", "cup", "dog"))
    # 120 x 90, a diagonal of 150. Dog and cup have 30 x 30 and 8 between them: the ratio is 1, the distance 8/150.
    # The second dog has 40 x 40 in place of 30 x 30 on the first: 900/1600.
    row["objects"][2]["bbox"] = [10, 20, 40, 40]
    run = make_run(tmp_path, "mine", [row], encoder=FakeEncoder(COSINES | {"dog on dog": 0.4}))
    found = box_tables(run.rows)
    assert found == {
        "size_ratio": [{"group": "0.2 and above", "n": 3, "mean": pytest.approx((0.9 + 0.8 + 0.4) / 3)}],
        "distance": [
            {"group": "overlap", "n": 1, "mean": pytest.approx(0.4)},
            {"group": "near", "n": 2, "mean": pytest.approx(0.85)},
        ],
    }
    row["objects"][1]["bbox"] = [100, 80, 10, 10]  # a ninth of the dog; 65 across and 30 down: over a fifth of 150
    found = box_tables(make_run(tmp_path, "mine", [row]).rows)
    assert [(each["group"], each["n"]) for each in found["size_ratio"]] == [("below 0.2", 2), ("0.2 and above", 1)]
    assert [(each["group"], each["n"]) for each in found["distance"]] == [("overlap", 1), ("distant", 2)]


def test_what_is_said_for_what(tmp_path):
    gold = [graph(name, [(0, 1, "left of"), (0, 1, "near")]) for name in "ab"]
    said = [graph("a", [(0, 1, "on")]), graph("b", [(0, 1, "Near"), (1, 0, "on")])]
    run = make_run(tmp_path, "mine", said, gold)
    # (cup, dog) has no reference; of two references the one that was said counts, else the first.
    found = [(row.said.words, row.confuser, row.n, row.of, row.share) for row in confused_rows(run)]
    assert found == [("dog left of cup", "on", 1, 1, "100.0 %")]
    page = Page(render_report(run, tmp_path / "page.html"))
    assert "Of 2 scored relations with a reference on their ordered pair 1 say something else." in page.words
    assert "left of: all others said instead in 1 of 1 (100.0 %)" in page.words and "near: said in 1 of 1" in page.words
    same = Page(render_report(make_run(tmp_path, "same", gold, gold), tmp_path / "page.html"))
    assert "All 4 scored relations with a reference on their ordered pair say the same as it." in same.words


def rgb(code):
    return [int(code[at : at + 2], 16) / 255 for at in (0, 2, 4)]


def colours(text):
    return {name: rgb(code) for name, code in re.findall(r"--([\w-]+): #(\w{6})", text)}


def mixed(top, ground, opacity):
    return [opacity * one + (1 - opacity) * other for one, other in zip(top, ground)]


def contrast(one, other):
    """WCAG 2.1, 1.4.3: the ratio of relative luminances."""

    def luminance(colour):
        linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
        return sum(share * value for share, value in zip((0.2126, 0.7152, 0.0722), linear))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_what_it_is_by_hand():
    assert contrast([0, 0, 0], [1, 1, 1]) == pytest.approx(21)
    # #767676 is the lightest grey that passes on white.
    assert contrast([0x76 / 255] * 3, [1, 1, 1]) > 4.5 > contrast([0x77 / 255] * 3, [1, 1, 1])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(scheme):
    light, dark = CSS.split("@media (prefers-color-scheme: dark)")
    colour = colours(light) if scheme == "light" else colours(light) | colours(dark.split("}")[0])
    texts = [("ink", "page"), ("ink", "soft"), ("ink", "warn"), ("dim", "page"), ("dim", "soft"), ("link", "page")]
    texts += [("dim", "warn"), ("object", "page")]
    for text, ground in texts:
        assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
    for square in ("best", "other"):  # numbers on a heat map, from the faintest to the strongest square
        for opacity in (0.1, 0.5, 0.85):
            ground = mixed(colour[square], colour["soft"], opacity)
            assert contrast(colour["ink"], ground) >= 4.5, (square, opacity, contrast(colour["ink"], ground))
    for mark in ("bar", "subject", "object"):  # 1.4.11: marks that carry a meaning
        assert contrast(colour[mark], colour["soft"]) >= 3, mark
    tags = dict(re.findall(r"\.tag-(\w+) \{ fill: #(\w{6})", CSS))
    for code in tags.values():
        assert contrast([1, 1, 1], rgb(code)) >= 4.5
    assert len(tags) == 2
