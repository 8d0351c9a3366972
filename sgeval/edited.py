"""Whether the results of a run are those that its rows and options give: `results.json` is a text that anyone may edit.

Scores, intervals, counts and the parts of the signature that follow from the options are made again and compared. What is
edited together cannot be seen: signature with options, a table with its digest. Nor can a model's or a language model's name
be, where nothing else in the folder says it: of a run that matters, ask for the predictions and score them.
"""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgeval import __version__, alignment, situation, temporal
from sgeval.alignment.scoring import VOCABULARY
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError, one_line, shown
from sgeval.judges.make import OFFLINE
from sgeval.signature import parts_of, signature
from sgeval.strict_json import read_rows
from sgeval.summary import ENDS
from sgeval.vocabulary import vocabulary_of_rows

if TYPE_CHECKING:
    from sgeval.runs import Run

ONLY_WHERE_ASKED = ("pairs", "maxvalues", "maxperpair")
"""Parts that stand in a signature only where an option is not its default."""
APART = ("signature", "judge")
"""Keys of a result that no row gives."""
SAME = 1e-9
SAME_END = 0.01
"""How far an end of an interval may lie from the one made again, as a share of the interval: last digits of a sum may move a
replicate to the other side of the score."""


def refuse_edited(run: "Run") -> None:
    """Raise `SgevalError`, naming the part or key, for a run whose signature does not fit its options and inputs, or whose
    result its rows do not give. Keys of intervals may be absent, and of a run of another version of sgeval any may be."""
    given = run.result.get("signature")
    if not isinstance(given, str):
        raise SgevalError(f"{_place(run)}: expected a signature in its results, got {shown(given)}")
    parts = parts_of(given)
    if "|".join(f"{name}:{value}" for name, value in parts.items()) != given:
        raise SgevalError(
            f"{_place(run)}: expected a signature of name:value parts, each once, got {shown(given, 200)}"
        )
    _check_parts(run, parts)
    _check_result(run, parts, _made(run, given))


def _place(run: "Run") -> str:
    return one_line(str(run.folder))


def _check_parts(run: "Run", parts: Mapping[str, str]) -> None:
    asked = _asked(run, parts)
    for name in (*asked, *(name for name in ONLY_WHERE_ASKED if name in parts and name not in asked)):
        if parts.get(name) != asked.get(name):
            raise SgevalError(
                f"{_place(run)}: expected the signature that its options and inputs give, {name} "
                f"{shown(asked.get(name, 'absent'))}, got {shown(parts.get(name, 'absent'))}"
            )


def _asked(run: "Run", parts: Mapping[str, str]) -> dict[str, str]:
    """The parts of the signature that the rest of `results.json` says."""
    given: dict[str, object] = {"metric": run.metric}
    if run.metric == temporal.KEY:
        given |= {"judge": run.result.get("judge"), **run.options.signature()}
        if {run.inputs.get("judge"), parts.get("judge")} & {*OFFLINE} and "judge" in run.inputs:
            given["judge"] = run.inputs["judge"]
    elif run.metric == situation.KEY:
        given |= run.options.signature()
    else:
        given |= _of_model(run, parts)
    if "limit" in run.inputs:
        given["limit"] = run.inputs["limit"]
    made = parts_of(signature(given))
    return made | {"version": one_line(str(run.versions.get("sgeval", parts.get("version", ""))))}


def _of_model(run: "Run", parts: Mapping[str, str]) -> dict[str, object]:
    """The parts of a metric that has a model: its name where one of the two is a name of ours, and how it ran; and the digest
    of the vocabulary that lies beside a run of θ."""
    model = parts.get("model", "")
    known = ALIASES.get(model)
    template = run.options.template or (known.template if known else parts.get("template", ""))
    if run.metric == alignment.KEY:
        ordered = run.options.protocol == "openvocsgg"
        rows = read_rows(run.folder / VOCABULARY)
        found = run.options.signature(template) | {"vocab": vocabulary_of_rows(rows, "none").digest(ordered)}
    else:
        found = run.options.signature(template, run.rows.with_references)
    named = run.inputs.get("model")
    if isinstance(named, str) and {named, model} & {*ALIASES}:
        found["model"] = named
    for part, name in (("precision", "precision"), ("prep", "preprocess")):
        if part in parts and name in run.inputs:
            found[part] = run.inputs[name]
    return dict(found)


def _made(run: "Run", line: str) -> dict[str, Any]:
    """The flat result that rows and options give."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were told when the run was scored
            return run.form.result(run.rows, run.options, line)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as fault:
        words = f"{type(fault).__name__}: {fault}"
        raise SgevalError(f"{_place(run)}: expected rows that give a result, got others ({one_line(words)})") from None


def _check_result(run: "Run", parts: Mapping[str, str], made: Mapping[str, Any]) -> None:
    is_of_here = parts.get("version") == __version__
    for key in dict.fromkeys((*made, *run.result)):
        if key in APART:
            continue
        if key not in run.result:
            if is_of_here and not _is_end(key):
                raise SgevalError(f"{_place(run)}: expected {key} in its results, found none")
        elif key not in made or not _same(key, run.result[key], made):
            told = _words(made[key]) if key in made else "none"
            raise SgevalError(
                f"{_place(run)}: expected the {one_line(key)} that its rows give, {told}, got {_words(run.result[key])} "
                "in its results"
            )


def _is_end(key: str) -> bool:
    return any(key.endswith(f"_{end}") for end in ENDS)


def _same(key: str, value: Any, made: Mapping[str, Any]) -> bool:
    """Whether a value of a result is the one made again, but for the last digits."""
    right = made[key]
    numbers = [one for one in (value, right) if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(numbers) < 2:
        return type(value) is type(right) and bool(value == right)
    return math.isclose(*numbers, rel_tol=SAME, abs_tol=max(SAME, SAME_END * _width(key, made)))


def _width(key: str, made: Mapping[str, Any]) -> float:
    """How wide the interval is that a key is an end of; 0 for other keys."""
    end = next((end for end in sorted(ENDS, key=len, reverse=True) if key.endswith(f"_{end}")), None)
    if end is None:
        return 0.0
    name, kind = key.removesuffix(f"_{end}"), end.removesuffix("low").removesuffix("high")
    low, high = (made.get(f"{name}_{kind}{side}") for side in ("low", "high"))
    return 0.0 if low is None or high is None else float(high - low)


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "none" if value is None else shown(value)
