"""The work of θ on graphs: annotated graphs and their pictures, through the plan and the encoder, to rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgeval.alignment.options import Options
from sgeval.alignment.resolve import Question, Questions, confusers
from sgeval.alignment.rows import Item
from sgeval.cache import EmbeddingCache
from sgeval.errors import BadImage, InvalidInput, shown
from sgeval.images import Size
from sgeval.pictures import of_image, stamp
from sgeval.planning import Encoder, Floats, PicturePlan
from sgeval.progress import bar
from sgeval.ranks import places
from sgeval.records import SceneGraph
from sgeval.relclip import Options as PlacingOptions
from sgeval.relclip.execution import Begin, broken_picture, open_pictures
from sgeval.rows import ImageRow, Rows
from sgeval.running import TextFeatures, encode_texts, score_pictures
from sgeval.vocabulary import Vocabulary


def score_graphs(
    graphs: Sequence[SceneGraph],
    images: Any,
    encoder: Encoder,
    vocabulary: Vocabulary,
    template: str,
    options: Options,
    *,
    begin: Begin = lambda: None,
    cache: EmbeddingCache | None = None,
) -> Rows[Item]:
    """The rows of all pictures. Relations are placed as RelCLIPScore places predicted ones that have no reference."""
    placing = PlacingOptions(
        context=options.context,
        fit=options.fit,
        normalisation=options.normalisation,
        on_invalid=options.on_invalid,
        on_bad_image=options.on_bad_image,
    )
    pairs = [(graph, None) for graph in graphs]
    opened = open_pictures(pairs, images, encoder, template, placing, "reference")
    questions = Questions(vocabulary, template, options)
    work = [_Work(picture.row, *questions.items(picture)) for picture in opened.pictures]
    if options.on_invalid == "error" and (faults := _unlisted(work)):
        raise InvalidInput("vocabulary", faults, "on_invalid")
    journal = begin()
    texts = questions.texts.texts
    storage: dict[str, Any] = {"batch_size": options.batch_size, "journal": journal, "cache": cache}
    features = encode_texts(texts, encoder, **storage)
    answers: dict[int, _Places] = {}

    def plans() -> Iterator[PicturePlan | None]:
        for index, (each, source, size) in enumerate(zip(work, opened.sources, opened.sizes, strict=True)):
            if each.row.status == "ok" and size is not None:
                plan, answers[index] = each.plan(source, size)
                yield plan
            else:
                yield None

    scores = score_pictures(
        plans(), texts, features.features, encoder, fit=options.fit, on_bad_image=options.on_bad_image, **storage
    )
    images_out: list[ImageRow] = []
    items_out: list[Item] = []
    broken: list[str] = []
    for index, outcome in enumerate(bar(scores, "pictures", "picture", len(work))):
        each, row = work[index], work[index].row
        items: Sequence[Item] = each.items
        if isinstance(outcome, BadImage):
            broken.append(of_image(row.image_id, str(outcome)))
            row = broken_picture(opened.pictures[index], str(outcome)).row
            items = [replace(item, status="bad_image", reason=str(outcome)) for item in items]
        elif outcome is not None and (not broken or options.on_bad_image == "skip"):
            items = each.answered(outcome, answers.pop(index), features)
        images_out.append(row)
        items_out += items
        work[index] = _SPENT  # the rows that come out take its place
    if broken and options.on_bad_image == "error":
        raise InvalidInput("images", broken, "on_bad_image")
    return Rows(tuple(images_out), tuple(items_out), with_references=True)


_Places = dict[int, tuple[int, dict[int, int]]]
"""By item index: which union of the picture, and where among its scores each text stands."""


@dataclass(frozen=True)
class _Work:
    """A picture: its row, its items, and the questions of those that are to be scored."""

    row: ImageRow
    items: Sequence[Item]
    questions: dict[int, Question]

    def plan(self, source: Any, size: Size) -> tuple[PicturePlan, _Places]:
        """The picture's plan, and where each item's scores will stand."""
        plan = PicturePlan(source, (self.row.width or size[0], self.row.height or size[1]), stamp(source))
        found: _Places = {}
        for item in self.items:
            if item.index in self.questions and item.crop is not None:
                x1, y1, x2, y2 = (int(value) for value in item.crop)
                added = {text: plan.add((x1, y1, x2, y2), text) for text in self.questions[item.index].all_texts}
                union = next(iter(added.values()))[0]
                found[item.index] = (union, {text: place for text, (_, place) in added.items()})
        return plan, found

    def answered(self, scores: list[Floats], found: _Places, features: TextFeatures) -> list[Item]:
        """The items with what the model says of them; one with a score that is no finite number is undefined."""
        candidates = {
            index: scores[union][[where[text] for text in self.questions[index].texts]]
            for index, (union, where) in found.items()
        }
        whole = [index for index, row in candidates.items() if np.isfinite(row).all()]
        standing = places(
            np.concatenate([np.zeros(0), *(candidates[index] for index in whole)]),
            [len(candidates[index]) for index in whole],
            [self.questions[index].truth for index in whole],
        )
        at = {index: number for number, index in enumerate(whole)}
        items = []
        for item in self.items:
            if item.index in at:
                question, (union, where) = self.questions[item.index], found[item.index]
                own = candidates[item.index]
                item = replace(
                    item,
                    score=float(own[question.truth]),
                    truncated=bool(features.truncated[list(question.texts)].any()),
                    confusers=confusers(question, own.tolist()),
                    confuser_score=float(own.max()) if own.max() > own[question.truth] else None,
                    swap_score=_value(scores[union], where, question.swap),
                    bare_score=_value(scores[union], where, question.bare),
                    random_predicate=question.drawn,
                    random_score=_value(scores[union], where, question.random),
                    **standing.row(at[item.index]),
                )
            elif item.index in found:
                reason = "the model gave a score that is not a finite number"
                item = replace(item, status="undefined", reason=reason)
            items.append(item)
        return items


def _value(scores: Floats, where: dict[int, int], text: int | None) -> float | None:
    """The score of a text, if it was asked for and is a finite number."""
    if text is None or np.isnan(scores[where[text]]):
        return None
    return float(scores[where[text]])


def _unlisted(work: Sequence[_Work]) -> list[str]:
    """The faults of relations whose predicate is not among their candidates."""
    return [
        f"reference of image {shown(item.image_id)}: relations[{item.index}].predicate: {item.reason}"
        for each in work
        for item in each.items
        if item.status == "unlisted"
    ]


_SPENT = _Work(ImageRow("", None, None, None, 0, "missing"), (), {})
