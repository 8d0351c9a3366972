"""What judging came to: verdicts by how they came about, calls, tokens, money, and who answered."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import SgevalError, counted, one_line
from sgeval.files import atomic_write

ACCOUNT = "judging.json"
"""The file of a run folder that tells the tallies of a judge, one for each process that came to its end, the last one last.
Unlike the results it is another one where judging was stopped and gone on with."""
KEPT = 100  # tallies
SHOWN = 5  # models in a line


@dataclass
class Tally:
    """Counts of a judge since it was made.

    `judged` are pairs with a verdict, `cached` those of them that were there before, `repaired` those that were understood
    only after the answer was mended or asked for again, `unjudged` the rest by reason. `voided` counts batches whose known
    pairs came back wrong, `swapped` second looks, `disagreed` verdicts that differ from one that another process had
    stored first, `damaged` stored verdicts that failed their check and were asked for again. `usd` is what was paid since the
    judge was made; None where no price is known. `stopped` says why no more was asked, if so.
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
    usd_of_verdicts: float | None = None
    """What the answers cost that the verdicts were read from, those of earlier sessions too."""
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
        for name in ("usd", "usd_of_verdicts"):
            plain[name] = plain[name] if plain[name] is None else round(plain[name], 6)
        return {
            **plain,
            "unjudged": dict(sorted(self.unjudged.items())),
            "models": models,
            "mixed_judge": self.is_mixed,
        }

    def sentences(self) -> list[str]:
        """The counts for a person, a line each.

        >>> for line in Tally(judged=3, cached=1, calls=2, unjudged=Counter(budget=2), usd=0.00153899).sentences():
        ...     print(line)
        3 pairs judged, 1 of them before; 2 requests, 0 tokens sent, 0 answered
        this session cost 0.0015 USD
        2 pairs without a verdict: budget 2
        """
        before = f", {self.cached:,} of them before" if self.cached else ""
        again = f" ({self.retried:,} made again)" if self.retried else ""
        lines = [
            f"{counted(self.judged, 'pair')} judged{before}; {counted(self.calls, 'request')}{again}, "
            f"{self.prompt_tokens:,} tokens sent, {self.completion_tokens:,} answered"
        ]
        if self.usd is not None:
            whole = (
                "" if not self.usd_of_verdicts else f"; the verdicts cost {money(self.usd_of_verdicts)} in all sessions"
            )
            lines.append(f"this session cost {money(self.usd)}{whole}")
        odd = {
            "understood only after mending or asking again": self.repaired,
            "unlike one that was kept first": self.disagreed,
            "damaged where they were kept, and asked again": self.damaged,
        }
        if any(odd.values()):
            lines.append("of the verdicts " + ", ".join(f"{n:,} {words}" for words, n in odd.items() if n))
        if self.voided or self.swapped:
            lines.append(
                f"{counted(self.voided, 'batch', 'batches')} thrown away; {counted(self.swapped, 'second look')}"
            )
        if self.unjudged:
            reasons = ", ".join(f"{one_line(reason)} {n:,}" for reason, n in sorted(self.unjudged.items()))
            lines.append(f"{counted(self.unjudged.total(), 'pair')} without a verdict: {reasons}")
        if self.models:
            said = (
                f"{one_line(' '.join(filter(None, who)))} ({n:,})" for who, n in sorted(self.models.items())[:SHOWN]
            )
            lines.append(f"answered by {', '.join(said)}{', a mixed judge' if self.is_mixed else ''}")
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        return lines


def money(usd: float) -> str:
    """Dollars with as many digits as matter.

    >>> money(12.3456), money(0.00153899), money(0.00001), money(0)
    ('12.35 USD', '0.0015 USD', 'less than 0.0001 USD', '0.00 USD')
    """
    if 0 < usd < 0.0001:
        return "less than 0.0001 USD"
    return f"{usd:,.4f} USD" if 0 < usd < 1 else f"{usd:,.2f} USD"


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
