"""What judging came to: verdicts by how they came about, calls, tokens, money, and who answered."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.files import atomic_write

ACCOUNT = "judging.json"
"""The file of a run folder that tells the tallies of a judge, one for each process that came to its end, the last one last.
Unlike the results it is another one where judging was stopped and gone on with."""
KEPT = 100  # tallies


@dataclass
class Tally:
    """Counts of a judge since it was made.

    `judged` are pairs with a verdict, `cached` those of them that were there before, `repaired` those that were understood
    only after the answer was mended or asked for again, `unjudged` the rest by reason. `voided` counts batches whose known
    pairs came back wrong, `swapped` second looks, `disagreed` verdicts that differ from one that another process had
    stored first, `damaged` stored verdicts that failed their check and were asked for again. `usd` is None where no price
    is known. `stopped` says why no more was asked, if so.
    """

    judged: int = 0
    cached: int = 0
    repaired: int = 0
    unjudged: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    retried: int = 0
    voided: int = 0
    swapped: int = 0
    disagreed: int = 0
    damaged: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    models: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Verdicts by the model and the fingerprint that the server gave."""
    stopped: str = ""

    @property
    def is_mixed(self) -> bool:
        """Whether verdicts come from more than one model."""
        return len(self.models) > 1

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON takes them.

        >>> tally = Tally(judged=3, unjudged=Counter({"refused": 1}))
        >>> tally.as_dict()["unjudged"], tally.as_dict()["mixed_judge"]
        ({'refused': 1}, False)
        """
        plain = {name: value for name, value in vars(self).items() if name not in ("unjudged", "models")}
        models = [
            {"model": model, "fingerprint": mark, "verdicts": n} for (model, mark), n in sorted(self.models.items())
        ]
        return {
            **plain,
            "unjudged": dict(sorted(self.unjudged.items())),
            "models": models,
            "mixed_judge": self.is_mixed,
        }


def write_account(folder: Path, judge: str, tally: Tally, running: Mapping[str, Any]) -> None:
    """Add a judge's tally, and how it was asked, to those of a folder; those of another judge go."""
    accounts = [*read_accounts(folder, judge), {**running, **tally.as_dict()}][-KEPT:]
    with atomic_write(folder / ACCOUNT) as file:
        json.dump({"judge": judge, "accounts": accounts}, file, ensure_ascii=False, allow_nan=False, indent=2)
        file.write("\n")


def read_accounts(folder: Path, judge: str) -> list[dict[str, Any]]:
    """The tallies of a judge in a folder; none where the file is another judge's, or of another form."""
    try:
        told = strict_json.read_file(folder / ACCOUNT)
    except SgevalError:
        return []
    if not isinstance(told, dict) or told.get("judge") != judge or not isinstance(told.get("accounts"), list):
        return []
    return [one for one in told["accounts"] if isinstance(one, dict)]
