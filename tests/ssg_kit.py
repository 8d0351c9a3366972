"""What the tests of the SSG reader share: the records that tests/data/ssg holds, worked out by hand, and changed copies."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgeval.records import Object, Relation, Role, SceneGraph

DATA = Path(__file__).parent / "data" / "ssg"
FRAMES = [
    *("ZZ001.mp4/000003.png", "ZZ001.mp4/000009.png", "ZZ001.mp4/000015.png"),
    *("ZZ002.mp4/000002.png", "ZZ002.mp4/000005.png", "ZZ002.mp4/000008.png"),
]

# The person of readable/ag_ssg_combined_person.json: corners [30, 10, 90, 118] are x 30, y 10, w 90 - 30, h 118 - 10.
# Roles in the file's order. "person" is line 0 of object_classes.txt.
PERSON = Object(
    0,
    "person",
    (30.0, 10.0, 60.0, 108.0),
    category_id=0,
    roles=(Role("pose", "standing"), Role("emotion", "neutral"), Role("clothing", "shirt"), Role("gaze", "down")),
)
# The objects of readable/ssg_dataset.json: boxes are x, y, w, h as they stand. Lines of object_classes.txt, from 0:
# cupglassbottle 10, table 31, book 4.
CUP = Object(
    1,
    "cup/glass/bottle",
    (40.0, 60.5, 20.0, 30.0),
    category_id=10,
    roles=(Role("color", "red"), Role("material", "plastic"), Role("state", "open")),
)
TABLE = Object(
    2, "table", (5.0, 90.0, 150.0, 40.0), category_id=31, roles=(Role("material", "wooden"), Role("shape", "round"))
)
BOOK = Object(3, "book", None, category_id=4)
# Lines of relationship_classes.txt, from 0: lookingat 0, notlookingat 1, infrontof 5, onthesideof 7, drinkingfrom 11,
# holding 14, notcontacting 17, otherrelationship 18. Space goes from the object to the person, all else from the person.
CUP_SEEN = (
    Relation(0, 1, "looking_at", 0, 0, "attention"),
    Relation(1, 0, "in_front_of", 1, 5, "spatial"),
    Relation(1, 0, "on_the_side_of", 2, 7, "spatial"),
)
CUP_HELD = (
    Relation(0, 1, "holding", 3, 14, "contacting", roles=(Role("place", "kitchen"), Role("body part", "hand"))),
    Relation(0, 1, "drinking_from", 4, 11, "contacting", roles=(Role("place", "kitchen"), Role("manner", "slowly"))),
)


def by_the_table(first: int) -> tuple[Relation, ...]:
    return (
        Relation(0, 2, "not_looking_at", first, 1, "attention"),
        Relation(2, 0, "in_front_of", first + 1, 5, "spatial"),
        Relation(0, 2, "not_contacting", first + 2, 17, "contacting", roles=(Role("place", "kitchen"),)),
    )


SCORE = [0.9800000190734863]  # 0.98 in 32 bits


def frame(video: str, number: int, split: str, objects: Any, relations: Any, **extra: Any) -> SceneGraph:
    key = f"{video}.mp4/{number:06d}.png"
    return SceneGraph(
        image_id=key,
        objects=objects,
        relations=relations,
        file_name=key,
        width=160,
        height=120,
        source="ssg",
        video_id=f"{video}.mp4",
        frame_index=number,
        extra={"/objects/0/bbox_score": SCORE, "set": split, "/objects/3/visible": False, **extra},
    )


WHOLE = ((PERSON, CUP, TABLE, BOOK), (*CUP_SEEN, *CUP_HELD, *by_the_table(5)))
NO_PERSON = Object(0, "person", None, category_id=0)
OTHER = Relation(0, 1, "other_relationship", 3, 18, "contacting")
EXPECTED = [
    frame("ZZ001", 3, "train", *WHOLE),
    frame("ZZ001", 9, "train", *WHOLE),
    frame("ZZ001", 15, "train", *WHOLE),
    frame("ZZ002", 2, "test", *WHOLE),
    frame("ZZ002", 5, "test", (NO_PERSON, CUP, TABLE, BOOK), WHOLE[1]),
    frame("ZZ002", 8, "test", WHOLE[0], (*CUP_SEEN, OTHER, *by_the_table(4)), **{"/relations/3/framed": False}),
]


def write(folder: Path, change: Callable[[Any, Any], object]) -> Path:
    """A copy of the data with one change, written as Python writes it today."""
    data = folder / "data"
    shutil.copytree(DATA / "data", data)
    objects, persons = ((data / name) for name in ("ssg_dataset.pkl", "ag_ssg_combined_person.pkl"))
    contents = [pickle.loads(path.read_bytes()) for path in (objects, persons)]  # our own files
    change(*contents)
    for path, content in zip((objects, persons), contents):
        path.write_bytes(pickle.dumps(content, 4))
    return folder
