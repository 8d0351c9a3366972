"""θ as an `evaluate` module: schema, docs and adapter. The metric itself is `sgeval.alignment`."""

from typing import Any

import datasets
import evaluate

import sgeval.alignment
import sgeval.alignment.lists
import sgeval.alignment.scoring
import sgeval.errors
import sgeval.hub.columns
import sgeval.hub.module

_DESCRIPTION = """
θ tells how far a scoring model can be trusted: does it prefer the annotated predicate of a relation to the other
predicates of the same ordered pair of classes? 1 - rank/|L| of the annotated one, mean over relations. Fractions, higher
is better; compare with chance_theta, which is above one half.
"""

_INPUTS = """
Args (config "scores", the default; no model needed):
    predictions: lists of candidate scores, one list a relation.
    references: for each list the position of the truth, from 0.
Args (config "graphs"):
    references: annotated scene graphs, one a picture: {"image_id", "objects": [{"id", "category", "bbox": [x, y, w, h]}],
        "relations": [{"subject_id", "object_id", "predicate"}], "file_name", "width", "height"}.
    predictions: not read; evaluate.combine may hand them on.
    images: a folder, a mapping from image_id, or a list beside the references (paths, PIL images, uint8 arrays).
    model: a model name or an encoder object; clip-l14 when left out.
    vocabulary: the candidates, where they are not those of the references: rows {"subject", "predicate", "object"}, a
        JSON Lines file of them, or a mapping of (subject, object) to predicates.
    vocabulary_graphs: annotated graphs of further splits, whose predicates are candidates too.
    cooccurring, confusers, symmetric, context, fit, template, normalisation, on_bad_image, batch_size: see
        sgeval.alignment.Options and the card.
    device, precision, preprocess, cache, limit: as in relclipscore.
Args (both):
    score: "cosine" or "softmax100", what mean_score is the mean of.
    protocol: "paper", or "openvocsgg" for what the authors' script computes.
    singletons, on_invalid, bootstrap, seed, return_items: see the card.
Returns:
    theta, precision, chance_theta, chance_precision, mean_score, mean_candidates, n_... counts, signature; for graphs also
        direction_accuracy, above_no_predicate, gap_no_predicate, above_random_predicate, gap_random_predicate.
Examples:
    >>> import evaluate, sgeval
    >>> metric = evaluate.load(sgeval.path("theta"))
    >>> result = metric.compute(predictions=[[0.20, 0.10, 0.05, 0.90]], references=[0])
    >>> result["theta"], result["chance_theta"]
    (0.75, 0.625)
"""

_CITATION = """
@inproceedings{neau2025measuring,
  title     = {Measuring Image-Relation Alignment: Reference-Free Evaluation of {VLMs} and Synthetic Pre-training for
               Open-Vocabulary Scene Graph Generation},
  author    = {Neau, Ma{\\"e}lic and Falomir, Zoe and Buche, C{\\'e}dric and Sugimoto, Akihiro},
  booktitle = {ICCV Workshops (SG2RL)},
  year      = {2025},
  note      = {arXiv:2509.01209}
}
"""

_LEFT_OUT = -1
"""The truth that stands for a list of scores left out at the border."""


class Theta(sgeval.hub.module.Module):
    """The `evaluate` face of `sgeval.theta`; the same numbers, exactly."""

    metric = "theta"
    configs = sgeval.alignment.CONFIGS
    nothing = "references: expected at least one, got none"

    def _info(self) -> Any:
        lists = {"predictions": datasets.List(datasets.Value("float64")), "references": datasets.Value("int64")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                lists if self.config_name == "scores" else {"references": sgeval.hub.columns.GRAPH}
            ),
            homepage="https://arxiv.org/abs/2509.01209",
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, on_invalid: str = "error") -> None:
        """Add lists of scores with their truths, or annotated graphs. Faults are raised here, with their place."""
        options = sgeval.alignment.make_options({"on_invalid": on_invalid})
        if references is None:
            raise sgeval.errors.SgevalError("references: expected one a row, got nothing")
        if self.config_name == "scores":
            found = sgeval.alignment.lists.check_lists(predictions, references, options)
            size = len(found.index) + found.n_invalid
            lists: list[list[float]] = [[] for _ in range(size)]
            truths = [_LEFT_OUT] * size
            ends = found.lengths.cumsum().tolist()
            for index, end, length, truth in zip(found.index, ends, found.lengths, found.truths, strict=True):
                lists[index], truths[index] = found.scores[end - length : end].tolist(), int(truth)
            if lists:
                super().add_batch(predictions=lists, references=truths)
            return
        parsed = sgeval.alignment.scoring.parse_references(references, options)
        common = {"with_references": True, "skips": options.on_invalid == "skip"}
        rows = [row | common for row in sgeval.hub.columns.to_rows(parsed)]
        if rows:
            super().add_batch(references=rows)

    def _compute(
        self,
        references: list[Any],
        predictions: list[list[float]] | None = None,
        images: Any = None,
        model: Any = None,
        vocabulary: Any = None,
        vocabulary_graphs: Any = None,
        device: str = "auto",
        precision: str = "fp32",
        preprocess: str = "pil",
        cache: Any = None,
        limit: int | None = None,
        return_items: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        if predictions is not None:
            given = {"images": images, "model": model, "vocabulary": vocabulary, "vocabulary_graphs": vocabulary_graphs}
            how = {"device": device, "precision": precision, "preprocess": preprocess}
            sgeval.alignment.scoring.check_for_lists(given | {"cache": cache, "limit": limit}, how)
            return self._of_lists(predictions, references, options, return_items)
        if any(row["skips"] for row in references):
            options["on_invalid"] = "skip"
        chosen = sgeval.alignment.make_options(options)
        gold = sgeval.hub.columns.from_rows(references, chosen.on_invalid)
        scoring = sgeval.alignment.scoring.score_parsed(
            gold,
            images,
            sgeval.alignment.make_setup(model, device=device, precision=precision, preprocess=preprocess),
            sgeval.alignment.scoring.choose_vocabulary(gold, vocabulary, vocabulary_graphs, chosen),
            limit=limit,
            options=chosen,
            cache=cache,
        )
        return scoring.result(return_items)

    def _of_lists(
        self, predictions: list[list[float]], references: list[int], options: dict[str, Any], return_items: bool
    ) -> dict[str, Any]:
        if _LEFT_OUT in references:
            options["on_invalid"] = "skip"
        chosen = sgeval.alignment.make_options(options)
        chosen.check_for_lists()
        # The lists that were left out are faulty still: they fail again here, and are counted.
        return sgeval.alignment.lists.theta_of_lists(predictions, references, chosen, return_items)
