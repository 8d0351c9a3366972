"""Reports: what they say, that no stranger's text does anything in them, and that missing pictures do not stop them."""

import base64
import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from report_kit import REFERENCES, FakeEncoder, Page, assert_harmless, graph, make_run, pictures

from sgeval.cli.show import show_results
from sgeval.report import render_ranking, render_report
from sgeval.report.demo_model import HINT, demo_warning
from sgeval.report.draw import Histogram, histogram, overlay, shown_window
from sgeval.report.facts import first_only, scored_items, why_nothing
from sgeval.report.pictures import Pictures
from sgeval.report.single import card, extremes, pictures_left_out
from sgeval.report.tables import input_rows, left_out
from sgeval.report.text import agreed, hundred, safe_link
from sgeval.report.words import SCOPE, SKIPPED
from sgeval.runs import Run


def test_report_says_what_the_run_scored(tmp_path: Path) -> None:
    predictions = [graph("a", [(0, 1, "left of"), (0, 1, "left_of"), (2, 2, "near")]), graph("b", [(0, 1, "on")])]
    run = make_run(tmp_path, "mine", predictions, REFERENCES, penalty="none", bootstrap=50)
    page = Page(render_report(run, tmp_path / "report.html"))
    # eq. 2: (0.9 + 0.3) / 2 = 0.6; each picture has one scored relation
    assert run.result["n_duplicates"] == run.result["n_self"] == 1
    for words in (
        "60.00",
        "95 % interval 30.00 to 90.00",
        "Over 2 relations in 2 pictures.",
        "1 repeat of a relation in the same picture; merged into one n_duplicates",
        "1 relation of an object with itself; left out n_self",
        "subject and object are the same",
        "Reference: left of",
        run.result["signature"],
        run.inputs["predictions"]["sha256"],
    ):
        assert words in page.words, words
    assert str(tmp_path) not in page.source and len(page.pictures()) == 2
    assert_harmless(page)


def test_pictures_are_small_jpegs_of_the_crop(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    Image.new("RGB", (2000, 1500), (10, 200, 30)).save(folder / "a.png")
    big = graph("a", [(0, 1, "left of")]) | {"width": 2000, "height": 1500}
    for item in big["objects"]:
        item["bbox"] = [value * 15 for value in item["bbox"]]
    run = make_run(tmp_path, "mine", [big], images=folder)
    page = Page(render_report(run, tmp_path / "report.html"))
    image = Image.open(io.BytesIO(base64.b64decode(page.pictures()[0].partition(",")[2])))
    assert image.format == "JPEG" and max(image.size) == 320
    assert image.getpixel((5, 5)) == pytest.approx((10, 200, 30), abs=4)


def test_absent_values_have_a_dash_and_a_reason(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [])], empty="skip")
    page = Page(render_report(run, tmp_path / "report.html"))
    assert run.result["relclipscore"] is None
    for words in (
        'No picture has a defined score: 1 has no scored relation and is left out (empty="skip").',
        "The predictions hold no relation for these pictures.",
        "Not there: the run has no references.",
        "Undefined: no relation was scored.",
        "No relation was scored.",
    ):
        assert words in page.words, words


def test_missing_and_broken_pictures_become_placeholders(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "left of")]), graph("b", [(0, 1, "on")])])
    (tmp_path / "pictures" / "a.png").unlink()
    Image.new("RGB", (7, 5)).save(tmp_path / "pictures" / "b.png")
    page = Page(render_report(run, tmp_path / "report.html"))
    assert "No picture: a.png: no such file in the picture folder." in page.words
    assert "No picture: b.png: expected the annotated 120 x 90, got 7 x 5." in page.words
    assert page.pictures() == []
    elsewhere = pictures(tmp_path / "elsewhere", "a", "b")
    assert len(Page(render_report(run, tmp_path / "report.html", images=elsewhere)).pictures()) == 2
    arrays = {"a": np.zeros((90, 120, 3), dtype=np.uint8)}
    page = Page(
        render_report(make_run(tmp_path, "b", [graph("a", [(0, 1, "on")])], images=arrays), tmp_path / "b.html")
    )
    assert "No picture: the run keeps no file name for this picture." in page.words


def test_pictures_stay_inside_their_folder(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "left of")])])
    pictures(tmp_path, "secret")
    for name in ("../secret.png", str(tmp_path / "secret.png"), "a\x00.png", "x" * 5000):
        row = replace(run.rows.images[0], file=name)
        drawing = Pictures(replace(run, rows=replace(run.rows, images=(row,)))).draw(run.rows.items[0])
        assert drawing.href is None and drawing.reason and "no such file" in drawing.reason


def scene_run(folder: Path, names: list[str], relation: tuple[int, int, str], labels: tuple[str, ...]) -> Run:
    """A run of a model called `demo` over grey pictures of the size of the demo's scenes."""
    (folder / "scenes").mkdir(exist_ok=True)
    graphs = [
        graph(name, [relation], labels) | {"file_name": f"{name}.jpg", "width": 320, "height": 320} for name in names
    ]
    for name in names:
        Image.new("RGB", (320, 320)).save(folder / "scenes" / f"{name}.jpg")
    return make_run(folder, "drawn", graphs, images=folder / "scenes", encoder=FakeEncoder(name="demo"))


def test_demo_model_is_called_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = scene_run(tmp_path, ["scene_001", "scene_002"], (0, 1, "left of"), ("dog", "cup", "box"))
    words = Page(render_report(known, tmp_path / "a.html")).words
    assert demo_warning(known) is None and HINT in words and "These numbers mean nothing" not in words
    show_results([known])
    assert capsys.readouterr().err == f"{HINT}\n"

    unknown = scene_run(tmp_path, ["scene_001", "photo"], (0, 1, "riding"), ("person", "cup", "box"))
    warning = demo_warning(unknown)
    assert warning and warning.words == ("person", "riding") and not warning.more
    assert warning.sentences == (
        "Of 2 pictures, 1 is no such scene.",
        "Of 2 scored relations, 2 use words that it does not know:",
    )
    for page in (render_report(unknown, tmp_path / "b.html"), render_ranking([unknown], tmp_path / "c.html")):
        assert "Of 2 pictures, 1 is no such scene." in Page(page).words and "person, riding." in Page(page).words
    show_results([unknown])
    assert f"drawn: {warning.text}\n" == capsys.readouterr().err
    assert warning.text.startswith("These numbers mean nothing. ") and warning.text.endswith("person, riding.")

    photo = scene_run(tmp_path, ["photo"], (0, 1, "left of"), ("dog", "cup", "box"))
    assert (found := demo_warning(photo)) and found.text.endswith("Of 1 picture, 1 is no such scene.")
    assert demo_warning(make_run(tmp_path, "other", [graph("a", [(0, 1, "riding")])])) is None


def nothing_runs(folder: Path) -> list[tuple[Run, str]]:
    """Runs in which nothing was scored, each with what is to be said of it."""
    lonely = graph("a", [], ("dog",))
    selfish = graph("a", [(0, 0, "near"), (1, 1, "near")])
    full = graph("a", [(0, 1, "left of"), (1, 2, "on"), (0, 2, "on")])  # p = 3, k = 3
    (folder / "pictures").mkdir(exist_ok=True)
    (folder / "pictures" / "broken.png").write_bytes(b"no picture")
    broken = graph("broken", [(0, 1, "on")])
    none = "The predictions hold no relation for these pictures."
    return [
        (
            make_run(folder, "lonely", [lonely, graph("b", [], ())]),
            f"No picture has a defined score: 2 have fewer than two objects with a box. {none}",
        ),
        (make_run(folder, "empty", [graph("a", [])]), f"No relation was scored; 1 picture counts as 0. {none}"),
        (
            make_run(folder, "selfish", [selfish, {**lonely, "image_id": "b", "file_name": "b.png"}]),
            "No relation was scored; 1 picture counts as 0. The others have no defined score: 1 has fewer than two "
            "objects with a box. Of 2 predicted relations none was scored: 2 relate an object to itself.",
        ),
        (
            make_run(folder, "literal", [full], penalty="literal"),
            "No picture has a defined score: 1 has p − k of 0 or less, where eq. 3 as printed has no value.",
        ),
        (
            make_run(folder, "broken", [broken], on_bad_image="skip"),
            "No picture has a defined score: 1 could not be read. Of 1 predicted relation none was scored: 1 belongs to "
            "a picture that could not be read.",
        ),
        (
            make_run(
                folder, "nan", [graph("a", [(0, 1, "left of")])], encoder=FakeEncoder({"dog left of cup": math.nan})
            ),
            "No picture has a defined score: 1 got no finite number from the model. Of 1 predicted relation none was "
            "scored: 1 got no finite number from the model.",
        ),
    ]


def test_a_score_of_nothing_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "pictures", "a", "b")
    for run, why in nothing_runs(tmp_path):
        assert why_nothing(run) == why
        assert why in Page(render_report(run, tmp_path / "report.html")).words
        assert f"{run.name}: {why}" in Page(render_ranking([run], tmp_path / "report.html")).words
        show_results([run])
        assert why in capsys.readouterr().out
    scored = make_run(tmp_path, "scored", [graph("a", [(0, 1, "on")]), graph("b", [])])
    assert why_nothing(scored) == ""


def not_scored(run: Run) -> list[tuple[str, str, str]]:
    return left_out(run, pictures_left_out(run), Pictures(run))


def test_what_was_not_scored_is_listed_with_its_reason(tmp_path: Path) -> None:
    predictions = [graph("a", [(0, 1, "on"), (2, 2, "on")])]
    gold = [graph("a", []), graph("b", [])]
    run = make_run(tmp_path, "mine", predictions, gold, missing="zero")
    assert not_scored(run) == [
        ("a", "box on box", "subject and object are the same"),
        ("b", "(the whole picture)", "is not in the predictions, counts as 0"),
    ]
    run = make_run(tmp_path, "mine", [*predictions, graph("b", [], ("dog",))])
    assert ("b", "(the whole picture)", "has fewer than two objects with a box") in left_out(
        run, pictures_left_out(run), Pictures(run)
    )


def test_a_limit_is_told(tmp_path: Path) -> None:
    """A signature with `limit:N`: the head of both pages and the part on what was left out say so."""
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "on")])], REFERENCES[:1])
    assert first_only(run) == ""
    for count, words in (("1", "the first reference only"), ("1200", "the first 1,200 references only")):
        result = {**run.result, "signature": f"{run.result['signature']}|limit:{count}"}
        limited = replace(run, result=result)
        assert first_only(limited) == words
        page = Page(render_report(limited, tmp_path / "report.html")).words
        assert f"Over 1 relation in 1 picture, {words}." in page and f"Scored are {words}; what comes after" in page
        assert f"1 system on 1 picture, {words}" in Page(render_ranking([limited], tmp_path / "ranking.html")).words
    bare = make_run(tmp_path, "bare", [graph("a", [(0, 1, "on")])])
    assert first_only(replace(bare, inputs={"limit": 2})) == "the first 2 predictions only"


def test_every_count_has_words_that_agree_with_it(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "on")])], REFERENCES[:1], bootstrap=20)
    counts = {key for key in run.result if key.startswith("n_")}
    assert counts <= {*SCOPE, *SKIPPED} and "n_ref" in counts
    page = Page(render_report(run, tmp_path / "report.html")).words
    assert "1 picture in the run n_images" in page and "1 relation scored n_relations" in page
    assert "0 repeats of a relation in the same picture; merged into one n_duplicates" in page
    assert not [words for words in (*SCOPE.values(), *SKIPPED.values()) if set("{|}") & set(agreed(words, 1))]
    other = replace(run, result={**run.result, "n_new": 3, "n_newer": 0})
    page = Page(render_report(other, tmp_path / "report.html")).words
    assert "3 (a count of another version of sgeval) n_new" in page


def test_cards_show_what_was_scored(tmp_path: Path) -> None:
    labels = ("person_1", "tree-merged", "box")
    predictions = [graph("a", [(0, 1, "next_to")], labels)]
    run = make_run(tmp_path, "mine", predictions)
    (item,) = scored_items(run)
    made = card(run, item, Pictures(run))
    assert (made.said.words, made.text) == ("person next to tree", "")
    assert made.drawing.overlay and made.drawing.overlay.object.tag == "tree"
    run = make_run(tmp_path, "mine", predictions, normalisation="none", template="a {subject} {predicate} a {object}")
    made = card(run, scored_items(run)[0], Pictures(run))
    assert made.said.words == "person_1 next_to tree-merged"
    assert made.text == "a person_1 next_to a tree-merged"
    assert f"Scored as: {made.text}" in Page(render_report(run, tmp_path / "report.html")).words
    said = {"one": "next_to", "two": "under"}
    runs = [make_run(tmp_path, name, [graph("a", [(0, 1, word)], labels)]) for name, word in said.items()]
    page = Page(render_ranking(runs, tmp_path / "ranking.html")).words
    assert "person next to tree" in page and "tree-merged" not in page


def test_extremes_share_no_relation_and_a_long_tail_is_folded(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "left of"), (1, 0, "right of"), (0, 1, "on")])])
    assert [[item.score for item in side] for side in extremes(run)] == [
        pytest.approx([0.9, 0.8]),
        pytest.approx([0.3]),
    ]
    assert not_scored(run) == []

    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, f"word{index}") for index in range(30)])])
    assert "5 less frequent predicates" in Page(render_report(run, tmp_path / "report.html")).words


def test_numbers_and_links() -> None:
    assert [hundred(value) for value in (0.5, 12.3456)] == ["50.00", "1,234.56"]
    assert {hundred(value) for value in (None, float("nan"), "0.5", True)} == {"–"}
    assert safe_link("reports/a%20b.html#top") == "reports/a%20b.html#top"
    for link in ("javascript:x", "//evil.example", "https://evil.example", "\\\\evil", "/etc", "java\nscript:x", ""):
        assert safe_link(link) is None
    found = input_rows({"images": "/home/someone/data/pictures", "limit": 3, "references": None})
    assert [(row.role, row.file) for row in found] == [("images", "pictures"), ("limit", "3")]


def test_windows_and_overlays_stay_inside() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        width, height = (int(side) for side in rng.integers(1, 900, 2))
        ends = np.sort(rng.random((2, 2, 2)) * [width, height], axis=1)
        boxes = [tuple(float(value) for value in box.ravel()) for box in ends]
        window = shown_window(boxes, width, height)  # type: ignore[arg-type]
        assert 0 <= window[0] < window[2] <= width and 0 <= window[1] < window[3] <= height
        for box in boxes:
            assert window[0] <= box[0] and window[1] <= box[1] and box[2] <= window[2] and box[3] <= window[3]
        drawn = overlay(window, boxes[0], boxes[1], ("a" * 99, "狗"))  # type: ignore[arg-type]
        assert max(drawn.width, drawn.height) == 320
    # One in the middle of the other, eight units a pixel: from corner to corner, the head 11 units before the end.
    box, cup = (0.0, 0.0, 40.0, 30.0), (10.0, 10.0, 30.0, 20.0)
    arrow = overlay((0, 0, 40, 30), box, cup, ("box", "cup")).arrow
    assert arrow and arrow[:2] == (0, 0) and math.dist(arrow[2:], (80, 80)) == pytest.approx(11, abs=0.1)
    assert overlay((0, 0, 40, 30), box, (0.0, 0.0, 40.0, 31.0), ("box", "cup")).arrow is None


def test_histogram_counts_every_score() -> None:
    rng = np.random.default_rng(5)
    cases: list[list[float]] = [[0.3], [0.0, 1.0], [0.5] * 7, (rng.random(500) * 1e-3).tolist(), [0.2, 4e4]]
    for scores in cases:
        drawn = histogram(scores)
        assert isinstance(drawn, Histogram) and drawn.n == len(scores)
        assert sum(int(bar.words.rsplit(" ", 1)[1]) for bar in drawn.bars) == len(scores)
        assert all(bar.y >= drawn.top - 0.1 and bar.x + bar.w <= drawn.right + 0.1 for bar in drawn.bars)
        assert drawn.left <= drawn.mean_x <= drawn.right
    assert histogram([]) is None and histogram([float("nan")]) is None
