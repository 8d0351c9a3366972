"""θ: the public function, from annotated graphs and pictures, or from lists of scores, to the result."""

import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sgeval.alignment.execution import score_graphs
from sgeval.alignment.lists import theta_of_lists
from sgeval.alignment.options import (
    CONFIGS,
    DEFAULT_MODEL,
    KEY,
    ONLY_GRAPHS,
    SYMMETRIC,
    Confusers,
    Cooccurring,
    Options,
    Protocol,
    Score,
    Singletons,
    make_options,
)
from sgeval.alignment.result import summarise
from sgeval.alignment.rows import Item
from sgeval.cache import EmbeddingCache
from sgeval.errors import SgevalError, one_of, shown
from sgeval.journal import OpenJournal
from sgeval.matching import refuse_doubles
from sgeval.options import check_limit
from sgeval.phrases import Normalisation
from sgeval.pictures import beside, is_list
from sgeval.planning import Encoder
from sgeval.regions import Context, Fit
from sgeval.rows import Rows
from sgeval.running import OnBadImage
from sgeval.setup import Setup
from sgeval.signature import signature
from sgeval.validation import OnInvalid, Parsed, parse_graphs
from sgeval.vocabulary import Vocabulary, make_vocabulary, vocabulary_of_graphs

VOCABULARY = "vocabulary.jsonl"


@dataclass(frozen=True)
class Scoring:
    """Rows with what is needed to summarise them: options, signature, and the vocabulary that was ranked."""

    rows: Rows[Item]
    options: Options
    signature: str
    vocabulary: Vocabulary
    key: str = KEY

    @property
    def files(self) -> Mapping[str, str]:
        """The vocabulary stands beside the tables."""
        return {VOCABULARY: self.vocabulary.text()}

    def result(self, return_items: bool = False) -> dict[str, Any]:
        """The flat result."""
        found = summarise(self.rows, self.options, self.signature, return_items)
        return found | ({"vocabulary": self.vocabulary.rows()} if return_items else {})


def theta(
    predictions: Iterable[Any] | None = None,
    references: Iterable[Any] | None = None,
    *,
    config: str = "scores",
    images: Any = None,
    model: str | Path | Encoder | None = None,
    vocabulary: Any = None,
    vocabulary_graphs: Iterable[Any] | None = None,
    device: str = "auto",
    precision: str = "fp32",
    preprocess: str = "pil",
    cache: str | Path | None = None,
    limit: int | None = None,
    return_items: bool = False,
    score: Score = "cosine",
    protocol: Protocol = "paper",
    singletons: Singletons = "skip",
    cooccurring: Cooccurring = "keep",
    confusers: Confusers = "top",
    symmetric: Iterable[str] = SYMMETRIC,
    context: Context = "none",
    fit: Fit = "model",
    template: str | None = None,
    normalisation: Normalisation = "words",
    on_invalid: OnInvalid = "error",
    on_bad_image: OnBadImage = "error",
    batch_size: int = 32,
    bootstrap: int = 0,
    seed: int = 0,
    **unknown: Any,
) -> dict[str, Any]:
    """θ: does the scoring model prefer the annotated predicate to the others of its pair of classes?

    Definition: for an annotated relation with the candidates L (all predicates annotated for its ordered pair of classes,
    the truth among them), `θ = 1 − rank/|L|`, the rank of the truth by score 0-based, ties averaged (eq. 7); the mean
    over relations. `precision` is the share of relations whose truth is best; a tie of n at the top counts 1/n. Paper 1:
    arXiv 2509.01209, Section 3.2.

    Range and direction: fractions, higher is better. A model that knows nothing gets `chance_theta`, the mean of
    (|L| + 1) / (2 |L|), which is above one half; θ means nothing without it.

    Parameters
    ----------
    predictions, references
        `config="scores"`: lists of candidate scores, and for each the position of the truth. `config="graphs"`: no
        predictions; the references are annotated graphs (rows of the prediction file format).
    images, model, device, precision, preprocess, cache, limit
        For graphs, as in `sgeval.relclipscore`. `limit` takes the first N graphs; the vocabulary is still of all.
    vocabulary
        For graphs: the candidates, where they are not those of the references. Rows `{"subject", "predicate",
        "object"}`, a JSON Lines or Parquet file of them, or a mapping of (subject, object) to predicates. A relation whose
        predicate they do not name is a fault.
    vocabulary_graphs
        For graphs: further annotated graphs, of other splits, whose predicates are candidates too.
    score
        What `mean_score` is the mean of: `cosine`, the model's own score (eq. 1), or `softmax100`, the softmax of
        100 x cosine over the candidates (what the paper's Table 1 shows). Ranks are the same.
    protocol
        `paper`, or `openvocsgg`: the authors' script, which looks at the place of the winner in the list.
    singletons
        `skip` or `include` relations whose pair has one candidate.
    cooccurring
        `exclude` leaves out candidates that are also annotated for the same two objects; `keep` is the paper's.
    confusers, symmetric
        Which confused triplets are listed; predicates that are left out of the direction test.
    context, fit, template, normalisation, on_invalid, on_bad_image, batch_size, bootstrap, seed
        As in `sgeval.relclipscore`. `seed` also draws the random predicates.

    Returns
    -------
    dict
        `theta`, `precision`, their chance levels, `mean_score`, counts, `signature`. For graphs also, with the same
        embeddings: `direction_accuracy` (triplet above its swap), `above_no_predicate` and `gap_no_predicate` (triplet
        against the two objects alone), `above_random_predicate` and `gap_random_predicate`. With `return_items` also
        `items`, and for graphs `images`, `confused`, `slices` and `vocabulary`. Undefined is `None`: no relation ranked.

    Raises
    ------
    sgeval.errors.InvalidInput
        With every fault of the input. `SgevalError` for options, `ModelUnavailable`, `BadImage`.

    Examples
    --------
    >>> result = theta(predictions=[[0.20, 0.10, 0.05, 0.90]], references=[0])
    >>> result["theta"], result["precision"], result["chance_theta"]
    (0.75, 0.0, 0.625)
    """
    make_options(unknown)  # names the known ones
    one_of("config", config, CONFIGS)
    options = Options(
        score=score,
        protocol=protocol,
        singletons=singletons,
        cooccurring=cooccurring,
        confusers=confusers,
        symmetric=symmetric,  # type: ignore[arg-type]  # made a tuple there
        context=context,
        fit=fit,
        template=template,
        normalisation=normalisation,
        on_invalid=on_invalid,
        on_bad_image=on_bad_image,
        batch_size=batch_size,
        bootstrap=bootstrap,
        seed=seed,
    )
    if references is None:
        raise SgevalError(f"references: expected {_REFERENCES[config]}, got nothing")
    if config == "scores":
        options.check_for_lists()
        given = {"images": images, "model": model, "vocabulary": vocabulary, "vocabulary_graphs": vocabulary_graphs}
        how = {"device": device, "precision": precision, "preprocess": preprocess}
        check_for_lists(given | {"cache": cache, "limit": limit}, how)
        return theta_of_lists(predictions, references, options, return_items)
    if predictions is not None:
        raise SgevalError("predictions: expected none for graphs: θ scores the references, got some")
    scoring = score_annotations(
        references,
        images=images,
        model=model,
        vocabulary=vocabulary,
        vocabulary_graphs=vocabulary_graphs,
        limit=limit,
        options=options,
        cache=cache,
        device=device,
        precision=precision,
        preprocess=preprocess,
    )
    return scoring.result(return_items)


def score_annotations(
    references: Iterable[Any],
    *,
    images: Any,
    vocabulary: Any = None,
    vocabulary_graphs: Iterable[Any] | None = None,
    limit: int | None = None,
    options: Options | None = None,
    cache: str | Path | None = None,
    open_journal: OpenJournal | None = None,
    model: str | Path | Encoder | None = None,
    **how: str,
) -> Scoring:
    """The rows of a run on graphs, before they are summarised. Parameters as in `theta`; `how` are those of `Setup`.

    `open_journal`, called with the run's signature, gives the journal that makes the run resumable; the caller closes it.
    """
    options = options or Options()
    setup = make_setup(model, **how)
    setup.check()
    gold = parse_references(references, options)
    chosen = choose_vocabulary(gold, vocabulary, vocabulary_graphs, options)
    return score_parsed(
        gold, images, setup, chosen, limit=limit, options=options, cache=cache, open_journal=open_journal
    )


def make_setup(model: str | Path | Encoder | None = None, **how: str) -> Setup:
    """The setup of a model, or of the default one. `how`: as in `Setup`."""
    return Setup(DEFAULT_MODEL if model is None else model, **how)


def choose_vocabulary(
    references: Parsed, given: Any, vocabulary_graphs: Iterable[Any] | None, options: Options
) -> Vocabulary:
    """The candidates: those given, else those of the references and of further graphs."""
    if given is None:
        more = None if vocabulary_graphs is None else parse_references(vocabulary_graphs, options, "vocabulary_graphs")
        graphs = [*references.scenes, *(more.scenes if more else ())]
        return vocabulary_of_graphs(graphs, options.normalisation)
    if vocabulary_graphs is not None:
        raise SgevalError("vocabulary and vocabulary_graphs: expected one of them, got both")
    found = make_vocabulary(given, options.normalisation)
    if not found.pairs:
        raise SgevalError("vocabulary: expected at least one predicate of a pair of classes, got none")
    return found


def check_for_lists(given: Mapping[str, Any], how: Mapping[str, str]) -> None:
    """Refuse arguments that lists of scores have no use for: an absent one is `None`, and `how` a model runs is as in
    `Setup`."""
    default = Setup("")
    asked = [name for name, value in given.items() if value is not None]
    asked += [name for name, value in how.items() if value != getattr(default, name)]
    if asked:
        raise SgevalError(ONLY_GRAPHS.format(asked[0]))


def score_parsed(
    references: Parsed,
    images: Any,
    setup: Setup,
    vocabulary: Vocabulary,
    *,
    limit: int | None = None,
    options: Options,
    cache: str | Path | None = None,
    open_journal: OpenJournal | None = None,
) -> Scoring:
    """The same for graphs that have passed the border."""
    check_limit(limit)
    refuse_doubles(references=references.scenes)
    graphs = references.scenes[:limit]
    if not graphs:
        raise SgevalError("references: expected at least one image, got none")
    if images is None:
        raise SgevalError("images: expected a folder, a mapping from image_id, or a list, got nothing")
    if is_list(images):
        images = beside(images, references, "reference")
    encoder = setup.encoder()
    if options.score == "softmax100" and encoder.score_rule != "cosine":
        raise SgevalError(
            f"score: softmax100 expects a model that scores with a cosine, got {shown(encoder.name)} that gives "
            f"{encoder.score_rule} scores"
        )
    template = options.template or encoder.template
    ordered = options.protocol == "openvocsgg"  # there the place in the list decides
    parts = {"metric": KEY, **encoder.signature(), **options.signature(template), "vocab": vocabulary.digest(ordered)}
    line = signature(parts if limit is None else {**parts, "limit": int(limit)})
    with EmbeddingCache(cache) if cache is not None else nullcontext() as embeddings:
        begin = (lambda: open_journal(line)) if open_journal else (lambda: None)
        rows = score_graphs(graphs, images, encoder, vocabulary, template, options, begin=begin, cache=embeddings)
    cut = {graph.key: len(references.cut.get(graph.key, ())) for graph in graphs}
    lost = tuple(replace(row, n_invalid_relations=cut[row.image_id]) for row in rows.images)
    return Scoring(replace(rows, images=lost, n_invalid=references.n_invalid), options, line, vocabulary)


def parse_references(rows: Iterable[Any], options: Options, label: str = "references") -> Parsed:
    """Annotated graphs through the border."""
    parsed = parse_graphs(rows, label, on_invalid=options.on_invalid)
    for words in parsed.warnings:
        warnings.warn(words, stacklevel=4)
    return parsed


_REFERENCES = {
    "scores": "for each list of scores the position of the truth",
    "graphs": "annotated graphs",
}
