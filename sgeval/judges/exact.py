"""The judge `exact`: equal or not."""

from collections.abc import Sequence

from sgeval.judges.labels import normal
from sgeval.judges.verdicts import Pair, Verdict


class Exact:
    """Identical for equal normal forms (see `sgeval.judges.labels.normal`), mismatch for all others. Asks nobody.

    >>> [verdict.category for verdict in Exact()([Pair("object", "car", "Car"), Pair("object", "car", "cars")])]
    ['identical', 'mismatch']
    """

    name = "exact"

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in order."""
        return [
            Verdict(
                "identical" if normal(pair.reference, pair.kind) == normal(pair.prediction, pair.kind) else "mismatch"
            )
            for pair in pairs
        ]
