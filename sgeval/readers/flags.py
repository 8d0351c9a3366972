"""What is odd about a video's record and kept all the same: flags in `extra`, by JSON pointer.

Readers set them, `sgeval data info` counts them. The value is a list of positions among the relation's spans, a number, or
true. A predicate outside the class list has no flag, since `predicate_id` says it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sgeval.records import CAMERA, Relation, VideoGraph
from sgeval.spans import SpanEnd, merged, odd_spans, to_raw

RELATION_FLAGS = {
    "inverted": "relations with spans that end before they start",
    "empty": "relations with spans of no length",
    "no_spans": "relations with an empty list of spans",
    "overlapping": "relations with spans that overlap each other",
    "beyond_clip": "relations with spans that reach beyond the clip",
    "repeats": "relations whose triplet an earlier one has",
    "absent_frames": "relations that hold while an end of theirs is not to be seen",
}
"""What each `/relations/N/WORD` says, in words."""
OBJECT_FLAGS = {
    "stuff_as_thing": "instances of a class of stuff, in masks",
    "thing_without_instance": "things whose masks do not tell instances apart",
    "not_in_masks": "objects that some masks do not show where they are said to be seen",
    "only_in_masks": "objects that some masks show where they are not said to be seen",
    "inverted_boxes": "objects with boxes whose last corner lies before the first",
    "in_no_mask": "objects that no mask shows",
    "no_mask": "objects without a mask in any frame, since there is no column for them",
    "other_areas": "objects that some masks show with another area than the file says",
    "untyped_attributes": "objects whose typed attributes are not those that they have",
}
"""The same of each `/objects/N/WORD`."""
VIDEO_FLAGS = {
    "/num_frames/beyond_trajectories": "videos that are said to have more frames than have boxes",
    "/num_frames/beyond_frame_count": "videos with boxes in more frames than they are said to have",
    "/duration/differs_from_frames": "videos whose duration is not that of their frames",
    "/video_id/not_the_file": "videos whose id is not the name of their file",
    "/source/unlisted": "videos that no split names",
    "/mask_files/unlisted_ids": "videos whose masks show ids that no object has",
    "/mask_files/missing": "videos with frames that have no mask",
    "/masks/unlisted_ids": "videos whose masks show ids that no object has",
    "/masks/missing": "videos without masks",
}

PICTURE_FLAGS = {
    "/objects/repeats": "objects with the id of an earlier one of their picture",
    "/objects/found_in": "objects that only relations name",
    "/file_name/not_in_map": "pictures that the map of paths does not have",
    "/in_image_data/repeats": "pictures with several entries in image_data.json",
}
"""What flags of pictures say, in words, positions left out."""

OF_FRAMES = ("not_in_masks", "only_in_masks", "other_areas", "inverted_boxes", "missing", "unlisted_ids")
"""The last step of flags whose value is a list of frames, or such lists by id."""

OF_PARTS = {"objects": OBJECT_FLAGS, "relations": RELATION_FLAGS}


def flag_words(pointer: str) -> str | None:
    """What a key of `extra` says if it is a flag; else nothing.

    >>> flag_words("/relations/3/empty"), flag_words("/objects/3/empty"), flag_words("summary")
    ('relations with spans of no length', None, None)
    """
    steps = pointer.split("/")
    if len(steps) == 4 and steps[1] in OF_PARTS and steps[2].isdigit():
        return OF_PARTS[steps[1]].get(steps[3])
    return VIDEO_FLAGS.get(pointer)


def picture_flag_words(pointer: str) -> str | None:
    """The same of a picture's record.

    >>> picture_flag_words("/objects/3/repeats"), picture_flag_words("/objects/3/synsets")
    ('objects with the id of an earlier one of their picture', None)
    """
    return PICTURE_FLAGS.get("/".join(step for step in pointer.split("/") if not step.isdigit()))


def first_frame(pointer: str, value: Any) -> int | None:
    """The first frame that a flag names, if it names some.

    >>> first_frame("/mask_files/unlisted_ids", {"9": [5], "7": [4, 8]}), first_frame("/relations/0/empty", [2])
    (4, None)
    """
    if pointer.split("/")[-1] not in OF_FRAMES:
        return None
    lists = value.values() if isinstance(value, Mapping) else [value]
    frames = [frame for each in lists if isinstance(each, list) for frame in each]
    return min((frame for frame in frames if type(frame) is int), default=None)  # a file may have a key of that name


def relation_flags(relations: Sequence[Relation], *, end: SpanEnd, length: float | None) -> dict[str, Any]:
    """The flags that spans and triplets give. `length`: the clip's, in the unit of `raw_spans`.

    >>> twice = [Relation(1, 2, "on", raw_spans=((0.0, 7.0),)), Relation(1, 2, "on", raw_spans=((3.0, 2.0),))]
    >>> relation_flags(twice, end="inclusive", length=6)
    {'/relations/0/beyond_clip': [0], '/relations/1/inverted': [0], '/relations/1/empty': [0], '/relations/1/repeats': 0}
    """
    flags: dict[str, Any] = {}
    for number, relation in enumerate(relations):
        for word, positions in odd_spans(relation.raw_spans or (), end=end, length=length).items():
            flags[f"/relations/{number}/{word}"] = positions
        if relation.raw_spans is not None and not relation.raw_spans:
            flags[f"/relations/{number}/no_spans"] = True
    return {**flags, **repeats(relations)}


def repeats(relations: Sequence[Relation]) -> dict[str, int]:
    """The flags of relations whose triplet an earlier one has: its position.

    >>> repeats([Relation(1, 2, "on"), Relation(2, 1, "on"), Relation(1, 2, "on")])
    {'/relations/2/repeats': 0}
    """
    flags: dict[str, int] = {}
    first: dict[tuple[int, int, str], int] = {}
    for number, relation in enumerate(relations):
        earlier = first.setdefault((relation.subject_id, relation.object_id, relation.predicate), number)
        if earlier != number:
            flags[f"/relations/{number}/repeats"] = earlier
    return flags


def absent_flags(
    graph: VideoGraph, seen: Mapping[int, Sequence[int]] | None = None, known: Sequence[int] | None = None
) -> dict[str, Any]:
    """In how many frames of its spans one of a relation's ends is not to be seen; the flag is left out for none.

    `seen`: the frames of each object, ascending; by default those of its track. `known`: the frames of which it is known who
    is to be seen, ascending; by default all `num_frames`. The camera is always there.
    """
    if seen is None:
        seen = {item.id: sorted({point.frame for point in item.track or ()}) for item in graph.objects}
    arrays = {number: np.asarray(frames, dtype=np.int64) for number, frames in seen.items()}
    looked_at = None if known is None else np.asarray(known, dtype=np.int64)
    flags: dict[str, Any] = {}
    both: dict[tuple[int, int], Any] = {}
    for number, relation in enumerate(graph.relations):
        ends = (relation.subject_id, relation.object_id)
        if ends not in both:
            there = [arrays[end] for end in ends if end != CAMERA]
            both[ends] = np.intersect1d(there[0], there[-1], assume_unique=True) if there else None
        absent = 0
        for first, last in frame_ranges(graph, relation):
            absent += last - first if looked_at is None else _between(looked_at, first, last)
            absent -= last - first if both[ends] is None else _between(both[ends], first, last)
        if absent > 0:
            flags[f"/relations/{number}/absent_frames"] = absent
    return flags


def _between(frames: Any, first: int, last: int) -> int:
    low, high = np.searchsorted(frames, (first, last))
    return int(high - low)


def frame_ranges(graph: VideoGraph, relation: Relation) -> list[tuple[int, int]]:
    """The frames of a relation's spans that lie in the clip, each run by its first and one past its last, no frame twice.

    >>> pair = Relation(1, 2, "on", spans=((0.0, 0.6), (0.4, 0.8), (2.0, 9.0)))
    >>> frame_ranges(VideoGraph("7", fps=5.0, num_frames=12), pair)
    [(0, 4), (10, 12)]
    """
    n_frames = graph.num_frames or 0
    frames = to_raw(relation.spans or (), unit="frame", end="exclusive", fps=graph.fps)
    inside = [(max(0, int(start)), min(n_frames, int(stop))) for start, stop in merged(frames)]
    return [(first, last) for first, last in inside if first < last]
