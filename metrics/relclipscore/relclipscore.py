"""RelCLIPScore as an `evaluate` module: schema, docs and adapter. The metric itself is `sgeval.relclip`."""

from typing import Any

import datasets
import evaluate

import sgeval.errors
import sgeval.hub.columns
import sgeval.hub.module
import sgeval.matching
import sgeval.relclip
import sgeval.relclip.scoring

_DESCRIPTION = """
RelCLIPScore scores predicted relations of a scene graph against the picture, without a reference: does the union crop
of subject and object look like "subject predicate object"? Fractions in 0-1, higher is better.
"""

_INPUTS = """
Args:
    predictions: list of scene graphs, one a picture: {"image_id", "objects": [{"id", "category", "bbox": [x, y, w, h]}],
        "relations": [{"subject_id", "object_id", "predicate", "score"}], "file_name", "width", "height"}; all but
        image_id may be left out.
    references: the same, annotated; optional, aligned by image_id. With them the objects are the references'.
    images: a folder, a mapping from image_id, or a list beside the predictions (paths, PIL images, uint8 arrays).
    model: a model name or an encoder object; the config's model when left out.
    matching, pairs, penalty, context, fit, template, normalisation, empty, missing, ref_formula, on_invalid, on_bad_image,
        batch_size, bootstrap, seed: see sgeval.relclip.Options and the card.
    device, precision, preprocess: "auto", "cpu", "cuda", ...; "fp32" or "bf16"; "pil" or "tensor".
    cache: a folder that keeps embeddings for later runs.
    limit: score the first N references (predictions, where there are none).
    return_items: add one row a relation and one a picture.
Returns:
    relclipscore (relsiglipscore, relblipscore): headline, eq. 3 of the paper, guarded.
    mean_score, mean_score_relations, pair_coverage, n_... counts, signature; with references ref_relclipscore,
        exact_match, exact_match_normalised.
Examples:
    >>> import evaluate, numpy, sgeval
    >>> metric = evaluate.load(sgeval.path("relclipscore"))
    >>> graph = {"image_id": "a", "objects": [{"id": 0, "category": "dog", "bbox": [5, 10, 30, 30]},
    ...          {"id": 1, "category": "ball", "bbox": [60, 20, 20, 20]}],
    ...          "relations": [{"subject_id": 0, "object_id": 1, "predicate": "left of"}]}
    >>> grey = numpy.full((64, 96, 3), 128, dtype=numpy.uint8)
    >>> result = metric.compute(predictions=[graph], images={"a": grey}, model="demo")
    >>> result["n_relations"]
    1
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


class RelCLIPScore(sgeval.hub.module.Module):
    """The `evaluate` face of `sgeval.relclipscore`; the same numbers, exactly."""

    metric = "relclipscore"
    configs = tuple(sgeval.relclip.CONFIGS)
    nothing = sgeval.matching.NOTHING

    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": sgeval.hub.columns.GRAPH, "references": sgeval.hub.columns.GRAPH}
            ),
            homepage="https://arxiv.org/abs/2509.01209",
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, on_invalid: str = "error") -> None:
        """Add scene graphs, and references if there are any; the two are aligned by image_id, not by position.

        An empty list of references is not the same as none. One batch with on_invalid="skip" makes the whole
        computation one with "skip", and the signature says so.
        """
        options = sgeval.relclip.make_options({"on_invalid": on_invalid})
        mine, gold = sgeval.relclip.scoring.parse_both(predictions or [], references, options)
        to_rows, filler = sgeval.hub.columns.to_rows, sgeval.hub.columns.FILLER
        columns = {"predictions": to_rows(mine), "references": to_rows(gold) if gold else []}
        longest = max(map(len, columns.values()))
        common = {"with_references": references is not None, "skips": options.on_invalid == "skip"}
        for name, rows in columns.items():
            columns[name] = [row | common for row in rows + [filler] * (longest - len(rows))]
        if longest:
            super().add_batch(**columns)

    def _compute(
        self,
        predictions: list[dict[str, Any]],
        references: list[dict[str, Any]],
        images: Any = None,
        model: Any = None,
        device: str = "auto",
        precision: str = "fp32",
        preprocess: str = "pil",
        cache: Any = None,
        limit: int | None = None,
        return_items: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        if images is None:
            raise sgeval.errors.SgevalError(
                "images: expected a folder, a mapping from image_id, or a list, got nothing"
            )
        if any(row["skips"] for row in predictions):
            options["on_invalid"] = "skip"
        chosen = sgeval.relclip.make_options(options)
        from_rows = sgeval.hub.columns.from_rows
        scoring = sgeval.relclip.scoring.score_parsed(
            from_rows(predictions, chosen.on_invalid),
            from_rows(references, chosen.on_invalid) if any(row["with_references"] for row in predictions) else None,
            images,
            sgeval.relclip.make_setup(
                model, self.config_name, device=device, precision=precision, preprocess=preprocess
            ),
            self.config_name,
            limit=limit,
            options=chosen,
            cache=cache,
        )
        return scoring.result(return_items)
