"""Which pictures two data sets share. Visual Genome, VG150 and PSG show the same photographs, half of them COCO's; who trains
on one and tests on another should know.

Pictures are the same when their ids in Visual Genome are, or their ids in COCO; either is enough, and which ids a record
gives is on record in `DATA_SETS`. Pictures of Objects365 and Charades have neither.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from sgeval.data.kinds import DataSet
from sgeval.records import Graph

TRAINING = "train"


@dataclass(frozen=True)
class Part:
    """The pictures of one split of one data set: their ids in Visual Genome (`vg`) and in COCO (`coco`)."""

    name: str
    split: str
    number: int
    vg: frozenset[str]
    coco: frozenset[str]

    @property
    def label(self) -> str:
        """The data set and the split."""
        return f"{self.name}/{self.split}"


@dataclass(frozen=True)
class Overlap:
    """What two parts share by one kind of id. `crosses` says that one of them is for training and the other is not."""

    left: str
    right: str
    by: str
    ids: tuple[str, ...]
    crosses: bool


def part_of(found: DataSet, split: str, graphs: Iterable[Graph]) -> Part:
    """The ids of a split's pictures."""
    number = 0
    ids: dict[str, set[str]] = {"vg": set(), "coco": set()}
    for graph in graphs:
        number += 1
        for kind, value in (("vg", found.vg_id(graph)), ("coco", found.coco_id(graph))):
            if value is not None and str(value).strip():
                ids[kind].add(plain_id(value))
    return Part(found.name, split, number, frozenset(ids["vg"]), frozenset(ids["coco"]))


def plain_id(value: object) -> str:
    """An id without leading zeros, so that names of files and numbers compare.

    >>> plain_id("000000417720"), plain_id(417720), plain_id("a7")
    ('417720', '417720', 'a7')
    """
    text = str(value).strip()
    return str(int(text)) if text.isascii() and text.isdigit() else text


def overlaps(parts: Sequence[Part]) -> list[Overlap]:
    """What each two parts share, in the order of the parts; pairs that share nothing are left out. Splits of one data set
    are compared too: PSG has COCO pictures under two ids.

    >>> one = Part("a", "train", 2, frozenset({"1", "2"}), frozenset())
    >>> overlaps([one, Part("b", "test", 1, frozenset({"2"}), frozenset())])
    [Overlap(left='a/train', right='b/test', by='vg', ids=('2',), crosses=True)]
    """
    found = []
    for left, right in combinations(parts, 2):
        crosses = (left.split == TRAINING) != (right.split == TRAINING)
        for kind in ("vg", "coco"):
            shared = getattr(left, kind) & getattr(right, kind)
            if shared:
                ids = tuple(sorted(shared, key=lambda text: (len(text), text)))
                found.append(Overlap(left.label, right.label, kind, ids, crosses))
    return found
