"""The test set of SVG2 (Synthetic Visual Genome 2) as its files say it: every video, nothing dropped and nothing repaired.

The form. `data/SVG2_test/<part>/*.parquet` with the columns `video_id`, `objects` and `relationships`, the last two JSON
texts; `masks/SVG2_test/<part>/*.parquet` with `video_id`, `num_objects`, `num_frames`, `mask_height`, `mask_width` and
`counts`; the parts are sav and vipseg. `objects` is a list of `{"object_N": label, "attributes": […], "attributes_typed":
[…], "level": …}`, `relationships` one of `[subject, predicate, object, [[start, end], …]]`, where -1 is the camera. Spans are
half-open seconds here (those of the training sets are not). `counts[f * num_objects + N]` is the run-length code of object N
in frame f; all zeros where it is not to be seen.

The record. Ids are N, which need not be 0, 1, 2; labels are left as they are ("_", "/", "(uncertain)"). `attribute_types` are
those of `attributes_typed` where each entry says one for the attribute of its place. Config `masks` joins the masks by
`video_id`: `width` and `height` are theirs, and `track` has a box and a code for each frame that shows the object. Masks may
end before the video, so they tell no `num_frames`; `fps` is null unless the option of this name says it. `extra` has
`/masks/num_frames` and `/masks/num_objects`, what else the files say by JSON pointer, and flags of `sgeval.readers.flags`,
`no_mask` among them: an object without a column of masks.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers.flags import relation_flags
from sgeval.readers.parquet import Columns, row_counts, rows
from sgeval.readers.place import LARGEST, Place, is_kind, is_number, pointer_step
from sgeval.readers.svg2_masks import MaskRows, with_masks
from sgeval.readers.video_form import Once, rate_option, records_of, video_id_of
from sgeval.records import CAMERA, Object, Relation, VideoGraph
from sgeval.spans import to_seconds

Svg2Config = Literal["annotations", "masks"]

SPLITS = ("test",)
DATA, MASKS = "data/SVG2_test/*/*.parquet", "masks/SVG2_test/*/*.parquet"
SOURCE = "https://huggingface.co/datasets/UWGZQ/Synthetic_Visual_Genome2"
COLUMNS: Columns = {"video_id": "text", "objects": "text", "relationships": "text"}
OBJECT = re.compile(r"object_(0|[1-9][0-9]{0,17})")
KNOWN = ("attributes", "attributes_typed", "level")
TYPED = ("name", "value")
"""The keys of a typed attribute, its type and the attribute: what has this form is told by the columns."""
LATEST = 2**31


def read_svg2_test(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: Svg2Config = "annotations",
    fps: float | Mapping[str, float] | None = None,
    part: tuple[int, int | None] | None = None,
    faults: list[str] | None = None,
) -> Iterator[VideoGraph]:
    """The videos of a folder that holds `data/SVG2_test/` (and `masks/SVG2_test/` for the config `masks`): 100 as published.

    They come by the names of parts and files, then in the order of rows. `fps`: frames a second of masks and clips, which no
    file says; a number for all, or by part, as `{"vipseg": 6}`: the frames of VIPSeg are played at 6. `part` reads a stretch
    of the videos only. One row of masks is in memory at a time, and more of them only while a file gives them in another
    order than the annotations. `faults`: see `video_form.records_of`.

    Raises `SgevalError`: at once for an unknown config, split or rate and where there is no file; while reading, for what is
    not in the form, with file, row, video, what was expected and what stands there.

    >>> read_svg2_test(".", "train")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of test, or none, got "train"
    """
    one_of("config", config, get_args(Svg2Config))
    files = _files(Path(data_dir), split, DATA)
    masks = _files(Path(data_dir), split, MASKS) if config == "masks" else []
    return _read(files, masks, config, _rates(fps, files), faults, *(part or (0, None)))


def _rates(fps: Any, files: list[Path]) -> dict[str, float | None]:
    """The rate of each part, as the option gives it. Raises `SgevalError` for one that is none, or of no part."""
    parts = list(dict.fromkeys(path.parent.name for path in files))
    if not isinstance(fps, Mapping):
        return dict.fromkeys(parts, rate_option(fps))
    for part in fps:
        one_of("part in fps", part, parts)
    return {part: rate_option(fps.get(part)) for part in parts}


def count_svg2_test(data_dir: str | Path, split: str | None = None) -> int:
    """How many videos `read_svg2_test` gives. Raises `SgevalError` as it does."""
    return sum(sum(row_counts(path, COLUMNS)) for path in _files(Path(data_dir), split, DATA))


def _files(data_dir: Path, split: str | None, pattern: str) -> list[Path]:
    if split is not None:
        one_of("split", split, SPLITS, ", or none")
    found = sorted(path for path in data_dir.glob(pattern) if not path.name.startswith("."))
    if not found:
        raise SgevalError(
            f"data_dir: expected a folder that holds {pattern}, from {SOURCE}, got {one_line(str(data_dir))}"
        )
    return found


def _read(
    files: list[Path],
    masks: list[Path],
    config: str,
    rates: Mapping[str, float | None],
    faults: list[str] | None,
    first: int,
    last: int | None,
) -> Iterator[VideoGraph]:
    videos = Once()
    of_part = {
        path.parent.name: MaskRows([each for each in masks if each.parent.name == path.parent.name]) for path in files
    }
    numbered = ((path, number, row) for path in files for number, row in enumerate(rows(path, COLUMNS)))

    def once(path: Path, number: int, row: Mapping[str, Any]) -> Place:
        place = Place(path).at(f"row {number}")
        video_id = videos.add(video_id_of(place, row), f"{path}: row {number}")
        return place.at(f" (video_id {shown(video_id)})")

    def make(found: tuple[Path, int, Mapping[str, Any]]) -> VideoGraph:
        path, _, row = found
        part = path.parent.name
        graph = replace(_graph(once(*found), part, row), fps=rates[part])
        return with_masks(graph, of_part[path.parent.name]) if config == "masks" else graph

    for found in islice(numbered, first):
        try:
            once(*found)
        except SgevalError:
            if faults is None:
                raise  # else it is told with the stretch that it is in
    yield from records_of(make, islice(numbered, None if last is None else max(0, last - first)), faults)


def _graph(place: Place, part: str, row: Mapping[str, Any]) -> VideoGraph:
    extra = {
        f"/{pointer_step(name)}": _plain(place.at(f".{name}"), value)
        for name, value in row.items()
        if name not in COLUMNS and value is not None
    }
    objects = []
    for index, item in enumerate(_list(place.at(".objects"), row["objects"])):
        objects.append(_object(place.at(f".objects[{index}]"), f"/objects/{index}", item, extra))
    ids = {item.id for item in objects}
    if len(ids) < len(objects):
        raise place.at(".objects").fault("each object_N once", [item.id for item in objects])
    relations = tuple(
        _relation(place.at(f".relationships[{index}]"), index, entry, ids)
        for index, entry in enumerate(_list(place.at(".relationships"), row["relationships"]))
    )
    return VideoGraph(
        video_id=row["video_id"],
        objects=tuple(objects),
        relations=relations,
        file_name=f"{part}/{row['video_id']}.mp4",
        source=part,
        span_unit="second",
        span_end="exclusive",
        extra={**extra, **relation_flags(relations, end="exclusive", length=None)},
    )


def _plain(place: Place, value: Any) -> Any:
    if not isinstance(value, (str, bool)) and not is_number(value):
        raise place.fault("a finite number", value)
    return value


def _list(place: Place, text: str | None) -> list[Any]:
    """The list that a JSON text holds; none where there is no text."""
    if text is None or not text.strip():
        return []
    if len(text) > strict_json.MAX_LINE_BYTES:
        raise place.fault(f"at most {strict_json.MAX_LINE_BYTES:,} characters", len(text))
    value = strict_json.parse(text, f"{place.path}: {one_line(place.where)}")
    found: list[Any] = place.checked(value, "a list", list)
    return found


def _object(place: Place, pointer: str, item: Any, extra: dict[str, Any]) -> Object:
    place.checked(item, "an object with a key object_N", dict)
    keys = [key for key in item if OBJECT.fullmatch(key)]
    if len(keys) != 1 or int(keys[0][len("object_") :]) > LARGEST:
        raise place.fault("one key object_N", list(item))
    attributes = place.texts(item, "attributes")
    typed = item.get("attributes_typed")
    types = None if typed is None else _types(place.at(".attributes_typed"), typed, attributes)
    if typed is not None and (types is None or typed != [dict(zip(TYPED, pair)) for pair in zip(types, attributes)]):
        extra[f"{pointer}/attributes_typed"] = place.at(".attributes_typed").any_json(typed)
    if typed is not None and types is None:
        extra[f"{pointer}/untyped_attributes"] = True
    for key, value in item.items():
        if key not in KNOWN and key not in keys:
            extra[f"{pointer}/{pointer_step(key)}"] = place.at(f".{key}").any_json(value)
    return Object(
        int(keys[0][len("object_") :]),
        place.get(item, keys[0], "a text", str),
        attributes=attributes,
        attribute_types=types,
        level=place.text(item, "level"),
    )


def _types(place: Place, typed: Any, attributes: tuple[str, ...]) -> tuple[str, ...] | None:
    """The type of each attribute, where each entry says its attribute and one text more; else nothing.

    Which key says which is not settled (see the card), so the attribute is known by its text.
    """
    place.checked(typed, "a list of objects", list)
    if len(typed) != len(attributes):
        return None
    types = []
    for entry, attribute in zip(typed, attributes):
        texts = [value for value in entry.values() if isinstance(value, str)] if isinstance(entry, dict) else []
        if len(texts) != 2 or attribute not in texts:
            return None
        texts.remove(attribute)
        types += texts
    return tuple(types)


def _relation(place: Place, position: int, row: Any, ids: set[int]) -> Relation:
    if not isinstance(row, list) or len(row) not in (3, 4, 5) or not isinstance(row[1], str):
        raise place.fault("[subject, predicate, object, [[start, end], …]]", row)
    for step in (0, 2):
        if not is_kind(row[step], int) or (row[step] != CAMERA and row[step] not in ids):
            raise place.at(f"[{step}]").fault(f"the number of one of the {len(ids)} objects, or -1", row[step])
    kind = row[4] if len(row) == 5 else None
    if kind is not None and not isinstance(kind, str):
        raise place.at("[4]").fault("the type of the relation as a text", kind)
    spans = row[3] if len(row) > 3 else None
    if spans is not None:
        place.at("[3]").checked(spans, "a list of [start, end]", list)
    raw = None if spans is None else tuple(_span(place.at(f"[3][{at}]"), span) for at, span in enumerate(spans))
    return Relation(
        row[0],
        row[2],
        row[1],
        id=position,
        type=kind,
        spans=None if raw is None else to_seconds(raw, unit="second", end="exclusive"),
        raw_spans=raw,
    )


def _span(place: Place, span: Any) -> tuple[float, float]:
    if not isinstance(span, list) or len(span) != 2 or not all(is_number(end) and abs(end) < LATEST for end in span):
        raise place.fault("[start, end] as two numbers of seconds", span)
    return float(span[0]), float(span[1])
