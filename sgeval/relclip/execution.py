"""The work of RelCLIPScore: aligned pairs of graphs and their pictures, through the plan and the encoder, to rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sgeval.cache import EmbeddingCache
from sgeval.errors import BadImage, InvalidInput, shown
from sgeval.images import Size, image_sources
from sgeval.journal import Journal
from sgeval.pictures import check_boxes, file_below, of_image, picture_sizes, stamp, stated_size
from sgeval.planning import Encoder, Floats, PicturePlan, Texts
from sgeval.progress import bar
from sgeval.relclip.options import Options
from sgeval.relclip.resolve import Pair, Picture, check_given, resolve, unread
from sgeval.relclip.rows import Item
from sgeval.relscore import openvocsgg_ref_score, ref_score, rel_score
from sgeval.rows import ImageRow, Rows
from sgeval.running import TextFeatures, encode_texts, score_pictures

Begin = Callable[[], Journal | None]
"""Begins the journal of a run whose input is sound; nothing where none is kept."""

Side = Literal["prediction", "reference"]

Places = dict[int, list[tuple[int, int]]]
"""By item index, where its scores stand (union, text): the prediction's text first, then, for the authors' reference
formula, the reference's texts."""


def score_pairs(
    pairs: Sequence[Pair],
    images: Any,
    encoder: Encoder,
    template: str,
    options: Options,
    *,
    begin: Begin = lambda: None,
    cache: EmbeddingCache | None = None,
) -> Rows[Item]:
    """The rows of all pictures. Faults of pictures, of boxes and of relations are raised together, kind by kind; only
    when there are none, `begin` is called for the journal."""
    opened = open_pictures(pairs, images, encoder, template, options)
    journal = begin()
    pictures, sources, sizes = opened.pictures, opened.sources, opened.sizes
    texts = Texts()
    for picture in pictures:
        for item in scorable(picture):
            for text in (item.text or "", *_reference_texts(picture, item, encoder)):
                texts.add(text)
    storage: dict[str, Any] = {"batch_size": options.batch_size, "journal": journal, "cache": cache}
    features = encode_texts(texts.texts, encoder, **storage)
    judge = _Judge(encoder, options, texts, features)
    places: dict[int, Places] = {}

    def plans() -> Iterator[PicturePlan | None]:
        for index, (picture, source, size) in enumerate(zip(pictures, sources, sizes, strict=True)):
            if picture.row.status == "ok" and size is not None:
                plan, places[index] = judge.plan(picture, source, size)
                yield plan
            else:
                yield None

    scores = score_pictures(
        plans(), texts.texts, features.features, encoder, fit=options.fit, on_bad_image=options.on_bad_image, **storage
    )
    images_out: list[ImageRow] = []
    items_out: list[Item] = []
    broken: list[str] = []
    for index, outcome in enumerate(bar(scores, "pictures", "picture", len(pictures))):
        picture = pictures[index]
        if isinstance(outcome, BadImage):
            broken.append(of_image(picture.row.image_id, str(outcome)))
            picture = broken_picture(picture, str(outcome))
        elif outcome is not None and (not broken or options.on_bad_image == "skip"):
            picture = replace(picture, items=judge.items(picture, outcome, places.pop(index)))
        pictures[index] = _SPENT  # the rows that come out take its place
        images_out.append(picture.row)
        items_out += picture.items
    if broken and options.on_bad_image == "error":
        raise InvalidInput("images", broken, "on_bad_image")
    return Rows(tuple(images_out), tuple(items_out))


@dataclass(frozen=True)
class Opened:
    """Pictures whose relations are placed, beside where each picture is and how large (nothing where it is not read)."""

    pictures: list[Picture]
    sources: list[Any]
    sizes: list[Size | None]


def open_pictures(
    pairs: Sequence[Pair], images: Any, encoder: Encoder, template: str, options: Options, side: Side = "prediction"
) -> Opened:
    """Find the pictures, read their sizes, check the boxes and place the relations. Faults of pictures, of boxes and of
    relations are raised together, kind by kind; `side` is what messages call the graph whose relations are placed."""
    sources = image_sources(images, pairs)
    sizes, faults = sizes_of(pairs, sources)
    if faults and options.on_bad_image == "error":
        raise InvalidInput(
            "images", [of_image(key_of(pairs[index]), fault) for index, fault in faults.items()], "on_bad_image"
        )
    check_both_boxes(pairs, sizes, side)  # first: corner boxes would only seem to differ from the reference's
    if options.matching == "given":
        check_given(pairs)
    pictures = [
        resolve(pair, size, options, template, encoder, file_below(source, images))
        if size
        else unread(pair, faults.get(index), options)
        for index, (pair, size, source) in enumerate(zip(pairs, sizes, sources, strict=True))
    ]
    if options.on_invalid == "error" and (words := invalid_relations(pictures, side)):
        raise InvalidInput(f"{side}s", words, "on_invalid")
    return Opened(pictures, sources, sizes)


_SPENT = Picture(ImageRow("", None, None, None, 0, "missing"), (), {})


@dataclass(frozen=True)
class _Judge:
    """Plans a picture and, once it is scored, reads its items' scores off."""

    encoder: Encoder
    options: Options
    texts: Texts
    features: TextFeatures

    def plan(self, picture: Picture, source: Any, size: Size) -> tuple[PicturePlan, Places]:
        """A picture's plan, and where each item's scores will stand."""
        plan = PicturePlan(source, (picture.row.width or size[0], picture.row.height or size[1]), stamp(source))
        places: Places = {}
        for item in scorable(picture):
            assert item.crop is not None
            x1, y1, x2, y2 = (int(value) for value in item.crop)
            wanted = [item.text or ""]
            if self.options.ref_formula == "openvocsgg":
                wanted += _reference_texts(picture, item, self.encoder)
            places[item.index] = [plan.add((x1, y1, x2, y2), self.texts.add(text)) for text in wanted]
        return plan, places

    def items(self, picture: Picture, scores: list[Floats], places: Places) -> tuple[Item, ...]:
        """The items with their scores; one whose score is no finite number becomes undefined."""
        return tuple(
            self._item(picture, item, [float(scores[union][text]) for union, text in places[item.index]])
            if item.index in places
            else item
            for item in picture.items
        )

    def _item(self, picture: Picture, item: Item, scores: list[float]) -> Item:
        value = float(rel_score(scores[0]))
        if np.isnan(value):
            return replace(item, status="undefined", reason="the model gave a score that is not a finite number")
        return replace(
            item,
            score=value,
            truncated=bool(self.features.truncated[self.texts.add(item.text or "")]),
            ref_score=self._reference_score(picture, item, value, scores),
        )

    def _reference_score(self, picture: Picture, item: Item, value: float, scores: list[float]) -> float | None:
        """Eq. 5 with the best of the pair's reference texts; `None` without one or where scores are no cosines."""
        gold = [self.texts.add(text) for text in _reference_texts(picture, item, self.encoder)]
        if not gold:
            return None
        mine = self.features.features[[self.texts.add(item.text or "")] * len(gold)]
        alike = self.encoder.score(mine, self.features.features[gold])
        if self.options.ref_formula == "openvocsgg":
            # The script knows one reference a pair: the first stands for it.
            return _defined(float(openvocsgg_ref_score(scores[1], alike[0])))
        return _defined(float(ref_score(value, np.fmax.reduce(alike))))


def scorable(picture: Picture) -> Iterator[Item]:
    """The items that go to the encoder."""
    return (item for item in picture.items if item.status == "scored" and item.crop is not None)


def key_of(pair: Pair) -> str:
    """The id that a pair of graphs has in common."""
    graph = pair[1] or pair[0]
    assert graph is not None
    return graph.key


def sizes_of(pairs: Sequence[Pair], sources: Sequence[Any]) -> tuple[list[Size | None], dict[int, str]]:
    """As `picture_sizes`; the reference's size goes before the prediction's. Pictures of missing predictions are not
    opened."""
    stated = [stated_size(reference, prediction) for prediction, reference in pairs]
    return picture_sizes(sources, stated, [prediction is not None for prediction, _ in pairs])


def check_both_boxes(pairs: Sequence[Pair], sizes: Sequence[Size | None], first: Side = "prediction") -> None:
    """As `check_boxes`, of the predictions (or what `first` says they are), then of the references."""
    for side, name in ((0, f"{first}s"), (1, "references")):
        check_boxes(name, [pair[side] for pair in pairs], sizes)


def broken_picture(picture: Picture, fault: str) -> Picture:
    """The picture as one that could not be read, for the reason `fault`."""
    row = replace(picture.row, status="bad_image", reason=fault, n_clipped=0, n_outside=0)
    items = tuple(replace(item, status="bad_image", reason=fault) for item in picture.items)
    return Picture(row, items, picture.reference_texts)


def invalid_relations(pictures: Sequence[Picture], side: Side = "prediction") -> list[str]:
    """The faults of the relations that cannot be scored for want of an object, of its box, or of a box in the picture."""
    return [
        of_graph(side, item.image_id, item.reason or "")
        for picture in pictures
        for item in picture.items
        if item.status == "invalid"
    ]


def of_graph(side: Side, image_id: str, reason: str) -> str:
    """A fault within a graph, with the image that it is of."""
    return f"{side} of image {shown(image_id)}: {reason}"


def _reference_texts(picture: Picture, item: Item, encoder: Encoder) -> tuple[str, ...]:
    """The reference's texts of an item's pair; none where scores are no cosines, since eq. 5 means two cosines."""
    is_cosine = encoder.score_rule == "cosine"
    return picture.reference_texts.get(item.pair, ()) if item.pair and is_cosine else ()


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
