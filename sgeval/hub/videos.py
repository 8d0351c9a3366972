"""Video graphs as a column of a table of `datasets`, and back. A text that is empty and a list without entries stand for
nothing; numbers may be null."""

from collections.abc import Mapping
from typing import Any

import datasets

from sgeval.hub.columns import BOOKS, NO_BOOKS, Form
from sgeval.readers.answers import ANSWER
from sgeval.records import Graph, Object, Relation, VideoGraph

_TEXT, _WHOLE, _NUMBER, _FLAG = (datasets.Value(name) for name in ("string", "int64", "float64", "bool"))
_TEXTS = datasets.List(_TEXT)
_OBJECT = {"id": _WHOLE, "category": _TEXT, "level": _TEXT, "attributes": _TEXTS, "attribute_types": _TEXTS}
_RELATION = {
    "subject_id": _WHOLE,
    "object_id": _WHOLE,
    "predicate": _TEXT,
    "type": _TEXT,
    "score": _NUMBER,
    "spans": datasets.List({"start": _NUMBER, "end": _NUMBER}),
}
# How a model's answer was read (sgeval.readers.answers); `is_answer` is False where the graph is none.
_ANSWER = {
    "is_answer": _FLAG,
    "is_numbered": _FLAG,
    "has_given": _FLAG,
    "given": datasets.List(_WHOLE),
    "repairs": _TEXTS,
    "n_lost": _WHOLE,
}
NO_ANSWER: dict[str, Any] = {
    "is_answer": False,
    "is_numbered": False,
    "has_given": False,
    "given": [],
    "repairs": [],
    "n_lost": 0,
}
GRAPH = {
    "video_id": _TEXT,
    "duration": _NUMBER,
    "fps": _NUMBER,
    "num_frames": _WHOLE,
    "objects": datasets.List(_OBJECT),
    "relations": datasets.List(_RELATION),
    "answer": _ANSWER,
    **BOOKS,
}
FILLER: dict[str, Any] = {
    "video_id": "",
    "duration": None,
    "fps": None,
    "num_frames": None,
    "objects": [],
    "relations": [],
    "answer": NO_ANSWER,
    **NO_BOOKS,
}


def _row(graph: VideoGraph) -> dict[str, Any]:
    told = graph.extra.get(ANSWER)
    return {
        "video_id": graph.video_id,
        "duration": graph.duration,
        "fps": graph.fps,
        "num_frames": graph.num_frames,
        "objects": [
            {
                "id": item.id,
                "category": item.category,
                "level": item.level or "",
                "attributes": list(item.attributes),
                "attribute_types": list(item.attribute_types or ()),
            }
            for item in graph.objects
        ],
        "relations": [
            {
                "subject_id": item.subject_id,
                "object_id": item.object_id,
                "predicate": item.predicate,
                "type": item.type or "",
                "score": item.score,
                "spans": [{"start": start, "end": end} for start, end in item.spans or ()],
            }
            for item in graph.relations
        ],
        "answer": NO_ANSWER if told is None else _answer_row(told),
    }


def _answer_row(told: Mapping[str, Any]) -> dict[str, Any]:
    given = told.get("given")
    return {
        "is_answer": True,
        "is_numbered": bool(told.get("is_numbered")),
        "has_given": given is not None,
        "given": list(given or ()),
        "repairs": list(told.get("repairs", ())),
        "n_lost": int(told.get("n_lost", 0)),
    }


def _graph(row: Mapping[str, Any]) -> Graph:
    told = row["answer"]
    answer: dict[str, Any] = {name: told[name] for name in ("is_numbered", "repairs", "n_lost")}
    if told["has_given"]:
        answer["given"] = told["given"]
    return VideoGraph(
        row["video_id"],
        tuple(
            Object(
                item["id"],
                item["category"],
                attributes=tuple(item["attributes"]),
                attribute_types=tuple(item["attribute_types"]) or None,
                level=item["level"] or None,
            )
            for item in row["objects"]
        ),
        tuple(
            Relation(
                item["subject_id"],
                item["object_id"],
                item["predicate"],
                type=item["type"] or None,
                score=item["score"],
                spans=tuple((span["start"], span["end"]) for span in item["spans"]) or None,
            )
            for item in row["relations"]
        ),
        duration=row["duration"],
        fps=row["fps"],
        num_frames=row["num_frames"],
        extra={ANSWER: answer} if told["is_answer"] else {},
    )


VIDEOS = Form("video_id", FILLER, _row, _graph)
"""Graphs of videos."""
