"""RelCLIPScore: the public function, from graphs and pictures to the result."""

import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sgeval.cache import EmbeddingCache
from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.journal import OpenJournal
from sgeval.matching import NOTHING, Matching, Missing, align
from sgeval.options import check_limit
from sgeval.phrases import Normalisation
from sgeval.pictures import beside, is_list
from sgeval.planning import Encoder
from sgeval.regions import Context, Fit
from sgeval.relclip.execution import score_pairs
from sgeval.relclip.options import KEYS, Empty, Options, Pairs, RefFormula, make_options
from sgeval.relclip.resolve import Pair
from sgeval.relclip.result import summarise
from sgeval.relclip.rows import Item
from sgeval.relclip.setup import check_config, make_setup
from sgeval.relscore import Penalty
from sgeval.rows import Rows
from sgeval.running import OnBadImage
from sgeval.setup import Setup
from sgeval.signature import signature
from sgeval.validation import OnInvalid, Parsed, parse_graphs


@dataclass(frozen=True)
class Scoring:
    """Rows with what is needed to summarise them: options, headline key, signature."""

    rows: Rows[Item]
    options: Options
    key: str
    signature: str

    @property
    def files(self) -> dict[str, str]:
        """Nothing stands beside the tables."""
        return {}

    def result(self, return_items: bool = False) -> dict[str, Any]:
        """The flat result."""
        return summarise(self.rows, self.options, self.key, self.signature, return_items)


def relclipscore(
    predictions: Iterable[Any],
    *,
    images: Any,
    references: Iterable[Any] | None = None,
    model: str | Path | Encoder | None = None,
    config: str = "clip",
    device: str = "auto",
    precision: str = "fp32",
    preprocess: str = "pil",
    cache: str | Path | None = None,
    limit: int | None = None,
    return_items: bool = False,
    matching: Matching = "given",
    pairs: Pairs = "predicted",
    penalty: Penalty = "guarded",
    context: Context = "none",
    fit: Fit = "model",
    template: str | None = None,
    normalisation: Normalisation = "words",
    empty: Empty = "zero",
    missing: Missing = "error",
    ref_formula: RefFormula = "harmonic",
    on_invalid: OnInvalid = "error",
    on_bad_image: OnBadImage = "error",
    batch_size: int = 32,
    bootstrap: int = 0,
    seed: int = 0,
    **unknown: Any,
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
        A folder, a mapping from `image_id`, or a list beside the predictions: paths, PIL images, or
        arrays of uint8 or uint16.
    model
        A name or folder (see `sgeval.encoders.load_encoder`) or an object of the form `sgeval.planning.Encoder`.
    config
        `clip`, `negclip`, `siglip`, `blip2`: the default model.
    device, precision, preprocess
        Where and how the model runs, see `sgeval.encoders.load_encoder`.
    cache
        A folder that keeps embeddings: a second run, or another metric, encodes nothing twice.
    limit
        Score the first N references (predictions when there are none) only, counted after records left out at the border.
    pairs
        `predicted`: eq. 2 is over the predicted triplets. `gold`: over the pairs that the references relate, each the mean
        of the triplets predicted on it (`sgeval.relscore.pair_scores`), 0 without one; k of eq. 3 is their number, and
        relations on other pairs are neither scored nor encoded. What a ranking needs: silence, repeats and spam do not pay.
    matching, penalty, context, fit, template, normalisation, empty, missing, ref_formula, on_invalid, on_bad_image
        What moves the number, see `sgeval.relclip.Options` and the card. With `on_invalid="skip"` a prediction whose
        record is left out whole takes its reference out of the mean; with `missing="zero"` too it scores 0, as missing.
    batch_size, bootstrap, seed
        Regions encoded at once; replicates and seed of the intervals (0: none).

    Returns
    -------
    dict
        Floats and counts, `signature` last. `relclipscore` (or `relsiglipscore`, `relblipscore`) is the headline;
        `mean_score` eq. 2; `mean_score_relations` over all relations. What is undefined is `None` and counted: a
        picture with fewer than two objects; p − k ≤ 0 under `penalty="literal"`; with `pairs="gold"` one without an
        annotated pair.

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
    make_options(unknown)  # names the known ones
    scoring = score(
        predictions,
        images=images,
        references=references,
        limit=limit,
        options=Options(
            matching=matching,
            pairs=pairs,
            penalty=penalty,
            context=context,
            fit=fit,
            template=template,
            normalisation=normalisation,
            empty=empty,
            missing=missing,
            ref_formula=ref_formula,
            on_invalid=on_invalid,
            on_bad_image=on_bad_image,
            batch_size=batch_size,
            bootstrap=bootstrap,
            seed=seed,
        ),
        cache=cache,
        model=model,
        config=config,
        device=device,
        precision=precision,
        preprocess=preprocess,
    )
    return scoring.result(return_items)


def score(
    predictions: Iterable[Any],
    *,
    images: Any,
    references: Iterable[Any] | None = None,
    limit: int | None = None,
    options: Options | None = None,
    cache: str | Path | None = None,
    open_journal: OpenJournal | None = None,
    config: str = "clip",
    **setup: Any,
) -> Scoring:
    """The rows of a run, before they are summarised. Parameters as in `relclipscore`; `setup` are those of `Setup`.

    `open_journal`, called with the run's signature, gives the journal that makes the run resumable; the caller closes it.
    """
    options = options or Options()
    chosen = make_setup(config=config, **setup)
    chosen.check()
    mine, gold = parse_both(predictions, references, options)
    return score_parsed(
        mine, gold, images, chosen, config, limit=limit, options=options, cache=cache, open_journal=open_journal
    )


def score_parsed(
    predictions: Parsed,
    references: Parsed | None,
    images: Any,
    setup: Setup,
    config: str = "clip",
    *,
    limit: int | None,
    options: Options,
    cache: str | Path | None = None,
    open_journal: OpenJournal | None = None,
) -> Scoring:
    """The same for graphs that have passed the border."""
    if options.matching != "given" and references is None:
        raise SgevalError(f"matching: {shown(options.matching)} needs references")
    if options.pairs == "gold" and references is None:
        raise SgevalError('pairs: "gold" needs references: the pairs that count are theirs')
    if options.pairs == "gold" and options.empty == "skip":
        raise SgevalError('empty: expected "zero" with pairs="gold", where an unanswered pair scores 0, got "skip"')
    check_limit(limit)
    gold = references.scenes if references else None
    left_out = predictions.left_out | (references.left_out if references else set())
    pairs: list[Pair] = align(predictions.scenes, gold, options.missing, limit, left_out, predictions.positions)
    if not pairs:
        raise SgevalError(NOTHING)
    if is_list(images):
        images = beside(images, predictions, "prediction")
    encoder = setup.encoder()
    check_config(config, encoder)
    template = options.template or encoder.template
    key = KEYS[encoder.score_rule]
    parts = {"metric": key, **encoder.signature(), **options.signature(template, references is not None)}
    line = signature(parts if limit is None else {**parts, "limit": int(limit)})
    with EmbeddingCache(cache) if cache is not None else nullcontext() as embeddings:
        begin = (lambda: open_journal(line)) if open_journal else (lambda: None)
        rows = score_pairs(pairs, images, encoder, template, options, begin=begin, cache=embeddings)
    rows = replace(
        rows,
        images=tuple(
            replace(row, n_invalid_relations=len(predictions.cut.get(row.image_id, ()))) for row in rows.images
        ),
        n_invalid=predictions.n_invalid + (references.n_invalid if references else 0),
        with_references=references is not None,
    )
    return Scoring(rows, options, key, line)


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
        raise InvalidInput("input", faults, "on_invalid")
    for side in sides:
        for words in side.warnings:
            warnings.warn(words, stacklevel=4)
    return sides[0], sides[1] if len(sides) > 1 else None
