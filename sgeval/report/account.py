"""How a language model was asked, as the judge's own file of a run folder tells it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sgeval.judges.tally import read_accounts
from sgeval.report.text import agreed, cut, number
from sgeval.runs import Run

WORDS: Mapping[str, str] = {
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
    """How a language model was asked: counts in words over `n_runs` processes, models with their verdicts."""

    counts: tuple[tuple[str, int], ...]
    models: tuple[tuple[str, int], ...]
    n_models: int
    stopped: str
    n_runs: int


def account(run: Run) -> Account | None:
    """What the file says, where it is of the judge that the results name; `None` where there is none, or another form."""
    told = read_accounts(run.folder, str(run.result["judge"]))
    if not told:
        return None
    try:
        counts = [(text, sum(int(number(one[key]) or 0) for one in told)) for key, text in WORDS.items()]
        last = told[-1]
        cached = ("{verdict that was|verdicts that were} there before", int(number(last["cached"]) or 0))
        models = [
            (
                cut(" ".join(str(row[key]) for key in ("model", "fingerprint") if row[key])) or "unnamed",
                int(number(row["verdicts"]) or 0),
            )
            for row in last["models"]
        ]
        stopped = cut(last["stopped"], 240)
    except (KeyError, TypeError, AttributeError):
        return None
    shown = tuple((agreed(text, n), n) for text, n in (cached, *counts) if n)
    return Account(shown, tuple(models[:MODELS]), len(models), stopped, len(told))
