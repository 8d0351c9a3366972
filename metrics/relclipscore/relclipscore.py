"""RelCLIPScore as an `evaluate` module: schema, docs and adapter. The metric itself is `sgeval.relclip`."""

from typing import Any

import datasets
import evaluate

import sgeval.building
import sgeval.errors
import sgeval.matching
import sgeval.pictures
import sgeval.records
import sgeval.relclip
import sgeval.relclip.scoring
import sgeval.validation

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
    matching, penalty, context, fit, template, normalisation, empty, missing, ref_formula, on_invalid, on_bad_image,
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

_OBJECT = {
    "id": datasets.Value("int64"),
    "category": datasets.Value("string"),
    "bbox": datasets.List(datasets.Value("float64")),
}
_RELATION = {
    "subject_id": datasets.Value("int64"),
    "object_id": datasets.Value("int64"),
    "predicate": datasets.Value("string"),
    "score": datasets.Value("float64"),
}
_GRAPH = {
    "image_id": datasets.Value("string"),
    "file_name": datasets.Value("string"),
    "width": datasets.Value("int64"),
    "height": datasets.Value("int64"),
    "objects": datasets.List(_OBJECT),
    "relations": datasets.List(_RELATION),
    # Bookkeeping of the adapter: False fills up the shorter of the two columns; faulty parts left out at the border, and
    # the positions of the relations among them; whether references came with the row, and whether faults were skipped.
    "given": datasets.Value("bool"),
    "n_invalid": datasets.Value("int64"),
    "cut": datasets.List(datasets.Value("int64")),
    "with_references": datasets.Value("bool"),
    "skips": datasets.Value("bool"),
}
_FILLER: dict[str, Any] = {
    "image_id": "",
    "file_name": "",
    "width": 0,
    "height": 0,
    "objects": [],
    "relations": [],
    "given": False,
    "n_invalid": 0,
    "cut": [],
    "with_references": False,
    "skips": False,
}


_KNOWN = ("image_id", "width", "height", "objects", "relations")


class RelCLIPScore(evaluate.Metric):  # type: ignore[misc]
    """The `evaluate` face of `sgeval.relclipscore`; the same numbers, exactly."""

    def __init__(self, config_name: str | None = None, **kwargs: Any) -> None:
        """Check what the host accepts in silence: the config's name and the keywords of `load`."""
        known = set(evaluate.Metric.__init__.__annotations__)
        for name in kwargs:
            if name not in known:
                raise sgeval.errors.SgevalError(
                    f"load: expected one of {', '.join(sorted(known - {'config_name'}))}, got {name!r}; "
                    "options of the metric go to compute()"
                )
        config_name = "clip" if config_name in (None, "default") else config_name
        sgeval.errors.one_of("config", config_name, sgeval.relclip.CONFIGS)
        if kwargs.get("num_process", 1) == 1:
            kwargs.setdefault("keep_in_memory", True)
        super().__init__(config_name, **kwargs)

    def _info(self) -> Any:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": _GRAPH, "references": _GRAPH}),
            homepage="https://arxiv.org/abs/2509.01209",
        )

    def add(self, *, prediction: Any = None, reference: Any = None, on_invalid: str = "error") -> None:
        """Add one scene graph, and its reference if there is one. Faults are raised here, with their place."""
        self.add_batch(
            predictions=[] if prediction is None else [prediction],
            references=None if reference is None else [reference],
            on_invalid=on_invalid,
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, on_invalid: str = "error") -> None:
        """Add scene graphs, and references if there are any; the two are aligned by image_id, not by position.

        An empty list of references is not the same as none. One batch with on_invalid="skip" makes the whole
        computation one with "skip", and the signature says so.
        """
        options = sgeval.relclip.make_options({"on_invalid": on_invalid})
        mine, gold = sgeval.relclip.scoring.parse_both(predictions or [], references, options)
        columns = {"predictions": _rows(mine), "references": _rows(gold) if gold else []}
        longest = max(map(len, columns.values()))
        common = {"with_references": references is not None, "skips": options.on_invalid == "skip"}
        for name, rows in columns.items():
            columns[name] = [row | common for row in rows + [_FILLER] * (longest - len(rows))]
        if longest:
            super().add_batch(**columns)

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Compute over what was added and what is given here. Options are keywords; an unknown one is an error."""
        _check_options(options)
        if self.num_process > 1 and sgeval.pictures.is_list(options.get("images")):
            raise sgeval.errors.SgevalError(
                "images: expected a folder or a mapping from image_id with several processes, got a list: it stands beside "
                "the rows of one process only"
            )
        if predictions is not None or references is not None:
            self.add_batch(
                predictions=predictions, references=references, on_invalid=options.get("on_invalid", "error")
            )
        if self.writer is None and self.num_process == 1:  # type: ignore[has-type]
            raise sgeval.errors.SgevalError(sgeval.matching.NOTHING)
        try:
            result: dict[str, Any] | None = super().compute(**options)
            return result
        finally:
            if self.keep_in_memory:  # after an error the host would keep the rows for the next call
                self.writer = self.buf_writer = self.data = None

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
        scoring = sgeval.relclip.scoring.score_parsed(
            _parsed(predictions, chosen),
            _parsed(references, chosen) if any(row["with_references"] for row in predictions) else None,
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


def _rows(parsed: sgeval.validation.Parsed) -> list[dict[str, Any]]:
    """Checked graphs cut to the schema. A row that was left out keeps its place, so that a list of images fits."""
    rows = [{**_FILLER, "image_id": parsed.dropped.get(index, ""), "n_invalid": 1} for index in range(parsed.n_rows)]
    for graph, position in zip(parsed.graphs, parsed.positions, strict=True):
        rows[position] = _row(sgeval.records.to_dict(graph)) | {"cut": list(parsed.cut.get(graph.key, ()))}
    if rows:  # faulty parts of rows that were kept: any row may carry their number
        rows[0]["n_invalid"] += parsed.n_invalid - (parsed.n_rows - len(parsed.graphs))
    return rows


def _parsed(rows: list[dict[str, Any]], options: sgeval.relclip.Options) -> sgeval.validation.Parsed:
    """What `_rows` stored, without the rows that only fill up the shorter column. Of an image in several batches the
    first stays under on_invalid="skip", as within one batch; else it is left to be refused."""
    out = sgeval.validation.Parsed()
    kept: set[str] = set()
    builder = sgeval.building.Builder("image")
    for row in rows:
        if not row["given"] and not row["n_invalid"]:
            continue
        again = row["given"] and options.on_invalid == "skip" and row["image_id"] in kept
        if row["given"] and not again:
            plain = {name: row[name] for name in _KNOWN} | {"file_name": row["file_name"] or None}
            out.graphs.append(builder.graph(plain))
            out.positions.append(out.n_rows)
            kept.add(row["image_id"])
            if row["cut"]:
                out.cut[row["image_id"]] = tuple(row["cut"])
        elif row["image_id"]:
            out.dropped[out.n_rows] = row["image_id"]
        out.n_rows += 1
        out.n_invalid += row["n_invalid"] + again
    return out


def _row(graph: dict[str, Any]) -> dict[str, Any]:
    return _FILLER | {
        "image_id": graph["image_id"],
        "file_name": graph.get("file_name", ""),  # the host refuses a first row whose text is null
        "width": graph.get("width"),
        "height": graph.get("height"),
        "objects": [{name: item.get(name) for name in _OBJECT} for item in graph["objects"]],
        "relations": [{name: item.get(name) for name in _RELATION} for item in graph["relations"]],
        "given": True,
    }


_OWN = ("images", "model", "device", "precision", "preprocess", "cache", "limit", "return_items")


def _check_options(options: dict[str, Any]) -> None:
    known = (*_OWN, *sgeval.relclip.Options.__dataclass_fields__)
    for name in options:
        sgeval.errors.one_of("option", name, known)
