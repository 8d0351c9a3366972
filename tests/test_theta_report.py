"""The page of a run of θ: its numbers, chance beside θ, what is confused, and that no stranger's text does anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from report_kit import FakeEncoder, Page, assert_harmless, graph, pictures
from typer.testing import CliRunner

from sgeval import alignment
from sgeval.alignment import Item, Options
from sgeval.alignment.options import Protocol, Score
from sgeval.cli.app import app
from sgeval.report import render_report, words
from sgeval.report.facts import scored_items, why_nothing
from sgeval.report.heat import OTHERS, RANKED, Row, confusion, heat_map
from sgeval.report.text import agreed, hundred
from sgeval.report.theta import confused_rows, overview, rank, ranked_items, slice_rows, verdict, won_by_swap, worst
from sgeval.runs import Run, read_run, write_run

COSINES = {"dog left of cup": 0.9, "dog on cup": 0.3, "cup left of dog": 0.2}
GRAPHS = [
    graph("a", [(0, 1, "left of"), (0, 1, "under"), (1, 2, "near")]),
    graph("b", [(0, 1, "left of"), (0, 1, "on"), (2, 2, "on")]),
]
# Of (dog, cup) the candidates are left of 0.9, under 0.5 and on 0.3; (cup, box) has one.
# θ: left of 1 twice, under 2/3, on 1/3: the mean is 3/4, at a chance level of 4/6. Precision: 2 of 4, chance 1/3.
# Swaps: 0.2 below left of, 0.5 as under, 0.5 above on: (1 + 1 + 1/2 + 0) / 4. `near` holds both ways.
# The two objects alone have 0.5: (1 + 1 + 1/2 + 0 + 1/2) / 5 above, (0.4 + 0.4 + 0 - 0.2 + 0) / 5 apart.


def theta_run(folder: Path, references: list[Any] = GRAPHS, name: str = "mine", **given: Any) -> Run:
    images = given.pop("images", None) or pictures(folder / "pictures", "a", "b")
    encoder = given.pop("encoder", None) or FakeEncoder(COSINES)
    scoring = alignment.score_annotations(references, images=images, model=encoder, options=Options(**given))
    home = folder / f"theta{len(list(folder.glob('theta*')))}"
    write_run(home, name, scoring, {"references": {"file": "gold.jsonl", "sha256": "0" * 64}, "images": str(images)})
    return read_run(home)


def noise(run: Run, n: int = 300) -> Run:
    """The run with many relations of chosen measures: all sizes, distances, ties, and labels of any length."""
    rng = np.random.default_rng(7)
    like = next(item for item in run.rows.items if item.status == "scored")
    names = ["on", "in", "é" * 90, "在上面", *(f"predicate {index}" for index in range(40))]
    items = []
    for index in range(n):
        lengths = int(rng.integers(1, 9))
        higher = int(rng.integers(0, lengths))
        truth = names[int(rng.integers(len(names)) * rng.random())]
        items.append(
            replace(
                like,
                image_id="ab"[index % 2],
                index=index,
                predicate=truth,
                group=truth,
                n=lengths,
                higher=higher,
                tied=int(rng.integers(0, lengths - higher)),
                confusers=tuple(name for name in names if name != truth)[:higher],
                softmax=float(rng.random()),
                swap_score=float(rng.random()) if index % 3 else None,
                size_ratio=float(rng.random()),
                gap=float(rng.random() / 2),
                overlap=bool(rng.random() < 0.3),
            )
        )
    rows = replace(run.rows, items=tuple(items))
    result = alignment.summarise(rows, run.options, str(run.result["signature"]))
    return replace(run, rows=rows, result=result)


def test_the_page_says_what_the_run_measured(tmp_path: Path) -> None:
    run = theta_run(tmp_path, bootstrap=50)
    page = Page(render_report(run, tmp_path / "report.html"))
    for text in (
        "75.00 θ × 100, higher is better chance level 66.67 95 % interval",
        "the mean of (|L| + 1) / (2 |L|)",
        "Over 4 relations in 2 pictures. Each is ranked among",
        "3.0 on average",
        "θ 75.00 66.67",
        "Precision 50.00 33.33",
        "Direction accuracy 62.50 50.00",
        "Above the two objects alone 60.00",
        "Gap to the two objects alone 12.00",
        # by predicate: relations, θ, chance, interval of one relation, precision, direction
        "under 1 66.67 66.67 – 0.00 50.00 of 1",
        "on 1 33.33 66.67 – 0.00 0.00 of 1",
        "left of 2 100.00 66.67 – 100.00 100.00 of 2",
        "In 2 of 4 ranked relations another predicate scored higher",
        "1 relation of an object with itself; left out n_self",
        "subject and object are the same",
        run.result["signature"],
        "sha256 " + "0" * 64,
    ):
        assert text in page.words, text
    for key in (*words.THETA_NAMES, "chance_theta", "chance_precision"):
        assert hundred(run.result[key]) in page.words, key
        if f"{key}_low" in run.result and run.result[f"{key}_low"] is not None:
            assert f"{hundred(run.result[f'{key}_low'])} to {hundred(run.result[f'{key}_high'])}" in page.words, key
    assert str(tmp_path) not in page.source and len(page.pictures()) == 3
    assert_harmless(page)


def test_theta_never_stands_without_its_chance_level(tmp_path: Path) -> None:
    run = theta_run(tmp_path, bootstrap=50)
    for each in (run, noise(run), theta_run(tmp_path, GRAPHS, protocol="openvocsgg", singletons="include")):
        page = Page(render_report(each, tmp_path / "report.html")).words
        value, chance = hundred(each.result["theta"]), hundred(each.result["chance_theta"])
        assert f"{value} θ × 100, higher is better chance level {chance}" in page
        assert f"θ {value} {chance}" in page
        slices = slice_rows(each)
        assert {*slices} == {"size_ratio", "distance", "predicate"}
        for row in (row for rows in slices.values() for row in rows):
            assert f"{row.n} {row.theta} {row.chance}" in page, row
        drawn = overview(each.result)
        assert drawn and [lane.name for lane in drawn.lanes] == ["θ", "precision"]
        assert all(lane.chance is not None for lane in drawn.lanes)


def test_slices_are_those_of_the_rows_and_have_words(tmp_path: Path) -> None:
    run = noise(theta_run(tmp_path, bootstrap=20))
    found = slice_rows(run)
    for by, meanings in words.SLICES.items():
        assert [row.group for row in found[by]] == list(meanings) and all(row.meaning for row in found[by])
        assert sum(row.n for row in found[by]) == run.result["n_relations"]
    assert found["predicate"][0].meaning == ""
    n = len(found["predicate"]) - 25
    assert f"{n} less frequent predicates" in Page(render_report(run, tmp_path / "report.html")).words


def test_the_verdict_needs_an_interval() -> None:
    ends = {"theta_low": 0.6, "theta_high": 0.7}
    assert verdict({**ends, "chance_theta": 0.5}) == verdict({"theta_low": None, "chance_theta": 0.5}) == ""
    assert verdict({**ends, "chance_theta": 0.6}).startswith("The interval holds the chance level")
    assert verdict({**ends, "chance_theta": 0.8}).startswith("θ lies below its chance level")


def test_confused_triplets_and_their_heat_map(tmp_path: Path) -> None:
    run = theta_run(tmp_path)
    said = [(row.said.words, row.confuser, row.n, row.of, row.share) for row in confused_rows(run)]
    assert said == [("dog on cup", "left of", 1, 1, "100.0 %"), ("dog under cup", "left of", 1, 1, "100.0 %")]
    rows = confusion(ranked_items(run), "words")
    assert [(row.truth, row.n, row.right, dict(row.taken)) for row in rows] == [
        ("left of", 2, 2, {}),
        ("on", 1, 0, {"left of": 1}),
        ("under", 1, 0, {"left of": 1}),
    ]
    drawn = heat_map(rows, RANKED)
    assert drawn and [label.text for label in drawn.columns] == ["left of", "on", "under"]
    assert [(cell.text, cell.is_truth) for cell in drawn.cells] == [("100", True), ("100", False), ("100", False)]
    assert drawn.cells[1].words == "on: left of preferred in 1 of 1 (100.0 %)"
    assert heat_map(rows[:1], RANKED) is None and heat_map([], RANKED) is None
    page = Page(render_report(run, tmp_path / "report.html"))
    assert "dog on cup left of 1 of 1 100.0 %" in page.words
    assert "left of: nothing scored higher in 2 of 2 (100.0 %)" in page.words


def test_the_heat_map_adds_up_and_fits(tmp_path: Path) -> None:
    rows = confusion(ranked_items(noise(theta_run(tmp_path))), "words")
    assert len(rows) == 15 and [row.n for row in rows] == sorted((row.n for row in rows), reverse=True)
    assert all(row.right + sum(row.taken.values()) == row.n for row in rows)
    drawn = heat_map(rows, RANKED)
    assert drawn
    assert any(len(label.text) < len(label.words) for label in drawn.rows)
    assert all(0 < cell.opacity < 1 and cell.x >= drawn.left and cell.y >= drawn.top for cell in drawn.cells)
    assert max(cell.x for cell in drawn.cells) + drawn.side <= drawn.width
    assert max(cell.y for cell in drawn.cells) + drawn.side <= drawn.height
    # thirteen pixels of type at most 0.6 wide a letter, wide ones 1, turned by 45 degrees
    reach = [len(label.text) * 13 * 0.6 * 0.7 for label in drawn.columns]
    assert all(label.x + wide <= drawn.width for label, wide in zip(drawn.columns, reach, strict=True))
    assert all(label.y - wide >= 0 for label, wide in zip(drawn.columns, reach, strict=True))
    lone = heat_map([Row("on", 4, 1, {"in": 2, "at": 1})], RANKED)
    assert lone and [label.text for label in lone.columns] == ["on", OTHERS]
    assert [cell.text for cell in lone.cells] == ["25", "75"]


def test_cards_show_the_worst_and_the_swaps(tmp_path: Path) -> None:
    run = theta_run(tmp_path)
    assert [(item.predicate, rank(item), item.n) for item in worst(ranked_items(run))] == [
        ("on", 3, 3),
        ("under", 2, 3),
    ]
    assert [item.predicate for item in won_by_swap(run)] == ["on"]
    first = ranked_items(run)[0]

    def at(index: int, higher: int, confuser: float, image_id: str = "a") -> Item:
        above = {"confusers": ("x",) * higher, "confuser_score": confuser}
        return replace(first, image_id=image_id, index=index, n=9, score=0.2, higher=higher, **above)

    assert [item.index for item in worst([at(1, 0, 0.9), at(2, 3, 0.3), at(3, 3, 0.4), at(4, 5, 0.3)])] == [4, 3, 2]
    # One a picture while there are others: the second of picture a gives way to the first of b.
    several = [at(1, 5, 0.3), at(2, 4, 0.3), at(3, 1, 0.3, "b")]
    assert [item.index for item in worst(several, 2)] == [1, 3]
    page = Page(render_report(run, tmp_path / "report.html")).words
    for text in (
        "Annotated dog on cup 30.00 Preferred dog left of cup 90.00 and 1 more above the truth Swapped cup on dog 50.00",
        "Rank 3 of 3, picture b",
        "Annotated dog under cup 50.00 Preferred dog left of cup 90.00 Swapped cup under dog 50.00",
    ):
        assert text in page, text
    (tmp_path / "pictures" / "b.png").unlink()
    assert "No picture: b.png: no such file" in Page(render_report(run, tmp_path / "report.html")).words


def test_what_is_asked_for_is_told(tmp_path: Path) -> None:
    plain = Page(render_report(theta_run(tmp_path), tmp_path / "report.html")).words
    given = {"protocol": "openvocsgg", "singletons": "include", "cooccurring": "exclude", "confusers": "all"}
    run = theta_run(tmp_path, **given, score="softmax100")
    page = Page(render_report(run, tmp_path / "report.html")).words
    for text in (
        "This is the number of the authors' script, not eq. 7.",
        "the authors' script, not eq. 7",
        "Pairs with a single candidate are among them",
        "Predicates that are also annotated for the same two objects are no candidates.",
        "Every predicate that scored higher than the truth is counted.",
        words.VALUES["softmax100"],
    ):
        assert text in page and text not in plain, text
    assert {*words.RANKS} == {*get_args(Protocol)} and {*words.VALUES} == {*get_args(Score)}
    encoder = FakeEncoder({"a dog on a cup": 0.1})
    worded = theta_run(tmp_path, encoder=encoder, template="a {subject} {predicate} a {object}")
    assert "Scored as: a dog on a cup" in Page(render_report(worded, tmp_path / "report.html")).words
    result = {**run.result, "signature": f"{run.result['signature']}|limit:1"}
    page = Page(render_report(replace(run, result=result), tmp_path / "report.html")).words
    assert "the first reference only." in page and "Ranked are the first reference only; what comes after" in page


def test_every_count_has_words_that_agree_with_it(tmp_path: Path) -> None:
    run = theta_run(tmp_path, bootstrap=20)
    meanings = {**words.THETA_SCOPE, **words.THETA_SKIPPED}
    assert {key for key in run.result if key.startswith("n_")} == {*meanings}
    assert not [text for text in meanings.values() if set("{|}") & set(agreed(text, 1))]
    page = Page(render_report(run, tmp_path / "report.html")).words
    assert "4 relations ranked among the candidates of their pair of classes n_relations" in page
    assert "1 relation whose pair of classes has no other candidate than the truth" in page
    other = replace(run, result={**run.result, "n_new": 3})
    assert f"3 {words.UNKNOWN} n_new" in Page(render_report(other, tmp_path / "report.html")).words


def test_a_run_of_nothing_says_why(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pictures", "a", "b")
    (folder / "broken.png").write_bytes(b"no picture")
    lonely = theta_run(tmp_path, [graph("a", [(0, 1, "left of")])])
    broken = theta_run(tmp_path, [graph("broken", [(0, 1, "on"), (0, 1, "under")])], on_bad_image="skip")
    nothing = [
        (lonely, "Of 1 annotated relation none was ranked: 1 has no other candidate than the truth."),
        (theta_run(tmp_path, [graph("a", [])]), "The references hold no relation for these pictures."),
        (broken, "Of 2 annotated relations none was ranked: 2 belong to a picture that could not be read."),
    ]
    for run, why in nothing:
        assert why_nothing(run) == why and run.result["theta"] is None
        page = Page(render_report(run, tmp_path / "report.html"))
        for text in (
            why,
            "– θ × 100, higher is better chance level –",
            "Undefined: no relation was ranked.",
            "No relation was ranked.",
        ):
            assert text in page.words, text
        assert_harmless(page)
    # the direction of a relation with one candidate is tested all the same: 0.9 against 0.2
    assert "Direction accuracy 100.00 50.00" in Page(render_report(lonely, tmp_path / "report.html")).words
    page = Page(render_report(broken, tmp_path / "report.html"))
    assert "(the whole picture)" in page.words and "No relation was scored." in page.words


def test_a_run_without_confusion_says_so(tmp_path: Path) -> None:
    run = theta_run(tmp_path, [graph("a", [(0, 1, "left of")]), graph("b", [(0, 1, "left of")])], singletons="include")
    page = Page(render_report(run, tmp_path / "report.html"))
    assert page.words.count("No ranked relation was outscored by another predicate.") == 2
    assert "No relation scored higher with subject and object exchanged." in page.words
    assert "100.00 θ × 100, higher is better chance level 100.00" in page.words


def test_runs_of_theta_are_ranked(tmp_path: Path) -> None:
    one = theta_run(tmp_path, name="one", bootstrap=50)
    two = theta_run(tmp_path, name="two", encoder=FakeEncoder({"dog left of cup": 0.1, "dog on cup": 0.3}, "other"))
    outcome = CliRunner().invoke(app, ["report", *(str(run.folder) for run in (two, one))])
    assert outcome.exit_code == 0, outcome.output
    page = Page(two.folder / "ranking.html")
    # `two` ranks left of 0.1 < on 0.3 < under 0.5: 1/3 twice, under 1, on 2/3: the mean is 7/12.
    assert "one is first with 75.00, 16.67 points ahead of two (58.33)." in page.words
    assert "System Chance level Precision Direction one 66.67 50.00 62.50 two 66.67 25.00" in page.words
    assert_harmless(page)


def test_all_rows_of_the_page_are_of_scored_relations(tmp_path: Path) -> None:
    run = noise(theta_run(tmp_path))
    assert len(scored_items(run)) == len(run.rows.items)
    assert len(ranked_items(run)) == run.result["n_relations"]
    every = replace(run, options=replace(run.options, singletons="include"))
    assert len(ranked_items(every)) == run.result["n_relations"] + run.result["n_singletons"]
