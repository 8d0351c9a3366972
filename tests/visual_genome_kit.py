"""The made Visual Genome files, what they say, and copies of them with a change."""

import json
from pathlib import Path
from typing import Any

from kit import put_at

from sgeval.records import Object, Relation, SceneGraph

DATA = Path(__file__).parent / "data" / "visual_genome"
URL = "https://cs.stanford.edu/people/rak248"
STEMS = ("objects", "attributes", "relationships", "image_data")

# Record 0 of each file. Relation 11 says "desk" where the object says "desk "; relation 12 merges 77 into object 1, so 77
# of relation 13, a "screen", is object 1.
FIRST = SceneGraph(
    image_id="900",
    file_name="VG_100K/900.jpg",
    width=100,
    height=80,
    source="visual_genome",
    objects=(
        Object(
            1,
            "monitor",
            (-2.0, 10.0, 52.0, 60.0),
            names=("monitor", "computer"),
            synsets=("monitor.n.04",),
            merged_ids=(77,),
            attributes=("Black", "turned off "),
        ),
        Object(2, "man", (60.0, -5.0, 30.0, 40.0), names=("man",), synsets=("man.n.01",)),
        Object(3, "desk ", (90.0, 70.0, 30.0, 30.0), names=("desk ",)),
        Object(4, "dot", (10.0, 10.0, 0.0, 5.0), names=("dot",)),
    ),
    relations=(
        Relation(1, 3, "ON", id=11, synsets=("along.r.01",)),
        Relation(2, 1, "looking at", id=12),
        Relation(1, 2, "near", id=13, synsets=("about.r.07",)),
    ),
    extra={
        "url": f"{URL}/VG_100K/900.jpg",
        "coco_id": 12345,
        "flickr_id": 987654321,
        "/relations/0/object": {"name": "desk"},
        "/relations/2/subject": {"object_id": 77, "name": "screen", "synsets": ["screen.n.03"]},
    },
)
# Record 1: nothing in it, and a width in image_data (120) that the picture does not have.
MIDDLE = SceneGraph(
    image_id="901",
    file_name="VG_100K/901.jpg",
    width=120,
    height=80,
    source="visual_genome",
    extra={"url": f"{URL}/VG_100K/901.jpg"},
)
# Record 2: one object, no relation.
LAST = SceneGraph(
    image_id="902",
    file_name="VG_100K/902.jpg",
    width=100,
    height=80,
    source="visual_genome",
    objects=(Object(9, "cat", (1.0, 1.0, 20.0, 20.0), names=("cat",), synsets=("cat.n.01",)),),
    extra={"url": f"{URL}/VG_100K/902.jpg"},
)


def content(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


def folder(path: Path, **changes: Any) -> Path:
    """The files of DATA in a folder of their own, some with other content, those that are None left out."""
    for stem in STEMS:
        whole = changes[stem] if stem in changes else content(stem)
        if whole is not None:
            (path / f"{stem}.json").write_text(json.dumps(whole))
    return path


def changed(stem: str, *path: Any, value: Any) -> dict[str, Any]:
    """The content of one file with a value put at a place; `...` takes the key away."""
    whole = content(stem)
    put_at(whole, path, value)
    return {stem: whole}


def ids(graphs: Any) -> list[str]:
    return [graph.image_id for graph in graphs]


def end(object_id: int, name: str = "thing", **more: Any) -> dict[str, Any]:
    return {"object_id": object_id, "name": name, "x": 1, "y": 2, "w": 3, "h": 4, "synsets": [], **more}


def relation(subject: Any, object_: Any, number: int = 1) -> dict[str, Any]:
    return {"relationship_id": number, "predicate": "on", "synsets": [], "subject": subject, "object": object_}
