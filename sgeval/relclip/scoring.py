"""RelCLIPScore from graphs and pictures to rows, and the public function over both halves."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sgeval.encoders import load_encoder
from sgeval.errors import BadImage, InvalidInput, SgevalError, one_of, shown
from sgeval.images import Size, image_size, image_sources
from sgeval.matching import align
from sgeval.planning import Encoder, Plan, Scored, run_plan
from sgeval.records import SceneGraph
from sgeval.relclip.options import CONFIGS, KEYS, Options, make_options
from sgeval.relclip.resolve import Pair, Picture, check_boxes, check_given, resolve, unread
from sgeval.relclip.result import summarise
from sgeval.relclip.rows import ImageRow, Item, Rows
from sgeval.relscore import openvocsgg_ref_score, ref_score, rel_score
from sgeval.signature import signature
from sgeval.validation import Parsed, parse_graphs


@dataclass(frozen=True)
class Scoring:
    """Rows with what is needed to summarise them: options, headline key, signature."""

    rows: Rows
    options: Options
    key: str
    signature: str

    def result(self, return_items: bool = False) -> dict[str, Any]:
        """The flat result."""
        return summarise(self.rows, self.options, self.key, self.signature, return_items)


def relclipscore(
    predictions: Iterable[Any],
    *,
    images: Any,
    references: Iterable[Any] | None = None,
    model: str | Encoder | None = None,
    config: str = "clip",
    device: str = "auto",
    limit: int | None = None,
    return_items: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """RelCLIPScore: does each union crop look like the relation that was predicted for it?

    Definition: for each predicted triplet, `max(cos(crop, text), 0)` of the union crop of subject and object and the
    text "subject predicate object" (eq. 1); the mean over the relations of a picture (eq. 2), penalised for the share
    of pairs that were tried (eq. 3, 4); the mean over pictures. Paper 1: arXiv 2509.01209, Section 3.1.

    Range and direction: fractions in 0–1, higher is better; the guarded penalty can raise a picture above its mean
    (by at most 1/ln 2) where two or fewer pairs are left untried.

    Parameters
    ----------
    predictions, references
        Rows of the prediction file format (mappings, records, or rows of a `datasets` table), aligned by `image_id`.
        References are optional; with them the objects (m, matching) are theirs.
    images
        A folder, a mapping from `image_id`, or a list beside the predictions: paths, PIL images, or uint8 arrays.
    model
        A name (see `sgeval.encoders.load_encoder`) or an object of the form `sgeval.planning.Encoder`.
    config
        `clip`, `negclip`, `siglip`, `blip2`: the default model.
    limit
        Score the first N references (predictions when there are none) only.
    options
        The fields of `sgeval.relclip.Options`: matching, penalty, context, fit, template, normalisation, empty, missing,
        ref_formula, on_invalid, on_bad_image, batch_size, bootstrap, seed.

    Returns
    -------
    dict
        Floats and counts, `signature` last. `relclipscore` (or `relsiglipscore`, `relblipscore`) is the headline;
        `mean_score` eq. 2; `mean_score_relations` over all relations. What is undefined is `None` and counted: a
        picture with fewer than two objects; p − k ≤ 0 under `penalty="literal"`.

    Raises
    ------
    sgeval.errors.InvalidInput
        With every fault of the input. `SgevalError` for options, `ModelUnavailable`, `BadImage`.

    Examples
    --------
    >>> import numpy as np
    >>> graph = {"image_id": "a", "objects": [{"id": 0, "category": "dog", "bbox": [5, 10, 30, 30]},
    ...          {"id": 1, "category": "ball", "bbox": [60, 20, 20, 20]}],
    ...          "relations": [{"subject_id": 0, "object_id": 1, "predicate": "left of"}]}
    >>> grey = np.full((64, 96, 3), 128, dtype=np.uint8)
    >>> result = relclipscore([graph], images={"a": grey}, model="demo")
    >>> result["n_relations"], 0 <= result["mean_score"] <= 1
    (1, True)
    """
    scoring = score(
        predictions,
        images=images,
        references=references,
        model=model,
        config=config,
        device=device,
        limit=limit,
        options=make_options(options),
    )
    return scoring.result(return_items)


def score(
    predictions: Iterable[Any],
    *,
    images: Any,
    references: Iterable[Any] | None = None,
    model: str | Encoder | None = None,
    config: str = "clip",
    device: str = "auto",
    limit: int | None = None,
    options: Options | None = None,
) -> Scoring:
    """The rows of a run, before they are summarised. Parameters as in `relclipscore`."""
    options = options or Options()
    mine, gold = parse_both(predictions, references, options)
    return score_parsed(mine, gold, images, model=model, config=config, device=device, limit=limit, options=options)


def score_parsed(
    predictions: Parsed,
    references: Parsed | None,
    images: Any,
    *,
    model: str | Encoder | None,
    config: str,
    device: str,
    limit: int | None,
    options: Options,
) -> Scoring:
    """The same for graphs that have passed the border."""
    if options.matching != "given" and references is None:
        raise SgevalError(f"matching: {shown(options.matching)} needs references")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise SgevalError(f"limit: expected a whole number of 1 or more, got {shown(limit)}")
    gold = references.scenes if references else None
    left_out = {*predictions.dropped.values(), *(references.dropped.values() if references else ())}
    pairs: list[Pair] = align(predictions.scenes, gold, options.missing, limit, left_out)
    if not pairs:
        raise SgevalError("predictions: expected at least one image, got none")
    if options.matching == "given":
        check_given(pairs)
    if is_list(images):
        images = beside(images, predictions)
    encoder = get_encoder(model, config, device)
    template = options.template or encoder.template
    rows = replace(
        _score_pairs(pairs, images, encoder, template, options),
        n_invalid=predictions.n_invalid + (references.n_invalid if references else 0),
        with_references=references is not None,
    )
    key = KEYS[encoder.score_rule]
    parts = {"metric": key, **encoder.signature(), **options.signature(template, references is not None)}
    return Scoring(rows, options, key, signature(parts))


def is_list(images: Any) -> bool:
    """Whether pictures came as a list beside the predictions."""
    return isinstance(images, Sequence) and not isinstance(images, (str, bytes))


def beside(images: Sequence[Any], predictions: Parsed) -> dict[str, Any]:
    """The mapping of a list of pictures that stands beside the rows of the predictions."""
    if len(images) != predictions.n_rows:
        fault = f"images: expected one a prediction ({predictions.n_rows}), got {len(images)}"
        raise InvalidInput("images", [fault])
    return {
        graph.key: images[position] for graph, position in zip(predictions.graphs, predictions.positions, strict=True)
    }


def parse_both(
    predictions: Iterable[Any], references: Iterable[Any] | None, options: Options
) -> tuple[Parsed, Parsed | None]:
    """Both sides through the border; faults of both are listed together."""
    sides: list[Parsed] = []
    faults: list[str] = []
    given = [(predictions, "predictions")] + ([(references, "references")] if references is not None else [])
    for rows, label in given:
        try:
            sides.append(parse_graphs(rows, label, on_invalid=options.on_invalid))
        except InvalidInput as fault:
            faults += fault.faults
    if faults:
        raise InvalidInput("input", faults)
    for side in sides:
        for words in side.warnings:
            warnings.warn(words, stacklevel=4)
    return sides[0], sides[1] if len(sides) > 1 else None


def get_encoder(model: str | Encoder | None, config: str, device: str) -> Encoder:
    """The encoder of a call; a config whose headline the model's score rule does not give is refused."""
    one_of("config", config, CONFIGS)
    default, key = CONFIGS[config]
    encoder = load_encoder(model or default, device) if model is None or isinstance(model, str) else model
    if config != "clip" and KEYS[encoder.score_rule] != key:
        raise SgevalError(
            f"config {shown(config)}: expected a model that gives {key}, got {shown(encoder.name)} that gives "
            f"{KEYS[encoder.score_rule]}"
        )
    return encoder


def _score_pairs(pairs: Sequence[Pair], images: Any, encoder: Encoder, template: str, options: Options) -> Rows:
    sources = image_sources(images, pairs)
    sizes, faults = picture_sizes(pairs, sources)
    if faults and options.on_bad_image == "error":
        raise InvalidInput("images", list(faults.values()))
    check_boxes(pairs, sizes)
    pictures = [
        resolve(pair, size, options, template, encoder, _file(source, images))
        if size
        else unread(pair, faults.get(index))
        for index, (pair, size, source) in enumerate(zip(pairs, sizes, sources, strict=True))
    ]
    _refuse_invalid(pictures, options)
    plan = Plan()
    pair_numbers = [
        _planned(picture, source, size, plan, options, encoder)
        for picture, source, size in zip(pictures, sources, sizes, strict=True)
    ]
    scored = run_plan(plan, encoder, fit=options.fit, batch_size=options.batch_size, on_bad_image=options.on_bad_image)
    planned = [index for index, picture in enumerate(pictures) if picture.row.status == "ok"]
    broken = {planned[number]: fault for number, fault in scored.bad_images.items()}
    out_images: list[ImageRow] = []
    out_items: list[Item] = []
    for index, picture in enumerate(pictures):
        if index in broken:
            picture = _broken(picture, broken[index])
        out_images.append(picture.row)
        out_items += _with_scores(picture, pair_numbers[index], scored, plan, encoder, options)
    return Rows(tuple(out_images), tuple(out_items))


def picture_sizes(pairs: Sequence[Pair], sources: Sequence[Any]) -> tuple[list[Size | None], dict[int, str]]:
    """The size of each picture from its header. Pictures of missing predictions are not opened."""
    sizes: list[Size | None] = []
    faults: dict[int, str] = {}
    for index, ((prediction, reference), source) in enumerate(zip(pairs, sources, strict=True)):
        try:
            if isinstance(source, BadImage) and prediction is not None:
                raise source
            sizes.append(None if prediction is None else image_size(source, annotated_size(prediction, reference)))
        except BadImage as fault:
            faults[index] = str(fault)
            sizes.append(None)
    return sizes, faults


def annotated_size(prediction: SceneGraph | None, reference: SceneGraph | None) -> Size | None:
    """The (width, height) that the reference states, else the prediction, else nothing."""
    for graph in (reference, prediction):
        if graph is not None and graph.width is not None and graph.height is not None:
            return (graph.width, graph.height)
    return None


def _file(source: Any, images: Any) -> str | None:
    """Where a picture lies below the folder of pictures; its bare name where it came another way."""
    if not isinstance(source, (str, Path)):
        return None
    is_folder = isinstance(images, (str, Path))
    return Path(source).relative_to(Path(images).resolve()).as_posix() if is_folder else Path(source).name


def _broken(picture: Picture, fault: str) -> Picture:
    row = replace(picture.row, status="bad_image", reason=fault, n_clipped=0)
    items = tuple(replace(item, status="bad_image", reason=fault) for item in picture.items)
    return Picture(row, items, picture.reference_texts)


def _refuse_invalid(pictures: Sequence[Picture], options: Options) -> None:
    if options.on_invalid == "skip":
        return
    faults = [
        f"prediction of image {shown(item.image_id)}: {item.reason}"
        for picture in pictures
        for item in picture.items
        if item.status == "invalid"
    ]
    if faults:
        raise InvalidInput("predictions", faults)


def _planned(
    picture: Picture, source: Any, size: Size | None, plan: Plan, options: Options, encoder: Encoder
) -> dict[int, list[int]]:
    """Put a picture into the plan. Returns, by item index, the numbers of its pairs: the prediction's text first, then
    (for the authors' reference formula) the reference's texts."""
    if picture.row.status != "ok" or size is None:
        return {}
    plan.add_image(source, (picture.row.width or size[0], picture.row.height or size[1]))
    numbers: dict[int, list[int]] = {}
    for item in picture.items:
        if item.status != "scored" or item.crop is None or item.text is None:
            continue
        x1, y1, x2, y2 = (int(value) for value in item.crop)
        rect = (x1, y1, x2, y2)
        numbers[item.index] = [plan.add_pair(rect, item.text)]
        for text in _reference_texts(picture, item, encoder):
            if options.ref_formula == "openvocsgg":
                numbers[item.index].append(plan.add_pair(rect, text))
            else:
                plan.add_text(text)
    return numbers


def _with_scores(
    picture: Picture,
    numbers: dict[int, list[int]],
    scored: Scored,
    plan: Plan,
    encoder: Encoder,
    options: Options,
) -> list[Item]:
    items: list[Item] = []
    for item in picture.items:
        if item.status != "scored":
            items.append(item)
            continue
        pair = numbers[item.index]
        value = float(rel_score(scored.scores[pair[0]]))
        if np.isnan(value):
            items.append(replace(item, status="undefined", reason="the model gave a score that is not a finite number"))
            continue
        text_id = plan.add_text(item.text or "")
        items.append(
            replace(
                item,
                score=value,
                truncated=bool(scored.truncated[text_id]),
                ref_score=_reference_score(item, value, pair, picture, scored, plan, encoder, options),
            )
        )
    return items


def _reference_score(
    item: Item,
    value: float,
    pair: list[int],
    picture: Picture,
    scored: Scored,
    plan: Plan,
    encoder: Encoder,
    options: Options,
) -> float | None:
    """Eq. 5 with the best of the pair's reference texts; `None` without one or where scores are no cosines."""
    texts = _reference_texts(picture, item, encoder)
    if not texts:
        return None
    mine = scored.text_features[plan.add_text(item.text or "")]
    gold = scored.text_features[[plan.add_text(text) for text in texts]]
    alike = encoder.score(np.repeat(mine[None], len(texts), axis=0), gold)
    if options.ref_formula == "openvocsgg":
        # The script knows one reference a pair: the first stands for it.
        return _defined(float(openvocsgg_ref_score(scored.scores[pair[1]], alike[0])))
    return _defined(float(ref_score(value, np.fmax.reduce(alike))))


def _reference_texts(picture: Picture, item: Item, encoder: Encoder) -> tuple[str, ...]:
    """The reference's texts of an item's pair; none where scores are no cosines, since eq. 5 means two cosines."""
    is_cosine = encoder.score_rule == "cosine"
    return picture.reference_texts.get(item.pair, ()) if item.pair and is_cosine else ()


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
