"""How a language model was asked, as the judge's own file of a run folder tells it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.judges.tally import ACCOUNT
from sgeval.report.text import agreed, cut, number
from sgeval.runs import Run

WORDS: Mapping[str, str] = {
    "cached": "{verdict that was|verdicts that were} there before",
    "calls": "{request|requests}",
    "retried": "of these made again, after a fault",
    "voided": "{batch|batches} thrown away, since known pairs in it came back wrong; asked one by one",
    "swapped": "second {look|looks}, with the two labels exchanged",
    "disagreed": "{verdict|verdicts} unlike one that another process had kept first; that one stands",
    "damaged": "kept {verdict that was|verdicts that were} damaged, and asked again",
    "prompt_tokens": "{token|tokens} sent",
    "completion_tokens": "{token|tokens} answered",
}
MODELS = 10  # shown


@dataclass(frozen=True)
class Account:
    """How a language model was asked by the process that wrote the results: counts in words, models with their verdicts."""

    counts: tuple[tuple[str, int], ...]
    models: tuple[tuple[str, int], ...]
    n_models: int
    stopped: str


def account(run: Run) -> Account | None:
    """What the file says, where it is of the judge that the results name; `None` where there is none, or another form."""
    try:
        told = strict_json.read_file(run.folder / ACCOUNT)
        if told["judge"] != run.result["judge"]:
            return None
        counts = [(text, int(number(told[key]) or 0)) for key, text in WORDS.items()]
        models = [
            (
                cut(" ".join(str(row[key]) for key in ("model", "fingerprint") if row[key])) or "unnamed",
                int(number(row["verdicts"]) or 0),
            )
            for row in told["models"]
        ]
        stopped = cut(told["stopped"], 240)
    except (SgevalError, KeyError, TypeError, AttributeError):
        return None
    shown = tuple((agreed(text, n), n) for text, n in counts if n)
    return Account(shown, tuple(models[:MODELS]), len(models), stopped)
