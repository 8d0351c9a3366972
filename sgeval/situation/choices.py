"""Multiple choice about situational graphs (paper 3's question tasks): the accuracy of the option that was chosen."""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, TypeGuard

import numpy as np

from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.options import check_limit
from sgeval.roles import Counts, percent
from sgeval.signature import signature
from sgeval.situation.border import as_list, as_text, is_whole
from sgeval.situation.options import KEY, Options
from sgeval.summary import intervals, mean

Verdict = Literal["right", "wrong", "refused", "out_of_range", "no_option", "missing"]
VERDICTS: Mapping[Verdict, str] = {
    "refused": "n_refused",
    "out_of_range": "n_out_of_range",
    "no_option": "n_no_option",
    "missing": "n_missing",
}
"""What is wrong for another reason than the choice, and its count."""
LEFT_OUT = ("n_unknown_questions", "n_invalid")
"""Counts of answers to questions that nobody asked, and of faulty rows: neither is in a score."""
REFERENCE_KEYS = ("question_id", "task", "options", "answer", "frame_id")
PREDICTION_KEYS = ("question_id", "answer")
ANSWER = "one of the options, or its position from 0"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its options and the position of the right one."""

    question_id: str
    task: str | None
    options: tuple[str, ...]
    answer: int
    unit: str
    """The picture it is about, where that is said; else itself."""


@dataclass(frozen=True)
class ChoiceState:
    """What was counted: an associative and commutative sum."""

    tasks: Mapping[str | None, Counts] = field(default_factory=dict)
    """By task: questions, right ones."""
    counts: Mapping[str, int] = field(default_factory=dict)
    chances: Mapping[int, int] = field(default_factory=dict)
    """By number of options: questions."""

    def merge(self, other: "ChoiceState") -> "ChoiceState":
        """The state of both parts together."""
        tasks = {
            task: tuple(map(sum, zip(self.tasks.get(task, (0, 0)), other.tasks.get(task, (0, 0)), strict=True)))
            for task in {**self.tasks, **other.tasks}
        }
        counts, chances = Counter(self.counts) + Counter(other.counts), Counter(self.chances) + Counter(other.chances)
        return ChoiceState(tasks, counts, chances)


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with what was answered."""

    question: Question
    answer: Any
    chosen: int | None
    verdict: Verdict

    def item(self) -> dict[str, Any]:
        """As plain values."""
        asked = self.question
        return {
            "question_id": asked.question_id,
            "task": asked.task,
            "answer": asked.options[asked.answer],
            "predicted": self.answer,
            "chosen": None if self.chosen is None else asked.options[self.chosen],
            "verdict": self.verdict,
            "right": self.verdict == "right",
        }


@dataclass
class Asked:
    """The rows of one side, checked: what each holds by the id of its question."""

    rows: dict[str, Any] = field(default_factory=dict)
    n_invalid: int = 0
    dropped: set[str] = field(default_factory=set)


def choices(
    predictions: Iterable[Any],
    references: Iterable[Any],
    options: Options,
    *,
    limit: int | None = None,
    return_items: bool = False,
) -> dict[str, Any]:
    """The result of multiple choice; parameters as in `ssg_role_values`.

    `accuracy` is the share of questions whose option was chosen, in percent; also by task, as `accuracy/TASK`, and as
    the mean over tasks, `task_accuracy`. Refusals (null, blank), positions that no option has, and texts that are no
    option are wrong and counted. `chance_accuracy` is what guessing gets, the mean of 1 / number of options.
    """
    gold, said = parse_questions(references, options), parse_answers(predictions, options)
    return result_of(said, gold, options, limit, return_items)


def parse_questions(given: Iterable[Any], options: Options) -> Asked:
    """The sound questions. Raises `InvalidInput` with every fault, unless faulty ones are to be left out."""
    return _parsed(given, "references", REFERENCE_KEYS, _question, options)


def parse_answers(given: Iterable[Any], options: Options) -> Asked:
    """The sound answers, whatever they say; as `parse_questions`."""
    return _parsed(given, "predictions", PREDICTION_KEYS, _answer, options)


def _parsed(given: Any, label: str, keys: Sequence[str], read: Any, options: Options) -> Asked:
    if hasattr(given, "to_pylist"):
        given = given.to_pylist()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise SgevalError(f"{label}: expected a list of rows {{{', '.join(keys)}}}, got {shown(given)}")
    out, every, unknown = Asked(), [], Counter[str]()
    for index, row in enumerate(given):
        place, faults = f"{label}[{index}]", []
        if not isinstance(row, Mapping):
            every.append(f"{place}: expected a row {{{', '.join(keys)}}}, got {shown(row)}")
            out.n_invalid += 1
            continue
        unknown.update(str(key) for key in row if key not in keys)
        name = as_text(row.get("question_id"))
        if name is None:
            faults.append(
                f"{place}.question_id: expected an id (a text or a whole number), got {_got(row, 'question_id')}"
            )
        elif name in out.rows:
            faults.append(f"{place}.question_id: expected each question once, got {shown(name)} again")
        found = read(row, place, name, faults)
        if faults or name is None:
            out.n_invalid += 1
            if name is not None and name not in out.rows:
                out.dropped.add(name)
        else:
            out.rows[name] = found
        every += faults
    for key, count in unknown.items():
        warnings.warn(f"{label}[…].{shown(key)}: unknown key, not looked at ({count} times)", stacklevel=5)
    if every and options.on_invalid == "error":
        raise InvalidInput(label, every, "on_invalid")
    return out


def _question(row: Mapping[str, Any], place: str, name: str | None, faults: list[str]) -> Question | None:
    task, unit, listed = as_text(row.get("task")), as_text(row.get("frame_id")), as_list(row.get("options"))
    for key, found in (("task", task), ("frame_id", unit)):
        if found is None and row.get(key) is not None:
            faults.append(f"{place}.{key}: expected a text, or null, got {shown(row[key])}")
    if not isinstance(listed, (list, tuple)) or len(listed) < 2 or not all(map(_is_words, listed)):
        faults.append(f"{place}.options: expected a list of two texts or more, got {_got(row, 'options')}")
        return None
    texts = tuple(one.strip() for one in listed)
    if len({*texts}) < len(texts):
        faults.append(f"{place}.options: expected each option once, got {shown(list(texts))}")
        return None
    chosen, _ = choose_option(row.get("answer"), texts)
    if chosen is None:
        faults.append(f"{place}.answer: expected {ANSWER}, got {_got(row, 'answer')}")
        return None
    return Question(name or "", task, texts, chosen, unit if unit is not None else f"question {name}")


def _answer(row: Mapping[str, Any], place: str, name: str | None, faults: list[str]) -> Any:
    answer = row.get("answer")
    is_sound = is_whole(answer) if isinstance(answer, str) else answer is None or _is_position(answer)
    if "answer" not in row or not is_sound:
        faults.append(f"{place}.answer: expected {ANSWER}, or null for a refusal, got {_got(row, 'answer')}")
    return int(answer) if is_sound and _is_position(answer) else answer


def _is_words(value: object) -> bool:
    return isinstance(value, str) and as_text(value) is not None


def _is_position(value: object) -> TypeGuard[Integral]:
    return isinstance(value, Integral) and as_text(value) is not None


def choose_option(answer: Any, options: Sequence[str]) -> tuple[int | None, Verdict]:
    """Which option an answer chooses, if any, and why none. A number is a position, a text is an option, blanks around it
    aside; nothing else is read into it.

    >>> choose_option(1, ["pen", "desk"]), choose_option("desk ", ["pen", "desk"]), choose_option(2, ["pen", "desk"])
    ((1, 'wrong'), (1, 'wrong'), (None, 'out_of_range'))
    """
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return None, "refused"
    if isinstance(answer, str):
        text = answer.strip()
        return (options.index(text), "wrong") if text in options else (None, "no_option")
    if not _is_position(answer) or not 0 <= int(answer) < len(options):
        return None, "out_of_range"
    return int(answer), "wrong"


def choose(predictions: Asked, references: Asked, options: Options, limit: int | None = None) -> list[Choice]:
    """Each question with its answer, in the order of the references. Raises `InvalidInput` for answers to unknown
    questions, unless `on_invalid="skip"`, and for questions without an answer under `missing="error"`."""
    check_limit(limit)
    if not references.rows:
        raise SgevalError("references: expected at least one question, got none")
    faults = []
    if options.on_invalid == "error":
        strange = unknown_questions(predictions, references)
        faults += [f"predictions: expected a question of the references, got {shown(name)}" for name in strange]
    found = []
    for name, question in list(references.rows.items())[:limit]:
        if name not in predictions.rows:
            if options.missing == "error" and name not in predictions.dropped:
                faults.append(f"predictions: expected an answer to the question {shown(name)}, got none")
            found.append(Choice(question, None, None, "missing"))
            continue
        answer = predictions.rows[name]
        chosen, verdict = choose_option(answer, question.options)
        found.append(Choice(question, answer, chosen, "right" if chosen == question.answer else verdict))
    if faults:
        raise InvalidInput("predictions", faults)
    return found


def unknown_questions(predictions: Asked, references: Asked) -> list[str]:
    """What is answered but not asked. A question that was left out at the border was asked."""
    return [name for name in predictions.rows if name not in references.rows and name not in references.dropped]


def state_of(found: Iterable[Choice], left_out: Mapping[str, int] | None = None) -> ChoiceState:
    """The questions, counted. `left_out`: what the caller has counted beside, by its name in the result."""
    tasks: dict[str | None, tuple[int, int]] = {}
    counts: Counter[str] = Counter({name: n for name, n in (left_out or {}).items() if n})
    chances: Counter[int] = Counter()
    for choice in found:
        n, right = tasks.get(choice.question.task, (0, 0))
        tasks[choice.question.task] = (n + 1, right + (choice.verdict == "right"))
        counts[VERDICTS.get(choice.verdict, "")] += 1
        chances[len(choice.question.options)] += 1
    counts.pop("", None)
    return ChoiceState(tasks, counts, chances)


def summarise_choices(counted: ChoiceState) -> dict[str, Any]:
    """Accuracies in percent, and counts."""
    n, right = (sum(row[at] for row in counted.tasks.values()) for at in (0, 1))
    named = sorted((task, percent(row[1], row[0])) for task, row in counted.tasks.items() if task is not None)
    chance = math.fsum(many / size for size, many in sorted(counted.chances.items()))
    return {
        "accuracy": percent(right, n),
        "task_accuracy": mean([value for _, value in named if value is not None]),
        **{f"accuracy/{task}": value for task, value in named},
        "chance_accuracy": 100.0 * chance / n if n else None,
        "n_questions": n,
        "n_tasks": len(named),
        **{name: counted.counts.get(name, 0) for name in (*VERDICTS.values(), *LEFT_OUT)},
    }


def result_of(
    predictions: Asked, references: Asked, options: Options, limit: int | None = None, return_items: bool = False
) -> dict[str, Any]:
    """The flat result of checked rows; `items` and `tasks` when asked."""
    found = choose(predictions, references, options, limit)
    n_unknown = len(unknown_questions(predictions, references)) if limit is None else 0
    n_invalid = predictions.n_invalid + references.n_invalid
    counted = state_of(found, dict(zip(LEFT_OUT, (n_unknown, n_invalid), strict=True)))
    result = summarise_choices(counted)
    if options.bootstrap:
        units = {name: number for number, name in enumerate(sorted({choice.question.unit for choice in found}))}
        of = np.fromiter((units[choice.question.unit] for choice in found), np.int64)
        right = np.fromiter((choice.verdict == "right" for choice in found), bool)
        sides = tuple(np.bincount(part, minlength=len(units)).astype(np.float64) for part in (of[right], of))
        ends = intervals({"accuracy": (sides[0], sides[1])}, options.bootstrap, options.seed)
        result |= {key: None if end is None else 100.0 * end for key, end in ends.items()}
    parts = {"metric": KEY, **options.signature("vqa")}
    result["signature"] = signature(parts if limit is None else {**parts, "limit": int(limit)})
    if return_items:
        result["items"] = [choice.item() for choice in found]
        result["tasks"] = [
            {"task": task, "n": n, "accuracy": percent(right, n)}
            for task, (n, right) in sorted(counted.tasks.items(), key=lambda entry: (entry[0] is None, entry[0] or ""))
        ]
    return result


def _got(row: Mapping[str, Any], key: str) -> str:
    return shown(row[key]) if key in row else "nothing"
