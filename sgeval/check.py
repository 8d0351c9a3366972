"""`sgeval validate`: every fault of a file at once, before anything is scored."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval.errors import InvalidInput, SgevalError, one_of
from sgeval.formats import read_graphs
from sgeval.images import image_sources
from sgeval.matching import align
from sgeval.phrases import canonical
from sgeval.records import SceneGraph
from sgeval.relclip.resolve import Pair, check_boxes, check_given
from sgeval.relclip.scoring import picture_sizes
from sgeval.schemas import Kind
from sgeval.validation import Parsed, parse_graphs


@dataclass
class Check:
    """What `validate` found."""

    file: Path
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"file": str(self.file), "faults": self.faults, "warnings": self.warnings, "counts": self.counts}


def check_file(
    file: Path,
    *,
    references: Path | None = None,
    images: Path | None = None,
    format: str = "sgeval",
    kind: str = "image",
) -> Check:
    """Check a file against the schema, then (where given) against the references' ids and the pictures."""
    one_of("kind", kind, ("image", "video"))
    which: Kind = "video" if kind == "video" else "image"
    found = Check(file)
    parsed = _parse(file, "predictions", format, which, found)
    gold = _parse(references, "references", "sgeval", which, found) if references else None
    graphs = parsed.graphs
    found.counts = {
        f"{kind}s": len(graphs),
        "objects": sum(len(graph.objects) for graph in graphs),
        "relations": sum(len(graph.relations) for graph in graphs),
        "predicates": len(Counter(canonical(item.predicate) for graph in graphs for item in graph.relations)),
    }
    if kind == "image" and (gold or images):
        _check_together(parsed.scenes, gold.scenes if gold else None, images, found)
    return found


def _parse(file: Path, label: str, format: str, kind: Kind, found: Check) -> Parsed:
    broken: list[str] = []
    rows = read_graphs(file, format, kind=kind, faults=broken)
    parsed = parse_graphs(rows, label, kind=kind, on_invalid="skip")
    found.faults += broken + parsed.faults
    found.warnings += parsed.warnings
    return parsed


def _check_together(graphs: list[SceneGraph], gold: list[SceneGraph] | None, images: Path | None, found: Check) -> None:
    pairs: list[Pair] = [(graph, None) for graph in graphs]
    if gold is not None:
        try:
            align(graphs, gold)
        except InvalidInput as fault:
            found.faults += fault.faults
        by_id = {graph.key: graph for graph in gold}
        pairs = [(graph, by_id.get(graph.key)) for graph in graphs]
        _collect(found, check_given, pairs)
    if images is None:
        return
    sizes, faults = picture_sizes(pairs, image_sources(images, pairs))
    found.faults += faults.values()
    _collect(found, check_boxes, pairs, sizes)


def _collect(found: Check, check: Any, *arguments: Any) -> None:
    try:
        check(*arguments)
    except InvalidInput as fault:
        found.faults += fault.faults
    except SgevalError as fault:
        found.warnings.append(str(fault))
