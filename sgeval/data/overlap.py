"""Which pictures two data sets share. Visual Genome, VG150 and PSG show the same photographs, half of them COCO's; who trains
on one and tests on another should know.

Pictures are the same when their ids in Visual Genome are, or their ids in COCO; either is enough, and which ids a record
gives is on record in `DATA_SETS`. Pictures of Objects365 and Charades have neither.

COCO itself is compared too, by the splits of its release of 2017. Names of files tell them ("val2017/000000000139.jpg"; those
of PSG and FG-OV do), for all data sets that are looked at together; a folder of COCO tells them all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sgeval.data.kinds import DataSet
from sgeval.records import Graph

TRAINING = "train"
COCO = "coco"


@dataclass(frozen=True)
class Part:
    """The pictures of one split of one config of a data set: their ids in Visual Genome (`vg`) and in COCO (`coco`)."""

    name: str
    split: str
    number: int
    vg: frozenset[str]
    coco: frozenset[str]
    config: str = ""
    coco_splits: Mapping[str, str] = field(default_factory=dict)
    """By id in COCO, the split that the name of the file tells."""

    @property
    def label(self) -> str:
        """The data set, the config and the split."""
        return f"{self.name}:{self.config}/{self.split}" if self.config else f"{self.name}/{self.split}"

    @property
    def is_for_training(self) -> bool:
        """Whether the split is one to train on, as "train" and "train2017" are."""
        return self.split.startswith(TRAINING)


@dataclass(frozen=True)
class Overlap:
    """What two parts share by one kind of id. `crosses` says that one of them is for training and the other is not."""

    left: str
    right: str
    by: str
    ids: tuple[str, ...]
    crosses: bool


def part_of(found: DataSet, split: str, graphs: Iterable[Graph], config: str = "") -> Part:
    """The ids of a split's pictures."""
    number = 0
    ids: dict[str, set[str]] = {"vg": set(), "coco": set()}
    coco_splits = {}
    for graph in graphs:
        number += 1
        for kind, value in (("vg", found.vg_id(graph)), ("coco", found.coco_id(graph))):
            if value is not None and str(value).strip():
                ids[kind].add(plain_id(value))
                if kind == "coco" and (told := re.match(r"(?:.*/)?((?:train|val|test)2017)/", graph.file_name or "")):
                    coco_splits[plain_id(value)] = told[1]
    return Part(found.name, split, number, frozenset(ids["vg"]), frozenset(ids["coco"]), config, coco_splits)


def coco_parts(parts: Sequence[Part], told: Mapping[str, frozenset[str]] | None = None) -> list[Part]:
    """The splits of COCO as parts: those that a folder told, else what the names of the parts' files tell.

    >>> one = Part("a", "train", 1, frozenset(), frozenset({"7"}), coco_splits={"7": "val2017"})
    >>> coco_parts([one])
    [Part(name='coco', split='val2017', number=1, vg=frozenset(), coco=frozenset({'7'}), config='', coco_splits={})]
    """
    by_split: dict[str, set[str]] = {}
    for part in parts if told is None else ():
        for key, split in part.coco_splits.items():
            by_split.setdefault(split, set()).add(key)
    every = sorted((told or by_split).items())
    return [Part(COCO, split, len(ids), frozenset(), frozenset(ids)) for split, ids in every]


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
        crosses = left.is_for_training != right.is_for_training
        for kind in ("vg", "coco"):
            shared = getattr(left, kind) & getattr(right, kind)
            if shared:
                ids = tuple(sorted(shared, key=lambda text: (len(text), text)))
                found.append(Overlap(left.label, right.label, kind, ids, crosses))
    return found
