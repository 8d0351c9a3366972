"""Reports: what they say, that no stranger's text does anything in them, and that missing pictures do not stop them."""

import base64
import io
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sgeval.errors import SgevalError
from sgeval.relclip import Options, score
from sgeval.report import render_ranking, render_report
from sgeval.report.compare import differences, kind_of, obstacles, order, overlap, reference_predicates
from sgeval.report.draw import Histogram, histogram, overlay, shown_window
from sgeval.report.pictures import Pictures
from sgeval.report.ranking import kind_rows, labels, rows, statements
from sgeval.report.single import demo_warning, extremes, input_rows, left_out, scored_items
from sgeval.report.text import hundred, safe_link, visible
from sgeval.runs import Run, describe_file, read_run, write_run

PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    '"onmouseover=alert(1) x="',
    "' onfocus=alert(1) autofocus='",
    "javascript:alert(1)",
    "{{ 7*7 }}{% raw %}",
    "<iframe src=//evil.example></iframe>",
    "a\u202egnp.exe",
    "\x1b[31mred\x00",
)


class FakeEncoder:
    """A deterministic encoder: any crop is (1, 0); a text's cosine with it is given by `cosines`, else 1/2."""

    score_rule = "cosine"
    template = "{subject} {predicate} {object}"
    image_mode = "longest"
    image_size = 8
    fill = (0, 0, 0)

    def __init__(self, cosines: dict[str, float] | None = None, name: str = "fake") -> None:
        self.cosines = cosines or {}
        self.name = name

    def signature(self) -> dict[str, object]:
        return {"model": self.name, "weights": "0"}

    def encode_images(self, crops: Any) -> Any:
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(crops), 1))

    def encode_texts(self, texts: Any) -> Any:
        values = [self.cosines.get(text, 0.5) for text in texts]
        return np.array([[value, math.sqrt(1 - value * value)] for value in values], dtype=np.float32)

    def truncated(self, texts: Any) -> Any:
        return np.zeros(len(texts), dtype=bool)

    def score(self, images: Any, texts: Any) -> Any:
        return np.einsum("nd,nd->n", images, texts, dtype=np.float64)


COSINES = {"dog left of cup": 0.9, "cup right of dog": 0.8, "cup left of dog": 0.2, "dog on cup": 0.3}


class Page(HTMLParser):
    """What a page holds: tags with attributes, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.source = path.read_text(encoding="utf-8")
        self._in_style = False
        self.feed(self.source)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"
        if tag in ("td", "th", "div", "p", "li", "b"):
            self.words += " "

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.words += data

    def pictures(self) -> list[str]:
        return [str(attrs["href"]) for tag, attrs in self.tags if tag == "image"]


TAGS = re.compile(
    "html|head|meta|title|style|body|header|section|h[123]|p|div|span|strong|b|br|bdi|code|details|summary|ul|li|figure"
    "|figcaption|table|thead|tbody|tr|th|td|a|svg|image|path|rect|line|polygon|text"
)


def assert_harmless(page: Page, links: tuple[str, ...] = ()) -> None:
    for tag, attrs in page.tags:
        assert TAGS.fullmatch(tag), tag
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "srcset", "action", "style")]
        if "href" in attrs:
            href = str(attrs["href"])
            assert href in links if tag == "a" else href.startswith("data:image/jpeg;base64,")
    assert not [char for char in page.source if not char.isprintable() and char != "\n"]
    assert "@import" not in page.source and "url(" not in page.source
    policies = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def graph(image_id: str, relations: list[tuple[int, int, str]], labels: tuple[str, ...] = ("dog", "cup", "box")) -> Any:
    return {
        "image_id": image_id,
        "file_name": f"{image_id}.png",
        "width": 120,
        "height": 90,
        "objects": [
            {"id": index, "category": label, "bbox": [5 + 38 * index, 20 + 10 * index, 30, 30]}
            for index, label in enumerate(labels)
        ],
        "relations": [{"subject_id": s, "object_id": o, "predicate": word} for s, o, word in relations],
    }


def pictures(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for index, name in enumerate(names):
        pixels = np.random.default_rng(index).integers(0, 255, (90, 120, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{name}.png")
    return folder


def make_run(folder: Path, name: str, predictions: list[Any], references: list[Any] | None = None, **given: Any) -> Run:
    images = given.pop("images", None) or pictures(folder / "pictures", "a", "b")
    encoder = given.pop("encoder", None) or FakeEncoder(COSINES)
    scoring = score(predictions, images=images, references=references, model=encoder, options=Options(**given))
    file = folder / f"{name[:1]}.jsonl"
    file.write_text(name, encoding="utf-8")
    home = folder / f"run{len(list(folder.glob('run*')))}"
    inputs = {"predictions": describe_file(file), "images": str(images) if isinstance(images, Path) else None}
    write_run(home, name, scoring, inputs)
    return read_run(home)


REFERENCES = [graph(name, [(0, 1, "left of"), (1, 0, "right of")]) for name in "ab"]


def three_systems(folder: Path, **given: Any) -> list[Run]:
    """`good` says the reference (0.9 each), `guess` another predicate (0.3), `swap` exchanges the ends (0.2)."""
    said = {"swap": (1, 0, "left of"), "guess": (0, 1, "on"), "good": (0, 1, "left of")}
    return [make_run(folder, name, [graph(i, [one]) for i in "ab"], REFERENCES, **given) for name, one in said.items()]


def test_report_says_what_the_run_scored(tmp_path: Path) -> None:
    predictions = [graph("a", [(0, 1, "left of"), (0, 1, "Left_of"), (2, 2, "near")]), graph("b", [(0, 1, "on")])]
    run = make_run(tmp_path, "mine", predictions, REFERENCES, penalty="none", bootstrap=50)
    page = Page(render_report(run, tmp_path / "report.html"))
    # eq. 2: (0.9 + 0.3) / 2 = 0.6; each picture has one scored relation
    assert run.result["n_duplicates"] == run.result["n_self"] == 1
    for words in (
        "60.00",
        "95 % interval 30.00 to 90.00",
        "Over 2 relations in 2 pictures.",
        "repeats of a relation in the same picture; merged into one n_duplicates",
        "relations of an object with itself; left out n_self",
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
        "No picture has a defined score, so there is no mean.",
        "No interval: the run was made without bootstrap.",
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


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_a_stranger_does_anything(tmp_path: Path, payload: str) -> None:
    ends = (payload, payload, payload)
    gold = [graph(name, [(0, 1, payload), (1, 1, payload)], ends) for name in "ab"]
    other = [graph(name, [(1, 0, payload + "x")], ends) for name in "ab"]
    demo = FakeEncoder(name="demo")
    runs = [make_run(tmp_path, payload, each, gold, encoder=demo) for each in (gold, other)]
    first, second = runs[0].rows.images
    rows_ = replace(
        runs[0].rows,
        images=(replace(first, file=payload, image_id=payload), second),
        items=tuple(replace(item, image_id=payload, reason=payload) for item in runs[0].rows.items[:2]),
    )
    counts = {**runs[0].result, payload: 1.0, f"n_{payload}": 2, "signature": f"model:demo|{payload}:{payload}"}
    inputs = {payload: {"file": payload, "sha256": payload}, "images": payload}
    rest = {"result": counts, "inputs": inputs, "versions": {payload: payload}, "rows": rows_}
    strange = replace(runs[0], name=payload, metric=payload, **rest)
    out = tmp_path / "page.html"
    page = Page(render_report(strange, out))
    assert_harmless(page)
    shown = " ".join(visible(payload).split())
    assert page.words.count(shown) > 8
    page = Page(render_ranking(runs, out, links={runs[0].name: "javascript:alert(1)"}))
    assert shown in page.words
    assert_harmless(page)
    page = Page(render_ranking([strange, runs[0]], out, links={payload: "mine.html"}))
    assert "cannot be ranked" in page.words
    assert_harmless(page, links=("mine.html",))


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
    assert obstacles([good, fewer]) == ["The runs are not over the same pictures with the same objects."]
    bare = make_run(tmp_path, "bare", [graph(image, [(0, 1, "left of")]) for image in "ab"], penalty="none")
    assert len(obstacles([good, bare])) == 2
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
    assert overlap(one, two) is None and statement.intervals == "No interval: the run was made without bootstrap."
    assert differences(ranked) == []
    assert "What the systems say" not in Page(render_ranking([one], tmp_path / "one.html")).words


def test_ids_of_unlike_boxes_are_no_pair(tmp_path: Path) -> None:
    moved = [graph(image, [(0, 1, "on")]) for image in "ab"]
    for each in moved:
        each["objects"][0]["bbox"] = [5, 50, 30, 30]
    here = [graph(image, [(0, 1, "left of")]) for image in "ab"]
    runs = [make_run(tmp_path, "one", here), make_run(tmp_path, "two", moved)]
    assert obstacles(runs) == [] and differences(runs) == []


def test_demo_model_is_called_what_it_is(tmp_path: Path) -> None:
    demo = FakeEncoder(name="demo")
    known = make_run(tmp_path, "known", [graph("a", [(0, 1, "left of")])], encoder=demo)
    strange = [graph("a", [(0, 1, "riding"), (0, 2, "on")], ("person", "cup", "box"))]
    unknown = make_run(tmp_path, "unknown", strange, encoder=demo)
    assert "Scored with the demo model." in Page(render_report(known, tmp_path / "a.html")).words
    warning = demo_warning(unknown)
    assert warning and (warning["n"], warning["of"], warning["words"]) == (2, 2, ["person", "riding"])
    assert "These numbers mean nothing." in Page(render_report(unknown, tmp_path / "b.html")).words
    assert demo_warning(known) is None and demo_warning(make_run(tmp_path, "other", strange)) is None


def test_extremes_share_no_relation_and_a_long_tail_is_folded(tmp_path: Path) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "left of"), (1, 0, "right of"), (0, 1, "on")])])
    assert [[item.score for item in side] for side in extremes(run)] == [
        pytest.approx([0.9, 0.8]),
        pytest.approx([0.3]),
    ]
    assert left_out(run, Pictures(run)) == []

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
    assert overlay((0, 0, 40, 30), (0, 0, 40, 30), (10, 10, 30, 20), ("box", "cup")).arrow is None


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
