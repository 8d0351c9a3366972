"""SSG (Situational Scene Graph, on the frames of Action Genome) as its files say it: one record a frame, in file order.

The form. `ssg_dataset.pkl` is `{"VIDEO.mp4/000123.png": [object, …]}`; an object holds `class`, `bbox` (x, y, width,
height, or nothing), `visible`, `metadata` (`tag`, and `set`: train or test), three lists of predicates
(`attention_relationship`, `spatial_relationship`, `contacting_relationship`; nothing for an invisible object),
`attributes` (`{role: value}`) and `contacting_relationship_semantic_role_frame`, a list of
`{"contacting_relationship": verb, "frame": {role: value}}` whose entries may be empty. `ag_ssg_combined_person.pkl` is
`{frame: {"bbox": (n, 4) corners x0, y0, x1, y1, "bbox_score", "bbox_size": (width, height), "bbox_mode": "xyxy",
"keypoints", "attributes": {role: value}}}`. Objects are thus x, y, width, height and persons are corners.

The record. The person is object 0, the objects of the file are 1, 2, …; `roles` are the attributes in the file's order.
Each predicate of an object is one relation, with its `type`: "attention" and "contacting" go from the person to the
object, "spatial" from the object to the person. A contact has the roles of the semantic frame of its verb: the n-th
mention of a verb belongs to its n-th frame. Which frames there are says `ssg_dataset.pkl`; `frame_index` is the number
in the file's name, which ffmpeg counts from 1. `category_id` and `predicate_id` count through `ssg_classes`, from 0; -1
is a name outside these lists.

In `extra`: `set`; under `/objects/N/` the `visible` that is false, `bbox_score` and `other_boxes` of the person, frames
that name no verb as `frames_without_verb`, and keys that the form does not know; under `/relations/N/` a `framed` that is
false for a contact without a semantic frame, and a `listed` that is false for a contact that only a semantic frame names
(it stands after the others). The keypoints of the person and the tags of the objects come on request.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers.place import NOTHING, Place, is_number, pointer_step
from sgeval.readers.safe_pickle import read_pickle
from sgeval.readers.ssg_subset import SsgExclusion, left_over
from sgeval.records import Box, Object, Relation, Role, SceneGraph

SsgConfig = Literal["default", "released_subset"]
SsgExtra = Literal["tag", "keypoints"]

SPLITS = ("train", "test")
OBJECTS, PERSONS = "ssg_dataset.pkl", "ag_ssg_combined_person.pkl"
OBJECT_CLASSES, PREDICATES = "object_classes.txt", "relationship_classes.txt"
ROLES, NOUN_VALUES, RELATION_VALUES = "roles.txt", "noun_role_values.txt", "relation_role_values.txt"
HOME = "https://github.com/LUNAProject22/SSG"
SOURCE = f"the SSG annotations, from the Google Drive folder that {HOME} links"

N_NOUN_ROLES = 21  # the first lines of roles.txt are roles of persons and objects, the others of verbs

# Both lists of names leave out what stands between words; the pickles have it.
SEPARATED = {
    re.sub("[/_]", "", name): name
    for name in (
        *("closet/cabinet", "cup/glass/bottle", "paper/notebook", "phone/camera", "sofa/couch"),
        *("looking_at", "not_looking_at", "in_front_of", "on_the_side_of", "covered_by", "drinking_from"),
        *("have_it_on_the_back", "leaning_on", "lying_on", "not_contacting", "other_relationship", "sitting_on"),
        *("standing_on", "writing_on"),
    )
}

FRAME = r"([^/]+)/(\d{1,9})\.\w+"  # VIDEO.mp4/000123.png
VERB, ROLE_FRAMES = "contacting_relationship", "contacting_relationship_semantic_role_frame"
LISTS = {"attention": "attention_relationship", "spatial": "spatial_relationship", "contacting": VERB}
OBJECT_KEYS = frozenset(("class", "bbox", "visible", "metadata", "attributes", *LISTS.values(), ROLE_FRAMES))
PERSON_KEYS = frozenset(("bbox", "bbox_size", "bbox_mode", "attributes"))


@dataclass(frozen=True, slots=True)
class SsgClasses:
    """The lists of an SSG folder, one name a line. A category_id is a position in `objects`, a predicate_id in
    `predicates` (3 of attention, 6 of space, then the contacts)."""

    objects: tuple[str, ...]
    predicates: tuple[str, ...]
    noun_roles: tuple[str, ...]
    relation_roles: tuple[str, ...]
    noun_values: tuple[str, ...]
    relation_values: tuple[str, ...]


def read_ssg(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: SsgConfig = "default",
    exclude: Collection[SsgExclusion] = (),
    videos: Collection[str] | None = None,
    keep: Collection[SsgExtra] = (),
) -> Iterator[SceneGraph]:
    """Scene graphs of the frames in a folder that holds the SSG files (itself or in `data/`), in file order.

    `split`: "train" or "test", which the `set` of a frame's first object says; a frame without objects is in neither.
    `videos`: only frames of these, named as in the file ("001YG.mp4"). `keep`: what goes to `extra` on request.

    Nothing is left out by itself. `exclude` names what is to be: objects that are "invisible"; objects whose one contact
    is other_relationship ("only_other_relationship"); "contacts_without_frame"; the roles "state_and_purpose" of objects;
    frames with "no_person_box", with "no_person_roles", with "no_objects" left; and "short_videos", of which fewer than
    three frames of one split are left. What remains keeps its ids.

    `config="released_subset"` excludes all of these, as the authors' released reader does. That reader also takes only
    the videos of a list in its code, less 18 that it calls faulty. No file of the data set holds these lists, so they
    cannot be told from here: without `videos` the subset is larger than the one the released code trains and tests on.
    It also takes the contacts of an object in the order of their semantic frames, here they stand as they are listed.

    Raises `SgevalError`: at once for unknown names and for files that are not there; while reading, for a file that is
    not in the SSG form, with file, frame, what was expected and what stands there. Pickles are read as data only
    (`sgeval.readers.safe_pickle`).

    >>> read_ssg(".", "validation")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, test, or none, got "validation"
    """
    one_of("config", config, get_args(SsgConfig))
    if split is not None:
        one_of("split", split, SPLITS, ", or none")
    for option, given in (("exclude", exclude), ("keep", keep), ("videos", videos)):
        if isinstance(given, str):
            raise SgevalError(f"{option}: expected a list of names, got {shown(given)}")
    for exclusion in exclude:
        one_of("exclude", exclusion, get_args(SsgExclusion))
    for extra in keep:
        one_of("keep", extra, get_args(SsgExtra))
    folder = _folder(Path(data_dir), (OBJECTS, PERSONS, OBJECT_CLASSES, PREDICATES))
    without = frozenset(get_args(SsgExclusion) if config == "released_subset" else exclude)
    return left_over(_read(folder, split, videos, frozenset(keep)), without)


def ssg_classes(data_dir: str | Path) -> SsgClasses:
    """The class and role lists of an SSG folder, with the names as the pickles spell them ("cup/glass/bottle").

    Raises `SgevalError` as `read_ssg`.
    """
    folder = _folder(Path(data_dir), (OBJECT_CLASSES, PREDICATES, ROLES, NOUN_VALUES, RELATION_VALUES))
    roles = _lines(folder / ROLES)
    if len(roles) < N_NOUN_ROLES:
        raise SgevalError(f"{folder / ROLES}: expected at least {N_NOUN_ROLES} roles, got {len(roles)}")
    return SsgClasses(
        _names(folder / OBJECT_CLASSES),
        _names(folder / PREDICATES),
        roles[:N_NOUN_ROLES],
        roles[N_NOUN_ROLES:],
        _lines(folder / NOUN_VALUES),
        _lines(folder / RELATION_VALUES),
    )


def _folder(data_dir: Path, needed: Sequence[str]) -> Path:
    expected = f"{', '.join(needed)} ({SOURCE})"
    if not data_dir.is_dir():
        raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {one_line(str(data_dir))}")
    there = {folder: [name for name in needed if (folder / name).is_file()] for folder in (data_dir, data_dir / "data")}
    folder = max(there, key=lambda folder: len(there[folder]))  # the first of equals
    if len(there[folder]) < len(needed):
        got = f"only {', '.join(there[folder])}" if there[folder] else "none of them"
        raise SgevalError(f"{folder}: expected {expected}, got {got}")
    return folder


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(strict_json.read_text(path).rstrip("\r\n").splitlines())


def _names(path: Path) -> tuple[str, ...]:
    return tuple(SEPARATED.get(name, name) for name in _lines(path))


def _read(
    folder: Path, split: str | None, videos: Collection[str] | None, keep: frozenset[str]
) -> Iterator[SceneGraph]:
    source = _Source(folder, keep)
    if videos is not None and not {key.split("/")[0] for key in source.frames} & {*videos}:
        raise SgevalError(f"videos: expected names of videos as {OBJECTS} has them, got {shown(sorted(videos))}")
    for key in source.frames:
        graph = source.graph(key)
        if (split is None or graph.extra.get("set") == split) and (videos is None or graph.video_id in videos):
            yield graph


class _Source:
    """The parsed files. A frame is checked when it is built."""

    def __init__(self, folder: Path, keep: frozenset[str]) -> None:
        self.objects, self.persons = Place(folder / OBJECTS), Place(folder / PERSONS)
        self.keep = keep
        self.category_ids = {name: rank for rank, name in enumerate(_names(folder / OBJECT_CLASSES))}
        self.predicate_ids = {name: rank for rank, name in enumerate(_names(folder / PREDICATES))}
        self.frames = _frames(self.objects)
        self.person_of = _frames(self.persons)
        if self.frames and not self.frames.keys() & self.person_of.keys():
            raise self.persons.fault(f"persons of the frames in {OBJECTS}", next(iter(self.person_of), NOTHING))

    def graph(self, key: str) -> SceneGraph:
        """The record of a frame."""
        place = self.objects.at(shown(key))
        name = re.fullmatch(FRAME, key, re.ASCII)
        if name is None:
            raise self.objects.fault("frames named VIDEO/NUMBER.png", key)
        items = place.checked(self.frames[key], "a list of objects", list)
        frame = _Frame(self)
        size = frame.add_person(self.persons.at(shown(key)), self.person_of.get(key))
        for index, item in enumerate(items):
            frame.add_object(place.at(f"[{index}]"), item)
        return SceneGraph(
            image_id=key,
            objects=tuple(frame.objects),
            relations=tuple(frame.relations),
            file_name=key,
            width=size[0],
            height=size[1],
            source="ssg",
            video_id=name[1],
            frame_index=int(name[2]),
            extra=frame.extra,
        )


class _Frame:
    """A record that is being put together."""

    def __init__(self, source: _Source) -> None:
        self.source = source
        self.objects: list[Object] = []
        self.relations: list[Relation] = []
        self.extra: dict[str, Any] = {}

    def add_person(self, place: Place, item: Any) -> tuple[int, int] | tuple[None, None]:
        """Add object 0; the size of the picture. A frame that the persons' file lacks has a person all the same."""
        if item is None:
            self.objects.append(Object(0, "person", category_id=self.source.category_ids.get("person", -1)))
            return None, None
        place.checked(item, "a person", dict)
        if place.at(".bbox_mode").checked(item.get("bbox_mode", "xyxy"), '"xyxy" (corners)', str) != "xyxy":
            raise place.at(".bbox_mode").fault('"xyxy" (corners)', item["bbox_mode"])
        boxes = [] if item.get("bbox") is None else _corner_boxes(place.at(".bbox"), item["bbox"])
        roles = _roles(place.at(".attributes"), item.get("attributes"))
        category_id = self.source.category_ids.get("person", -1)
        self.objects.append(Object(0, "person", boxes[0] if boxes else None, category_id, roles=roles))
        if len(boxes) > 1:
            self.extra["/objects/0/other_boxes"] = [list(box) for box in boxes[1:]]
        self._keep_rest(place, item, PERSON_KEYS)
        if item.get("bbox_size") is None:
            return None, None
        place, expected = place.at(".bbox_size"), "[width, height] in whole pixels from 1 up"
        width, height = place.numbers(_listed(item["bbox_size"]), 2, expected)
        if not width.is_integer() or not height.is_integer() or min(width, height) < 1:
            raise place.fault(expected, _listed(item["bbox_size"]))
        return int(width), int(height)

    def add_object(self, place: Place, item: Any) -> None:
        """Add the next object and its relations."""
        category = place.get(item, "class", "a text", str)
        bbox = item.get("bbox")
        if bbox is not None:
            bbox = place.at(".bbox").numbers(_listed(bbox), 4, "four numbers [x, y, width, height], or null")
        roles = _roles(place.at(".attributes"), item.get("attributes"))
        number = len(self.objects)
        self.objects.append(Object(number, category, bbox, self.source.category_ids.get(category, -1), roles=roles))
        if not place.get(item, "visible", "true or false", bool):
            self.extra[f"/objects/{number}/visible"] = False
        self._metadata(place.at(".metadata"), item.get("metadata"))
        self._keep_rest(place, item, OBJECT_KEYS)
        lists = {kind: _texts(place.at(f".{key}"), item.get(key)) for kind, key in LISTS.items()}
        for predicate in lists["attention"]:
            self._relate("attention", predicate)
        for predicate in lists["spatial"]:
            self._relate("spatial", predicate)
        self._contacts(lists["contacting"], _role_frames(place.at(f".{ROLE_FRAMES}"), item.get(ROLE_FRAMES)))

    def _contacts(self, verbs: Sequence[str], frames: list[tuple[str | None, tuple[Role, ...]]]) -> None:
        """The contacts of the last object, each with the roles of its frame."""
        for verb in verbs:
            position = next((at for at, (of, _) in enumerate(frames) if of == verb), None)
            if position is None:
                self.extra[f"/relations/{len(self.relations)}/framed"] = False
            self._relate("contacting", verb, () if position is None else frames.pop(position)[1])
        loose = [{role.role: role.value for role in roles} for named, roles in frames if named is None and roles]
        if loose:
            self.extra[f"/objects/{len(self.objects) - 1}/frames_without_verb"] = loose
        for named, roles in frames:
            if named is not None:
                self.extra[f"/relations/{len(self.relations)}/listed"] = False
                self._relate("contacting", named, roles)

    def _relate(self, kind: str, predicate: str, roles: tuple[Role, ...] = ()) -> None:
        """A relation between the person and the last object."""
        last = len(self.objects) - 1
        subject_id, object_id = (last, 0) if kind == "spatial" else (0, last)
        predicate_id = self.source.predicate_ids.get(predicate, -1)
        number = len(self.relations)
        self.relations.append(Relation(subject_id, object_id, predicate, number, predicate_id, kind, roles=roles))

    def _metadata(self, place: Place, metadata: Any) -> None:
        """The split of the frame, which its first object says, and what another object says beside it."""
        number = len(self.objects) - 1
        if number == 1:
            self.extra["set"] = place.get(metadata, "set", '"train" or "test"', str)
            if self.extra["set"] not in SPLITS:
                raise place.at(".set").fault('"train" or "test"', self.extra["set"])
        for key, value in place.checked({} if metadata is None else metadata, "an object", dict).items():
            plain = _plain(place.at(f".{key}"), value)
            if key in self.source.keep if key == "tag" else (key, plain) != ("set", self.extra["set"]):
                self.extra[f"/objects/{number}/metadata/{pointer_step(key)}"] = plain

    def _keep_rest(self, place: Place, item: Mapping[Any, Any], known: frozenset[str]) -> None:
        """What the form has no place for."""
        for key, value in item.items():
            if key not in known and (key != "keypoints" or key in self.source.keep):
                self.extra[f"/objects/{len(self.objects) - 1}/{pointer_step(key)}"] = _plain(place.at(f".{key}"), value)


def _frames(place: Place) -> dict[str, Any]:
    frames: dict[str, Any] = place.checked(read_pickle(place.path), "an object from frame to annotation", dict)
    for key in frames:
        place.checked(key, "frames named VIDEO/NUMBER.png", str)
    return frames


def _corner_boxes(place: Place, rows: Any) -> list[Box]:
    boxes: list[Box] = []
    for index, row in enumerate(_listed(rows)):
        expected = "four numbers [x0, y0, x1, y1]"
        left, top, right, bottom = place.at(f"[{index}]").numbers(_listed(row), 4, expected)
        boxes.append((left, top, right - left, bottom - top))
    return boxes


def _roles(place: Place, attributes: Any) -> tuple[Role, ...]:
    given = place.checked({} if attributes is None else attributes, "an object from role to value", dict)
    for role, value in given.items():
        place.checked(role, "roles that are texts", str)
        place.at(f".{role}").checked(value, "a text", str)
    return tuple(Role(role, value) for role, value in given.items())


def _texts(place: Place, names: Any) -> tuple[str, ...]:
    given = place.checked(() if names is None else names, "a list of predicates, or null", (list, tuple))
    return tuple(place.at(f"[{index}]").checked(name, "a text", str) for index, name in enumerate(given))


def _role_frames(place: Place, entries: Any) -> list[tuple[str | None, tuple[Role, ...]]]:
    """Verb and roles of each entry; an empty entry has neither."""
    frames: list[tuple[str | None, tuple[Role, ...]]] = []
    for index, entry in enumerate(place.checked([] if entries is None else entries, "a list of semantic frames", list)):
        at = place.at(f"[{index}]")
        verb = at.checked(entry, "an object", dict).get(VERB)
        if verb is not None:
            at.at(f".{VERB}").checked(verb, "a text", str)
        frames.append((verb, _roles(at.at(".frame"), entry.get("frame"))))
    return frames


def _listed(value: Any) -> list[Any]:
    """An array, tuple or list as a list; anything else as a list of itself, which is then no row of numbers."""
    if isinstance(value, np.ndarray):
        listed = value.tolist()
        return listed if isinstance(listed, list) else [listed]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _plain(place: Place, value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return [_plain(place, entry) for entry in _listed(value)]
    if isinstance(value, dict):
        return {str(key): _plain(place, entry) for key, entry in value.items()}
    if value is None or isinstance(value, (str, bool)) or is_number(value):
        return value
    raise place.fault("texts, finite numbers, lists and objects", value)
