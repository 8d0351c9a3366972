"""How much a file of predictions may hold."""

from dataclasses import dataclass

from sgeval.errors import SgevalError
from sgeval.strict_json import MAX_FILE_BYTES, MAX_LINE_BYTES


@dataclass(frozen=True)
class Limits:
    """The most that is read of a file of graphs. The defaults are for one's own machine; a server names tighter ones.

    What is above a limit is refused while it is read, with the limit and the number: memory holds no more than that. How
    deep values nest (`strict_json.MAX_DEPTH`) and how long texts are (the schema) is the same everywhere.
    """

    bytes: int = MAX_FILE_BYTES
    """Of the file as it is handed in."""
    unpacked: int = MAX_FILE_BYTES
    """Bytes that an archive unpacks to."""
    members: int = 1_000
    """Files and folders in an archive, those of macOS among them."""
    line_bytes: int = MAX_LINE_BYTES
    commas: int = 200_000_000
    """In what is parsed at once, a line or a file that is one list: a bound on its values before there are any."""
    rows: int = 10_000_000
    objects: int = 1_000_000
    """Of one graph."""
    relations: int = 1_000_000
    """Of one graph."""
    all_relations: int = 100_000_000
    """Of all graphs together."""
    faults: int = 100_000
    """After so many nothing more is looked for."""

    def refuse(self, place: str, name: str, got: int, words: str) -> None:
        """Raise `SgevalError` if there are more than a limit allows.

        >>> Limits(rows=10).refuse("predictions.jsonl", "rows", 11, "rows")
        Traceback (most recent call last):
        ...
        sgeval.errors.SgevalError: predictions.jsonl: expected at most 10 rows (the limit `rows`), got 11 or more
        """
        most = getattr(self, name)
        if got > most:
            more = "" if name in ("bytes", "unpacked") else " or more"  # of others reading stops at the first too many
            raise SgevalError(f"{place}: expected at most {most:,} {words} (the limit `{name}`), got {got:,}{more}")


USUAL = Limits()
