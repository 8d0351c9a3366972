"""Plan first, encode second: each union region and each text is encoded once, however many triplets share it.

Unions are unique within their picture, texts over the whole call; a pair (union, text) is scored once. Batches are
fixed by the plan, so a result does not depend on what fails on the way. A picture is decoded once and dropped after its
last union.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from sgeval.errors import BadImage
from sgeval.images import Size, load_image
from sgeval.regions import Fit, ImageMode

OnBadImage = Literal["error", "skip"]
Rect = tuple[int, int, int, int]
Floats = npt.NDArray[np.float64]

BAR_DELAY = 2  # seconds before a progress bar shows


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

    def encode_images(self, crops: Sequence[Image.Image]) -> Any:
        """Features, one row a crop."""

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Features, one row a text; a text over the limit keeps its end token."""

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""

    def score(self, images: Any, texts: Any) -> Floats:
        """Row by row: the score of a crop with a text, NaN where a feature is not finite."""


@dataclass
class Plan:
    """The work of one call: pictures, unique unions, unique texts, unique (union, text) pairs."""

    images: list[tuple[Any, Size]] = field(default_factory=list)
    unions: list[tuple[int, Rect]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    _union_ids: dict[Rect, int] = field(default_factory=dict)
    _text_ids: dict[str, int] = field(default_factory=dict)
    _pair_ids: dict[tuple[int, int], int] = field(default_factory=dict)

    def add_image(self, source: Any, size: Size) -> None:
        """Begin the next picture; the unions that follow are its own."""
        self.images.append((source, size))
        self._union_ids.clear()
        self._pair_ids.clear()

    def add_text(self, text: str) -> int:
        """The number of a text."""
        if text not in self._text_ids:
            self._text_ids[text] = len(self.texts)
            self.texts.append(text)
        return self._text_ids[text]

    def add_pair(self, rect: Rect, text: str) -> int:
        """The number of the pair of a union rectangle of the current picture and a text."""
        if rect not in self._union_ids:
            self._union_ids[rect] = len(self.unions)
            self.unions.append((len(self.images) - 1, rect))
        pair = (self._union_ids[rect], self.add_text(text))
        if pair not in self._pair_ids:
            self._pair_ids[pair] = len(self.pairs)
            self.pairs.append(pair)
        return self._pair_ids[pair]


@dataclass(frozen=True)
class Scored:
    """What a plan came to: a score a pair (NaN where undefined), features and truncation a text, faults a picture."""

    scores: Floats
    text_features: Any
    truncated: npt.NDArray[np.bool_]
    bad_images: dict[int, str]


def run_plan(
    plan: Plan, encoder: Encoder, *, fit: Fit = "model", batch_size: int = 32, on_bad_image: OnBadImage = "error"
) -> Scored:
    """Encode what the plan holds, each union and text once, and score its pairs.

    Raises `BadImage` for a picture that breaks while it is decoded, unless `on_bad_image="skip"`: then its pairs stay
    NaN and the fault is returned.
    """
    scores = np.full(len(plan.pairs), np.nan)
    bad: dict[int, str] = {}
    features = _text_features(plan.texts, encoder, batch_size)
    pairs = np.asarray(plan.pairs, dtype=np.int64).reshape(-1, 2)
    order = np.argsort(pairs[:, 0], kind="stable")
    by_union = pairs[order, 0]
    crops = _crops(plan, encoder, fit, on_bad_image, bad)
    for start in _bar(range(0, len(plan.unions), batch_size), "regions", unit="batch"):
        batch = [next(crops) for _ in range(start, min(start + batch_size, len(plan.unions)))]
        whole = [index for index, crop in enumerate(batch) if crop is not None]
        if not whole:
            continue
        regions = encoder.encode_images([batch[index] for index in whole])  # type: ignore[misc]
        row_of = np.full(len(batch), -1)
        row_of[whole] = np.arange(len(whole))
        low, high = np.searchsorted(by_union, [start, start + len(batch)])
        mine = order[low:high]
        rows = row_of[pairs[mine, 0] - start]
        mine, rows = mine[rows >= 0], rows[rows >= 0]
        scores[mine] = encoder.score(regions[rows], features[pairs[mine, 1]])
    scores[~np.isfinite(scores)] = np.nan
    truncated = encoder.truncated(plan.texts)
    return Scored(scores, features, truncated, bad)


def _text_features(texts: list[str], encoder: Encoder, batch_size: int) -> Any:
    parts = [
        encoder.encode_texts(texts[start : start + batch_size])
        for start in _bar(range(0, len(texts), batch_size), "texts", unit="batch")
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)


def _crops(
    plan: Plan, encoder: Encoder, fit: Fit, on_bad_image: OnBadImage, bad: dict[int, str]
) -> Iterator[Image.Image | None]:
    current, picture = -1, None
    for index, rect in plan.unions:
        if index != current:
            current, picture = index, None
            try:
                picture = load_image(*plan.images[index])
            except BadImage as fault:
                if on_bad_image == "error":
                    raise
                bad[index] = str(fault)
        yield None if picture is None else _fitted(picture.crop(rect), encoder, fit)


def _fitted(crop: Image.Image, encoder: Encoder, fit: Fit) -> Image.Image:
    if fit == "squash":
        return crop.resize((encoder.image_size, encoder.image_size), Image.Resampling.BICUBIC)
    if fit == "pad" and encoder.image_mode != "longest":
        side = max(crop.size)
        square = Image.new("RGB", (side, side), encoder.fill)
        square.paste(crop, ((side - crop.width) // 2, (side - crop.height) // 2))
        return square
    return crop


def _bar(steps: range, name: str, unit: str) -> Any:
    from tqdm import tqdm

    return tqdm(steps, desc=name, unit=unit, delay=BAR_DELAY, leave=False, disable=None)
