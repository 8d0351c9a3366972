"""Rankings: the order of systems, what sets them apart, and runs that cannot be compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_kit import REFERENCES, Page, assert_harmless, graph, make_run

from sgeval.comparison import compare
from sgeval.errors import SgevalError
from sgeval.report import render_ranking
from sgeval.report.compare import differences, kind_of, order, reference_predicates
from sgeval.report.facts import scored_items
from sgeval.report.ranking import best_first, kind_rows, table
from sgeval.runs import Run


def three_systems(folder: Path, **given: Any) -> list[Run]:
    """`good` says the reference (0.9 each), `guess` another predicate (0.3), `swap` exchanges the ends (0.2)."""
    said = {"swap": (1, 0, "left of"), "guess": (0, 1, "on"), "good": (0, 1, "left of")}
    return [make_run(folder, name, [graph(i, [one]) for i in "ab"], REFERENCES, **given) for name, one in said.items()]


def test_ranking_orders_and_explains(tmp_path: Path) -> None:
    runs = three_systems(tmp_path, penalty="none", bootstrap=20)
    links = {name: f"{name}.html" for name in ("good", "guess", "swap")}
    page = Page(render_ranking(runs, tmp_path / "ranking.html", links=links))
    assert "good is first with 90.00, 60.00 points ahead of guess (30.00)." in page.words
    assert (
        "3 swap 20.00" in page.words and "-70.00" in page.words and "of 2. Not told apart: guess, swap." in page.words
    )
    assert [attrs["href"] for tag, attrs in page.tags if tag == "a"] == ["good.html", "guess.html", "swap.html"]
    # Two pictures, one pair in each: 0.9 - 0.2 apart, each system's words and the reference's beside each other.
    assert page.words.count("gap 70.00") == 2 and len(page.pictures()) == 2
    assert "dog left of cup 90.00" in page.words and "cup left of dog 20.00" in page.words
    assert_harmless(page, tuple(links.values()))


def test_kinds_against_the_reference(tmp_path: Path) -> None:
    runs = three_systems(tmp_path)
    references = reference_predicates(runs)
    assert references["a", (1, 0)] == ("right of",)
    kinds = {run.name: {kind_of(item, references) for item in scored_items(run)} for run in runs}
    # Of (cup, dog) `swap` says what the reference says of (dog, cup).
    assert kinds == {"good": {"equal"}, "guess": {"other"}, "swap": {"exchanged"}}
    nothing = replace(scored_items(runs[0])[0], image_id="elsewhere")
    assert kind_of(nothing, references) == "unknown"
    cells = dict(kind_rows(runs, [run.name for run in runs]))
    assert [(cell.kind, cell.share, cell.mean) for cell in cells["All systems"]] == [
        ("As the reference", "33.3 %", "90.00"),
        ("Subject and object exchanged", "33.3 %", "20.00"),
        ("Another predicate", "33.3 %", "30.00"),
    ]


def test_runs_of_another_protocol_stand_apart(tmp_path: Path) -> None:
    words = {"good": "left of", "other": "left of", "third": "on"}
    given = {"good": "none", "other": "bounded", "third": "none"}
    good, other, third = (
        make_run(tmp_path, name, [graph(image, [(0, 1, word)]) for image in "ab"], REFERENCES, penalty=given[name])
        for name, word in words.items()
    )
    page = Page(render_ranking([third, other, good], tmp_path / "ranking.html"))
    assert "cannot all be ranked together. They were scored by 2 protocols" in page.words
    assert (
        "Not ranked with systems of other tables, for this differs from the first: Part Protocol 1 Here penalty none bounded"
        in page.words
    )
    assert "1 good 90.00" in page.words and "2 third 30.00" in page.words and "– other 90.00" in page.words
    # What separates systems is told of those that may be ranked.
    assert "Why: systems of protocol 1" in page.words and page.words.count("gap 60.00") == 2
    assert_harmless(page)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    good = make_run(tmp_path, "good", [graph(image, [(0, 1, "left of")]) for image in "ab"], REFERENCES)
    fewer = make_run(tmp_path, "fewer", [graph("a", [(0, 1, "left of")])], REFERENCES[:1])
    for runs, words in (
        ([], "at least one run"),
        ([good, fewer], "on the same pictures"),
        ([good, replace(good, metric="theta")], "runs of one metric, got relclipscore, theta"),
    ):
        with pytest.raises(SgevalError, match=words):
            render_ranking(runs, tmp_path / "ranking.html")
    assert not (tmp_path / "ranking.html").exists()


def test_ranking_of_equal_and_undefined_scores(tmp_path: Path) -> None:
    same = [graph(image, [(0, 1, "on")]) for image in "ab"]
    one, two = (make_run(tmp_path, "twin", same, penalty="none", empty="skip") for _ in range(2))
    none = replace(one, name="none", result=one.result | {"relclipscore": None})
    runs = [none, one, two]
    assert order(runs) == [1, 2, 0]
    found = compare(runs)
    assert [name for name, _ in best_first(found.groups[0], runs)] == ["twin (run0)", "twin (run1)", "none"]
    made = table(found, found.groups[0], runs, {})
    assert [(row.rank, row.score) for row in made.rows] == [("1", "30.00"), ("1", "30.00"), ("–", "–")]
    assert made.lead == (
        "twin (run0)",
        "has 30.00, the same score as",
        "twin (run1)",
        "(30.00). A paired test does not tell them apart (p = 1.000).",
    )
    assert differences([one, two, none]) == []
    assert "What the systems say" not in Page(render_ranking([one], tmp_path / "one.html")).words


def test_ids_of_unlike_boxes_are_no_pair(tmp_path: Path) -> None:
    moved = [graph(image, [(0, 1, "on")]) for image in "ab"]
    for each in moved:
        each["objects"][0]["bbox"] = [5, 50, 30, 30]
    here = [graph(image, [(0, 1, "left of")]) for image in "ab"]
    runs = [make_run(tmp_path, "one", here), make_run(tmp_path, "two", moved)]
    assert len(compare(runs).groups) == 1 and differences(runs) == []
