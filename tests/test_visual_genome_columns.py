"""The fast roads of the Visual Genome reader give what the careful one gives: record by record, and as Arrow columns."""

import gc
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from visual_genome_kit import DATA, content, end, folder

from sgeval.columns import IMAGE, VIDEO
from sgeval.errors import SgevalError
from sgeval.hub.schema import image_features, video_features
from sgeval.readers import json_records
from sgeval.readers.visual_genome import read_visual_genome
from sgeval.readers.visual_genome_columns import read_columns
from sgeval.readers.visual_genome_records import OddRecord, Record, read_file
from sgeval.records import SceneGraph, to_dict

NAMES = ("man", "dog ", "ON", "é", "😀", 'a "quote":', "")
ODD: tuple[Any, ...] = (
    {"names": None}, {"name": None}, {"synsets": None}, {"merged_object_ids": None}, {"unknown": [1, {"deep": {}}]},
    {"x": None, "y": None, "w": None, "h": None}, {"names": "one"}, {"name": ["a", "b"]}, {"attributes": None},
)  # fmt: skip


def mention(draw: Random, number: int, oddity: float) -> dict[str, Any]:
    names = [draw.choice(NAMES) for _ in range(draw.choice((1, 1, 1, 0, 2)))]
    entry: dict[str, Any] = {
        "object_id": number,
        "x": draw.choice((1, 2, 2.5, -7)),
        **{side: draw.randrange(5) for side in "ywh"},
    }
    entry |= draw.choice(({"names": names}, {"name": draw.choice(NAMES)}, {"names": names, "name": "both"}))
    if draw.random() < 0.7:
        entry["synsets"] = [f"{name}.n.01" for name in names]
    if draw.random() < 0.2:
        entry["merged_object_ids"] = [draw.randrange(40) for _ in range(draw.randrange(3))]
    if draw.random() < 0.3:
        entry["attributes"] = ["red", draw.choice(NAMES)]
    return entry | (draw.choice(ODD) if draw.random() < oddity else {})


def made(draw: Random, oddity: float) -> dict[str, Any]:
    """Files with all that the form allows: repeated and merged ids, ends without objects, pictures in other orders."""
    numbers = [*range(12), 3]
    files: dict[str, list[Any]] = {"objects": [], "attributes": [], "relationships": [], "image_data": []}
    for number in numbers:
        url = f"https://cs.stanford.edu/people/rak248/VG_100K/{number}.jpg"
        objects = [mention(draw, draw.randrange(30), oddity) for _ in range(draw.randrange(6))]
        rows = [
            {
                "relationship_id": at,
                "predicate": draw.choice(NAMES),
                "synsets": ["on.r.01"][: draw.randrange(2)],
                **({"votes": at} if draw.random() < oddity else {}),
                **{
                    end: dict(draw.choice(objects))
                    if objects and draw.random() < 0.6
                    else mention(draw, draw.randrange(40), oddity)
                    for end in ("subject", "object")
                },
            }
            for at in range(draw.randrange(6))
        ]
        others = [mention(draw, draw.randrange(40), oddity) for _ in range(draw.randrange(4))]
        files["objects"].append({"image_id": number, "objects": objects, "image_url": url})
        files["attributes"].append({"attributes": others, "image_id": draw.choice((number, str(number)))})
        files["relationships"].append({"relationships": rows, "image_id": number})
        entry = {"image_id": number, "url": url, "width": 8, "height": 6, "coco_id": None, "flickr_id": number}
        files["image_data"].append(entry | ({"more": [1]} if draw.random() < oddity else {}))
        if draw.random() < 0.3:
            files["image_data"].append(entry | {"width": 9})
    for stem in ("objects", "attributes", "relationships"):
        for record in files[stem]:
            if draw.random() < oddity:
                record["unknown"] = {"in": stem}
    for stem in ("attributes", "relationships", "image_data"):
        if draw.random() < 0.5:
            draw.shuffle(files[stem])
        if draw.random() < 0.5:
            files[stem].pop()
    return files


def rows_of(graphs: Sequence[SceneGraph]) -> list[dict[str, Any]]:
    """The rows of records, with the defaults that `to_dict` leaves out."""
    rows = []
    for graph in graphs:
        row = to_dict(graph)
        for item in row["objects"]:
            for key in ("names", "synsets", "merged_ids", "attributes", "roles"):
                item.setdefault(key, [])
            item.setdefault("category_id", -1)
        for relation in row["relations"]:
            relation.setdefault("predicate_id", -1)
            relation.setdefault("synsets", [])
            relation.setdefault("roles", [])
        row["extra"] = json.dumps(row["extra"], ensure_ascii=False) if "extra" in row else None
        rows.append(row)
    return rows


def same(data_dir: Path, **options: Any) -> None:
    graphs = list(read_visual_genome(data_dir, **options))
    expected = pa.Table.from_pylist(rows_of(graphs), schema=IMAGE)
    for rows in (1, 2, 1000):
        batches = list(read_columns(data_dir, rows=rows, **options))
        for batch in batches:
            batch.validate(full=True)
        assert all(batch.num_rows <= rows for batch in batches) and (not graphs or all(b.num_rows for b in batches))
        assert pa.Table.from_batches(batches, IMAGE).to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("data_dir", [DATA, DATA / "real"])
def test_columns_are_the_rows_of_the_records(data_dir: Path, tmp_path: Path):
    same(data_dir)


def test_the_columns_are_those_of_a_builder():
    assert image_features().arrow_schema.remove_metadata() == IMAGE
    assert video_features().arrow_schema.remove_metadata() == VIDEO


def test_columns_of_release_1_0(tmp_path: Path):
    (tmp_path / "attributes_v1_0.json").write_bytes((DATA / "real" / "attributes_v1_excerpt.json").read_bytes())
    (tmp_path / "relationships_v1_0.json").write_text("[]")
    (tmp_path / "image_data.json").write_text((DATA / "real" / "image_data.json").read_text())
    same(tmp_path, config="v1.0")


@pytest.mark.parametrize("seed", range(30))
def test_all_roads_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    """Blocks that fit, blocks that do not, and every record by itself through the careful parser."""
    draw = Random(seed)
    files = made(draw, oddity=draw.choice((0.0, 0.02, 0.3)))
    path = folder(tmp_path, **files)
    graphs = list(read_visual_genome(path))
    assert len(graphs) >= len(files["objects"])
    same(path)
    monkeypatch.setattr(json_records, "typed_block", lambda text, decoder: None)
    assert list(read_visual_genome(path)) == graphs


def test_the_published_form_takes_the_fast_road():
    from sgeval.readers.visual_genome import FORMS

    for stem in ("relationships", "objects", "attributes"):
        for data_dir in (DATA, DATA / "real"):
            *records, last = (source.record for source in read_file(data_dir / f"{stem}.json", FORMS["v1.4"]))
            assert all(type(record) is Record for record in records) and len(records) == 2
            assert type(last) is OddRecord  # there is no next record to tell that it is whole


def unknown_keys() -> dict[str, Any]:
    """Files with a key that the form does not know at each place that may have one."""
    files = {stem: content(stem) for stem in ("objects", "attributes", "relationships")}
    for stem, whole in files.items():
        whole[0]["a/b"] = stem
    files["attributes"][0]["image_url"] = "elsewhere"
    files["objects"][0]["objects"][1] |= {"score": 0.5, "name": "bloke"}
    files["attributes"][0]["attributes"][0]["worker"] = 7
    row = files["relationships"][0]["relationships"][1]  # 2 "looking at" 1
    row["votes"] = [3]
    row["subject"] |= {"attributes": ["tall"], "score": 0.25}
    row["object"] |= {"object_id": 50, "hidden": None}  # which no file has
    return files


def test_unknown_keys_are_kept(tmp_path: Path):
    path = folder(tmp_path, **unknown_keys())
    extra = next(read_visual_genome(path)).extra
    expected = {
        "/a~1b": "objects",
        "/in_attributes/a~1b": "attributes",
        "/in_attributes/image_url": "elsewhere",
        "/in_relationships/a~1b": "relationships",
        "/objects/1/score": 0.5,
        "/objects/1/name": "bloke",
        "/objects/0/in_attributes": [{"worker": 7}],
        "/relations/1/votes": [3],
        "/relations/1/subject": {"score": 0.25, "attributes": ["tall"]},
        "/objects/4/found_in": "relationships[1].object",
        "/objects/4/hidden": None,
    }
    assert {key: extra[key] for key in expected} == expected
    same(path)


def test_what_the_form_knows_but_has_no_column(tmp_path: Path):
    """All of these fit the form, so they take the fast road: attributes of an end, two names, and lists of other files."""
    files = {stem: content(stem) for stem in ("objects", "relationships")}
    files["objects"][0]["objects"][1]["name"] = "bloke"
    files["objects"][0]["relationships"] = []
    row = files["relationships"][0]["relationships"][1]
    row["subject"]["attributes"] = ["tall"]
    row["object"] |= {"names": ["telly"], "name": "monitor"}
    path = folder(tmp_path, **files)
    first = next(read_visual_genome(path)).extra
    assert first["/relationships"] == [] and first["/objects/1/name"] == "bloke"
    assert first["/relations/1/subject"] == {"attributes": ["tall"]}
    assert first["/relations/1/object"]["names"] == ["telly"] and first["/relations/1/object"]["name"] == "monitor"
    same(path)


def test_an_unknown_number_beyond_64_bits_is_refused(tmp_path: Path):
    files = {"objects": content("objects")}
    files["objects"][0]["objects"][1]["score"] = 2**64
    with pytest.raises(SgevalError, match=r"objects\[1\]\.score: expected a number that fits 64 bits"):
        list(read_visual_genome(folder(tmp_path, **files)))


@pytest.mark.parametrize("place", ["objects", "attributes", "subject"])
def test_an_object_without_any_name(tmp_path: Path, place: str):
    files = {stem: content(stem) for stem in ("objects", "attributes", "relationships")}
    if place == "subject":
        owner, where = files["relationships"][0]["relationships"][1]["subject"], "relationships[1].subject"
    else:
        owner, where = files[place][0][place][1], f"{place}[1]"
    owner.pop("name", owner.pop("names", None))
    file = "relationships" if place == "subject" else place
    with pytest.raises(SgevalError) as caught:
        list(read_visual_genome(folder(tmp_path, **files)))
    expected = f'{tmp_path / file}.json: record 0 (image_id "900").{where}.names: expected a list of texts, got nothing'
    assert str(caught.value) == expected


def test_an_end_without_name_that_is_no_object(tmp_path: Path):
    ghost = {key: value for key, value in end(50).items() if key != "name"}
    row = {"relationship_id": 1, "predicate": "on", "subject": ghost, "object": ghost}
    relationships = [{"image_id": 900, "relationships": [row]}, {"image_id": 901, "relationships": []}]
    with pytest.raises(SgevalError, match=r"relationships\[0\]\.subject\.names: expected a list of texts, got nothing"):
        list(read_visual_genome(folder(tmp_path, relationships=relationships)))


def test_the_search_for_cycles_goes_on_afterwards(tmp_path: Path):
    batches = read_columns(DATA, rows=1)
    next(batches)
    assert gc.isenabled()
    (tmp_path / "fault").mkdir()
    files = content("objects")
    files[0]["objects"][0]["x"] = "left"
    with pytest.raises(SgevalError):
        list(read_columns(folder(tmp_path / "fault", objects=files)))
    assert gc.isenabled()
    gc.disable()
    try:
        list(read_columns(DATA))
        assert not gc.isenabled()
    finally:
        gc.enable()
