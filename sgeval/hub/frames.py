"""Rows of frames, and of questions, as columns of a table of `datasets`, and back: what the module of role values stores
between its calls. A text that is empty stands for nothing: none that passes the border is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import datasets

from sgeval.errors import InvalidInput
from sgeval.situation.border import Key, Row, Side, refuse_doubles
from sgeval.situation.choices import Asked, Question
from sgeval.validation import OnInvalid

_TEXT = datasets.Value("string")
# Bookkeeping: False fills up the shorter of two columns, or stands for a row that was left out at the border; faulty
# parts left out; whether faults were skipped.
_BOOKS = {"given": datasets.Value("bool"), "n_invalid": datasets.Value("int64"), "skips": datasets.Value("bool")}
_NO_BOOKS: dict[str, Any] = {"given": False, "n_invalid": 0, "skips": False}

FRAME = {
    **{name: _TEXT for name in ("frame_id", "kind", "subject_id", "object_id", "verb")},
    "roles": datasets.List({"role": _TEXT, "values": datasets.List(_TEXT)}),
    **_BOOKS,
}
QUESTION = {
    **{name: _TEXT for name in ("question_id", "task", "unit")},
    "options": datasets.List(_TEXT),
    "answer": datasets.Value("int64"),
    **_BOOKS,
}
ANSWER = {"question_id": _TEXT, "form": _TEXT, "answer": _TEXT, **_BOOKS}
NO_FRAME: dict[str, Any] = dict.fromkeys(("frame_id", "kind", "subject_id", "object_id", "verb"), "") | {
    "roles": [],
    **_NO_BOOKS,
}
NO_QUESTION: dict[str, Any] = {"question_id": "", "task": "", "unit": "", "options": [], "answer": 0, **_NO_BOOKS}
NO_ANSWER: dict[str, Any] = {"question_id": "", "form": "", "answer": "", **_NO_BOOKS}

Rows = list[dict[str, Any]]


def level(first: Rows, second: Rows, fillers: tuple[dict[str, Any], dict[str, Any]], skips: bool) -> tuple[Rows, Rows]:
    """Two columns of one length, each row with what was said of faults."""
    longest = max(len(first), len(second))
    columns = ((first, fillers[0]), (second, fillers[1]))
    one, other = ([row | {"skips": skips} for row in rows + [gap] * (longest - len(rows))] for rows, gap in columns)
    return one, other


def frames_to_rows(side: Side) -> Rows:
    """Checked frames as rows of the table. Rows that were left out at the border keep their key."""
    rows = [_frame(row) for row in side.rows]
    rows += [NO_FRAME | _key_columns(key) for key in sorted(side.dropped, key=str)]
    return _with_invalid(rows, NO_FRAME, side.n_invalid)


def frames_from_rows(rows: Sequence[Mapping[str, Any]], label: str, on_invalid: OnInvalid) -> Side:
    """What `frames_to_rows` stored. A person or object in two batches is a fault, as it is in one."""
    side = Side(n_invalid=sum(row["n_invalid"] for row in rows))
    for row in rows:
        key: Key = (row["frame_id"], row["kind"], row["subject_id"] or None, row["object_id"] or None)
        if row["given"]:
            values = {role["role"]: tuple(role["values"]) for role in row["roles"]}
            side.rows.append(Row(key, row["verb"] or None, values, len(side.rows)))
        elif row["frame_id"]:
            side.dropped.add(key)
    refuse_doubles(side, label)
    if side.faults and on_invalid == "error":
        raise InvalidInput(label, side.faults)
    return side


def _frame(row: Row) -> dict[str, Any]:
    roles = [{"role": role, "values": list(values)} for role, values in row.roles.items()]
    return NO_FRAME | _key_columns(row.key) | {"verb": row.verb or "", "roles": roles, "given": True}


def _key_columns(key: Key) -> dict[str, str]:
    names = ("frame_id", "kind", "subject_id", "object_id")
    return {name: value or "" for name, value in zip(names, key, strict=True)}


def questions_to_rows(asked: Asked) -> Rows:
    """Checked questions as rows of the table."""
    rows = [
        {
            "question_id": name,
            "task": question.task or "",
            "unit": question.unit,
            "options": list(question.options),
            "answer": question.answer,
            **_NO_BOOKS,
            "given": True,
        }
        for name, question in asked.rows.items()
    ]
    rows += [NO_QUESTION | {"question_id": name} for name in sorted(asked.dropped)]
    return _with_invalid(rows, NO_QUESTION, asked.n_invalid)


def questions_from_rows(rows: Sequence[Mapping[str, Any]], on_invalid: OnInvalid) -> Asked:
    """What `questions_to_rows` stored."""
    return _asked(
        rows,
        "references",
        lambda row: Question(
            row["question_id"], row["task"] or None, tuple(row["options"]), row["answer"], row["unit"]
        ),
        on_invalid,
    )


def answers_to_rows(asked: Asked) -> Rows:
    """Checked answers as rows of the table: an answer is kept as a text, with what it was."""
    rows = [
        {"question_id": name, "form": type(answer).__name__, "answer": str(answer), **_NO_BOOKS, "given": True}
        for name, answer in asked.rows.items()
    ]
    rows += [NO_ANSWER | {"question_id": name} for name in sorted(asked.dropped)]
    return _with_invalid(rows, NO_ANSWER, asked.n_invalid)


def answers_from_rows(rows: Sequence[Mapping[str, Any]], on_invalid: OnInvalid) -> Asked:
    """What `answers_to_rows` stored."""
    read: Mapping[str, Callable[[str], Any]] = {"str": str, "int": int, "NoneType": lambda _: None}
    return _asked(rows, "predictions", lambda row: read[row["form"]](row["answer"]), on_invalid)


def _asked(rows: Sequence[Mapping[str, Any]], label: str, read: Any, on_invalid: OnInvalid) -> Asked:
    out = Asked(n_invalid=sum(row["n_invalid"] for row in rows))
    doubles = []
    for row in rows:
        name = row["question_id"]
        if not row["given"]:
            out.dropped |= {name} - {""}
        elif name in out.rows:
            doubles.append(f"{label}: expected each question once, got {name!r} again")
            out.n_invalid += 1
        else:
            out.rows[name] = read(row)
    if doubles and on_invalid == "error":
        raise InvalidInput(label, doubles)
    return out


def _with_invalid(rows: Rows, filler: dict[str, Any], n_invalid: int) -> Rows:
    """The rows with the number of faulty parts; any row may carry it."""
    if n_invalid and not rows:
        rows = [dict(filler)]
    return [rows[0] | {"n_invalid": n_invalid}, *rows[1:]] if n_invalid else rows
