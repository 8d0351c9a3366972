"""From the name of a judge to a judge."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

from sgeval.errors import ModelUnavailable, SgevalError, one_of, shown
from sgeval.judges.embedding import PREFIX, Embedding
from sgeval.judges.exact import Exact
from sgeval.judges.labels import NORMALISATION, answer_list
from sgeval.judges.verdicts import Category, Judge, Pair, Verdict
from sgeval.judges.wordnet import KNOWN, WordNet

DEFAULT_JUDGE = "wordnet"
OFFLINE: dict[str, Callable[[], Judge]] = {"exact": Exact, "wordnet": WordNet}
"""The judges that ask nobody and load no model, by name."""
FORMS = f", {PREFIX}MODEL or provider/model"

Answer = Verdict | Category | None
JudgeLike = str | Judge | Callable[[Sequence[Pair]], Sequence[Answer]]


def make_judge(judge: JudgeLike | None = None, **options: Any) -> Judge:
    """The judge of a name: `exact`, `wordnet`, `embedding:MODEL`, or `provider/model` for a language model (`options` are
    those of `sgeval.judges.llm.LlmJudge`). Without one it is `wordnet`, and a warning says so once.

    Any callable is a judge that takes a sequence of `Pair` and gives one `Verdict` each, or a category, or `None` where it
    has none. It sees labels in the form of `sgeval.judges.labels.normal`, and only pairs that are not equal.

    Raises `SgevalError` for an unknown name and for options that a judge does not have, `ModelUnavailable` for a model or
    library that is not there. No judge ever stands in for another.

    >>> make_judge("wordnet").name, make_judge(lambda pairs: ["mismatch" for _ in pairs]).name
    ('wordnet', 'callable:<lambda>')
    >>> make_judge("wordnett")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: judge: expected one of exact, ... or provider/model, got "wordnett"; did you mean "wordnet"?
    """
    if judge is None:
        _announce()
        judge = DEFAULT_JUDGE
    if isinstance(judge, str) and is_language_model(judge):
        return _language_model(judge, options)
    if options:
        name = judge if isinstance(judge, str) else _name(judge)
        raise SgevalError(f"judge {shown(name)}: expected no options, got {', '.join(options)}")
    if not isinstance(judge, str):
        return _checked(judge)
    model = judge.removeprefix(PREFIX)
    if model != judge and model:
        return Embedding(model)
    one_of("judge", judge, OFFLINE, FORMS)
    return OFFLINE[judge]()


def is_language_model(name: str) -> bool:
    """Whether a judge's name is `provider/model`.

    >>> is_language_model("openai/gpt-4o-mini"), is_language_model("embedding:all/minilm")
    (True, False)
    """
    return "/" in name and not name.startswith(PREFIX)


@cache
def _announce() -> None:
    warnings.warn(
        f'judge: "{DEFAULT_JUDGE}" judges the labels, by WordNet 3.0 and offline, since none was named; it is not the '
        "language model of the paper, and the number depends on it",
        stacklevel=3,
    )


def _language_model(name: str, options: dict[str, Any]) -> Judge:
    try:
        kind = import_module("sgeval.judges.llm").LlmJudge
    except ModuleNotFoundError as fault:
        raise ModelUnavailable(
            f"judge {shown(name)}: expected a judge that asks language models, got {fault}"
        ) from fault
    known = list(signature(kind).parameters)[1:]
    for option in options:
        one_of(f"judge {shown(name)}, option", option, known)
    found: Judge = kind(name, **{"normalisation": NORMALISATION, "known": KNOWN, **options})
    return found


def _name(judge: object) -> str:
    return str(getattr(judge, "name", None) or getattr(judge, "__name__", type(judge).__name__))


def _checked(judge: object) -> Judge:
    if not callable(judge):
        raise SgevalError(f"judge: expected a name or a callable, got {shown(judge)}")
    if isinstance(getattr(judge, "name", None), str):
        found: Judge = judge  # type: ignore[assignment]
        return found
    return Wrapped(judge)


class Wrapped:
    """A plain callable as a judge. Categories become verdicts; `None` is a pair without one, reason "no answer"."""

    def __init__(self, ask: Callable[[Sequence[Pair]], Sequence[Answer]]) -> None:
        self.name = f"callable:{_name(ask)}"
        self._ask = ask

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in order."""
        return [_verdict(answer) for answer in answer_list(f"judge {shown(self.name)}", self._ask(pairs))]


def _verdict(answer: Answer) -> Verdict:
    if isinstance(answer, Verdict):
        return answer
    return Verdict(None, "no answer") if answer is None else Verdict(answer)
