"""Rankings: the order of systems, what sets them apart, and runs that cannot be compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_kit import REFERENCES, Page, assert_harmless, graph, make_run

from sgeval.errors import SgevalError
from sgeval.report import render_ranking
from sgeval.report.compare import differences, kind_of, obstacles, order, reference_predicates
from sgeval.report.facts import scored_items
from sgeval.report.ranking import kind_rows, labels, rows, statements
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
    assert "guess follows with 30.00, 10.00 points ahead of swap (20.00)." in page.words
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
    table = dict(kind_rows(runs, labels(runs)))
    assert [(cell.kind, cell.share, cell.mean) for cell in table["All systems"]] == [
        ("As the reference", "33.3 %", "90.00"),
        ("Subject and object exchanged", "33.3 %", "20.00"),
        ("Another predicate", "33.3 %", "30.00"),
    ]


def test_unlike_runs_are_not_ranked(tmp_path: Path) -> None:
    good, other = (
        make_run(tmp_path, name, [graph(image, [(0, 1, "left of")]) for image in "ab"], REFERENCES, penalty=penalty)
        for name, penalty in (("good", "none"), ("other", "bounded"))
    )
    page = Page(render_ranking([other, good], tmp_path / "ranking.html"))
    assert "cannot be ranked. The signatures differ" in page.words and "penalty bounded none" in page.words
    assert "is first" not in page.words and "Where they differ most" not in page.words
    fewer = make_run(tmp_path, "fewer", [graph("a", [(0, 1, "left of")])], REFERENCES[:1], penalty="none")
    assert obstacles([good, fewer]) == ["The runs are not over the same pictures."]
    bare = make_run(tmp_path, "bare", [graph(image, [(0, 1, "left of")]) for image in "ab"], penalty="none")
    assert obstacles([good, bare]) == ["The runs were not made with the same references."]
    with pytest.raises(SgevalError, match="at least one run"):
        render_ranking([], tmp_path / "ranking.html")


def test_ranking_of_equal_and_undefined_scores(tmp_path: Path) -> None:
    same = [graph(image, [(0, 1, "on")]) for image in "ab"]
    one, two = (make_run(tmp_path, "twin", same, penalty="none", empty="skip") for _ in range(2))
    none = make_run(tmp_path, "none", [graph(image, []) for image in "ab"], penalty="none", empty="skip")
    runs = [none, one, two]
    assert order(runs) == [1, 2, 0]
    ranked = [runs[index] for index in order(runs)]
    assert labels(ranked) == ["twin (1)", "twin (2)", "none"]
    assert [row.rank for row in rows(ranked, labels(ranked), {})] == ["1", "1", ""]
    (statement,) = statements(ranked, labels(ranked))
    assert statement.words == "has 30.00, the same score as"
    assert statement.test == "A paired test does not tell them apart (p = 1.000)."
    assert differences(ranked) == []
    assert "What the systems say" not in Page(render_ranking([one], tmp_path / "one.html")).words


def test_ids_of_unlike_boxes_are_no_pair(tmp_path: Path) -> None:
    moved = [graph(image, [(0, 1, "on")]) for image in "ab"]
    for each in moved:
        each["objects"][0]["bbox"] = [5, 50, 30, 30]
    here = [graph(image, [(0, 1, "left of")]) for image in "ab"]
    runs = [make_run(tmp_path, "one", here), make_run(tmp_path, "two", moved)]
    assert obstacles(runs) == [] and differences(runs) == []
