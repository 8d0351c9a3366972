"""Plan first, encode second: each union region and each text is encoded once, however many triplets share it.

Unions are unique within their picture and planned picture by picture; texts are unique over the whole call. A triplet
is a (union, text) pair and enters only a gather and a dot product. Batches of unions are fixed by the plan, across
pictures, so a result does not depend on what fails on the way.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from sgeval.images import Size
from sgeval.regions import ImageMode

Rect = tuple[int, int, int, int]
Floats = npt.NDArray[np.float64]


class Encoder(Protocol):
    """What scoring asks of a model. `sgeval.encoders.load_encoder` gives one by name; any object of this form will do."""

    name: str
    score_rule: Literal["cosine", "sigmoid", "itm"]
    template: str
    image_mode: ImageMode
    image_size: int
    fill: tuple[int, int, int]

    def signature(self) -> dict[str, object]:
        """Named parts of the signature: model, weights, and what else of it moves a score."""

    def prepare(self, crop: Image.Image) -> Any:
        """The part of encoding a crop that any thread may do ahead of time; it may be the crop itself."""

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        """Features of prepared crops, one row a crop. Raises `OutOfMemory` where fewer at once may fit."""

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Features, one row a text; a text over the limit keeps its end token."""

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""

    def score(self, images: Any, texts: Any) -> Floats:
        """Row by row: the score of a crop with a text, NaN where a feature is not finite."""


@dataclass
class Texts:
    """The unique texts of a call, numbered in order of appearance."""

    texts: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """The number of a text."""
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


@dataclass
class PicturePlan:
    """The work of one picture: its unique unions, and the unique texts each is scored with."""

    source: Any
    size: Size
    stamp: str = ""
    """Tells a picture from another that has come in its place: name, length and time of change, where it is a file."""
    unions: list[Rect] = field(default_factory=list)
    texts: list[dict[int, int]] = field(default_factory=list)
    """Union by union: the numbers of its texts, each with its place."""
    _numbers: dict[Rect, int] = field(default_factory=dict)

    def add(self, rect: Rect, text: int) -> tuple[int, int]:
        """Where the score of a union and a text will stand: which union, which of its texts."""
        union = self._numbers.setdefault(rect, len(self.unions))
        if union == len(self.unions):
            self.unions.append(rect)
            self.texts.append({})
        return union, self.texts[union].setdefault(text, len(self.texts[union]))


@dataclass(frozen=True)
class Batch:
    """Unions that are encoded together, in the order of the plan."""

    number: int
    members: tuple[tuple[int, PicturePlan, int], ...]
    """Of each: the number of its picture, the picture's plan, and which of its unions it is."""

    @property
    def lengths(self) -> list[int]:
        """How many texts each union is scored with."""
        return [len(plan.texts[union]) for _, plan, union in self.members]

    def digest(self, texts: Sequence[str]) -> str:
        """A hash of what is scored here: the same digest means the same work."""
        parts = [
            (plan.stamp, plan.size, plan.unions[union], [texts[text] for text in plan.texts[union]])
            for _, plan, union in self.members
        ]
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def batches(pictures: Iterable[PicturePlan], size: int) -> Iterator[Batch]:
    """The unions of the pictures in batches of `size`, the last one perhaps shorter."""
    members: list[tuple[int, PicturePlan, int]] = []
    count = 0
    for number, plan in enumerate(pictures):
        for union in range(len(plan.unions)):
            members.append((number, plan, union))
            if len(members) == size:
                yield Batch(count, tuple(members))
                members, count = [], count + 1
    if members:
        yield Batch(count, tuple(members))
