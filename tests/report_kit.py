"""What the tests of reports share: an encoder of chosen cosines, runs made with it, and pages taken apart."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sgeval.relclip import Options, score
from sgeval.runs import Run, describe_file, read_run, write_run


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

    def prepare(self, crop: Any) -> Any:
        return crop

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
        self.styles: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self._in_style = False
        self.feed(self.source)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"
        if self._in_style:
            self.styles.append("")
        if tag in ("td", "th", "div", "p", "li", "b", "br"):
            self.words += " "

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles[-1] += data
        else:
            self.words += data

    def pictures(self) -> list[str]:
        return [str(attrs["href"]) for tag, attrs in self.tags if tag == "image"]


TAGS = re.compile(
    "html|head|meta|title|style|body|header|section|h[1234]|p|div|span|strong|b|br|bdi|code|details|summary|ul|li|figure"
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
    assert len(page.styles) == 1 and "@import" not in page.styles[0] and "url(" not in page.styles[0]
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
