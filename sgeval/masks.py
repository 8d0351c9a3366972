"""Masks of segments: from an id-coded PNG to one box and one run-length code a segment, and back, in numpy.

A panoptic PNG holds ids as R + 256 G + 65536 B; others hold them as palette indices or grey values. 0 is nothing. A code is
`{"size": [height, width], "counts": text}`, COCO's compressed form: lengths of runs of 0 and 1 in turn, column by column,
beginning with 0. From the fourth run on the difference to the run two before stands in its place; a number is written in
groups of 5 bits, lowest first, each as the character 48 + group, plus 32 where more groups follow; the highest bit of the
last group is the sign.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sgeval.errors import BadImage, SgevalError, one_of, shown
from sgeval.images import MAX_PIXELS, Size, load_image, load_values
from sgeval.records import Box, SceneGraph

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ENCODINGS = ("palette_object_id", "grey_object_id", "rgb_object_id")
"""How a mask file holds the ids of objects: as palette indices, as 8- or 16-bit grey, as R + 256 G + 65536 B."""
CHARACTERS = re.compile("[0-o]*")
LONGEST = 7  # groups of 5 bits in a number; a picture has fewer than 2**31 pixels


def panoptic_ids(source: Any, expected: Size | None = None) -> "Array":
    """The segment ids of a panoptic PNG, an int32 array of (height, width). Raises `BadImage` as `load_image` does."""
    import numpy as np

    pixels = np.asarray(load_image(source, expected))
    ids = pixels[..., 2].astype(np.int32)
    for channel in (1, 0):
        ids <<= 8
        ids |= pixels[..., channel]
    return ids


def mask_ids(source: Any, encoding: str | None, expected: Size | None = None) -> "Array":
    """The ids of a mask file in one of the `ENCODINGS`, an int32 array of (height, width). Raises `BadImage` for a file that
    cannot be read, holds no such ids, or is of another size."""
    one_of("mask_encoding", encoding, ENCODINGS)
    return panoptic_ids(source, expected) if encoding == "rgb_object_id" else load_values(source, expected)


def areas_of_ids(ids: "Array") -> dict[int, int]:
    """How many pixels of a map each id has, ascending by id; 0 is left out.

    >>> import numpy as np
    >>> areas_of_ids(np.array([[7, 7, 0], [0, 5, 7]]))
    {5: 1, 7: 3}
    """
    import numpy as np

    flat = ids.ravel()
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1  # of runs, which are far fewer than pixels
    starts = np.append(0, edges)[: flat.size]
    numbers, owners = np.unique(flat[starts], return_inverse=True)
    areas = np.bincount(owners, weights=np.diff(starts, append=flat.size)).astype(np.int64)
    return {number: area for number, area in zip(numbers.tolist(), areas.tolist()) if number}


class Segment(NamedTuple):
    """What a map shows of one id: its box x, y, width, height in whole pixels, and its run-length code."""

    box: Box
    code: dict[str, Any]


def segment_codes(ids: "Array", of: Iterable[int] | None = None) -> dict[int, dict[str, Any]]:
    """The run-length code of each id of a map, as `segments`.

    >>> import numpy as np
    >>> segment_codes(np.array([[5, 0], [5, 5]]))
    {5: {'size': [2, 2], 'counts': '021O'}}
    """
    return {number: segment.code for number, segment in segments(ids, of).items()}


def segments(ids: "Array", of: Iterable[int] | None = None) -> dict[int, Segment]:
    """Box and run-length code of each id of a map, or of those ids `of` it that are asked for; 0 is left out.

    >>> import numpy as np
    >>> segments(np.array([[0, 0, 0], [0, 7, 7]]))[7].box
    (1.0, 1.0, 2.0, 1.0)
    """
    import numpy as np

    height, width = ids.shape
    if of is not None:
        ids = np.where(np.isin(ids, np.array(sorted(of), dtype=np.int64)), ids, 0)
    flat = ids.ravel(order="F")
    starts = np.concatenate(([0], np.flatnonzero(flat[1:] != flat[:-1]) + 1)) if flat.size else np.zeros(0, int)
    ends = np.append(starts[1:], flat.size) if flat.size else starts
    owners = flat[starts]
    order = np.argsort(owners, kind="stable")
    firsts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    codes = {}
    for runs in np.split(order, firsts[1:]) if flat.size else ():
        edges = np.stack((starts[runs], ends[runs]), axis=1).ravel()
        edges = np.concatenate(([0], edges, [flat.size] if edges[-1] < flat.size else []))
        if owners[runs[0]] != 0:
            counts = np.diff(edges).astype(int).tolist()
            code = {"size": [height, width], "counts": counts_text(counts)}
            codes[int(owners[runs[0]])] = Segment(_box_of_runs(starts[runs], ends[runs], height), code)
    return codes


def _box_of_runs(starts: "Array", ends: "Array", height: int) -> Box:
    """The box around runs that go down the columns; `ends` are one past the last pixel."""
    first, last = starts // height, (ends - 1) // height
    wraps = bool((first < last).any())  # a run over two columns touches the top and the bottom
    top, bottom = (0, height - 1) if wraps else (int((starts % height).min()), int(((ends - 1) % height).max()))
    left, right = int(first.min()), int(last.max())
    return float(left), float(top), float(right - left + 1), float(bottom - top + 1)


def box_of_code(code: Mapping[str, Any], place: str = "segmentation") -> Box | None:
    """The box x, y, width, height around a mask, in whole pixels; none around an empty one. Raises `SgevalError` as
    `checked_counts`.

    >>> box_of_code({"size": [2, 2], "counts": "021O"})
    (0.0, 0.0, 2.0, 2.0)
    """
    import numpy as np

    edges = np.cumsum(_runs(code, place))
    starts, ends = edges[0:-1:2], edges[1::2]
    has_pixels = starts < ends
    return _box_of_runs(starts[has_pixels], ends[has_pixels], code["size"][0]) if has_pixels.any() else None


def code_of_box(box: Box, size: Size) -> dict[str, Any]:
    """The run-length code of a box filled in, in a picture of (width, height): each pixel whose middle lies in the box.

    >>> code_of_box((1.0, 1.0, 2.0, 1.0), (3, 2)) == segment_codes(__import__("numpy").array([[0, 0, 0], [0, 7, 7]]))[7]
    True
    """
    import numpy as np

    width, height = size
    if not (width > 0 and height > 0 and width * height <= MAX_PIXELS):
        raise SgevalError(f"size: expected a width and a height of at most {MAX_PIXELS:,} pixels, got {shown([*size])}")
    x, y, w, h = box
    across, down = np.arange(width) + 0.5, np.arange(height) + 0.5
    mask = ((down >= y) & (down < y + h))[:, None] & ((across >= x) & (across < x + w))[None, :]
    codes = segment_codes(mask.astype(np.int32))
    return codes.get(1) or {"size": [height, width], "counts": counts_text([width * height])}


def record_codes(graph: SceneGraph, path: Path) -> list[dict[str, Any] | None]:
    """The code of each object of a record from its panoptic map, in order; none for an object without `segment_id`.

    Raises `BadImage` for a map of another size than the record's, and for a segment that the map does not show.
    """
    size = (graph.width, graph.height) if graph.width is not None and graph.height is not None else None
    asked = {item.segment_id for item in graph.objects if item.segment_id is not None}
    codes = segment_codes(panoptic_ids(path, size), asked)  # a stranger's map may hold millions of other ids
    check_segments(graph, path, codes)
    return [None if item.segment_id is None else codes[item.segment_id] for item in graph.objects]


def check_segments(graph: SceneGraph, path: Path, there: Collection[int]) -> None:
    """Raise `BadImage` for a segment of a record that is not among those that are `there` in its map."""
    for item in graph.objects:
        if item.segment_id is not None and item.segment_id not in there:
            place = f"{path}: image {shown(graph.image_id)}"
            raise BadImage(f"{place}: expected the segment {item.segment_id} of object {item.id}, got a map without it")


def counts_text(counts: Iterable[int]) -> str:
    """Runs in COCO's compressed form. Runs are whole numbers from 0 up.

    >>> counts_text([6, 1, 40, 4, 5, 4, 5, 4, 21])
    '61X13mN000`0'
    """
    out: list[str] = []
    before: list[int] = []
    for count in counts:
        number = count - before[-2] if len(before) > 2 else count
        before.append(count)
        while True:
            group, number = number & 31, number >> 5
            is_last = number == (-1 if group & 16 else 0)
            out.append(chr(48 + group + (0 if is_last else 32)))
            if is_last:
                break
    return "".join(out)


def checked_counts(code: Mapping[str, Any], place: str = "segmentation") -> list[int]:
    """The runs of a code that has been checked: size, characters, ends of numbers, and that the runs fill the picture.

    `counts` is a text, the same as bytes, or a list of runs, COCO's form without compression. Raises `SgevalError` with the
    place. No other code is to see a stranger's mask before this one.

    >>> checked_counts({"size": [9, 10], "counts": "61X13mN000`0"})
    [6, 1, 40, 4, 5, 4, 5, 4, 21]
    """
    runs: list[int] = _runs(code, place).tolist()
    return runs


def _runs(code: Mapping[str, Any], place: str) -> "Array":
    """What `checked_counts` gives, as an int64 array."""
    import numpy as np

    size, counts = code.get("size"), code.get("counts")
    if not (
        isinstance(size, (list, tuple)) and len(size) == 2 and all(type(side) is int and side > 0 for side in size)
    ):
        raise SgevalError(f"{place}.size: expected [height, width] in whole pixels from 1 up, got {shown(size)}")
    total = size[0] * size[1]
    if total > MAX_PIXELS:
        raise SgevalError(f"{place}.size: expected at most {MAX_PIXELS:,} pixels, got {size[1]} x {size[0]}")
    if isinstance(counts, list):
        return np.array(_listed(counts, total, place), dtype=np.int64)
    text = counts.decode("latin-1") if isinstance(counts, bytes) else counts
    if not isinstance(text, str) or not CHARACTERS.fullmatch(text):
        raise SgevalError(f'{place}.counts: expected a text of the characters "0" to "o", got {shown(text)}')
    if len(text) > LONGEST * (total + 2):  # a run a pixel, and an empty one at each end
        raise SgevalError(f"{place}.counts: expected at most {LONGEST * (total + 2):,} characters, got {len(text):,}")
    runs, rest = _numbers(text)
    for first in (1, 2):  # the first three stand as they are, the others as differences to the run two before
        runs[first::2].cumsum(out=runs[first::2])
    if runs.min(initial=0) < 0:
        raise _negative(int(runs[runs < 0][0]), place)
    if rest >= LONGEST:
        raise SgevalError(f"{place}.counts: expected numbers of at most {LONGEST} characters, got a longer one")
    if rest:
        raise SgevalError(f"{place}.counts: expected the end of the last number, got the end of the text")
    is_near = runs.max(initial=0) <= total  # 64 bits hold the sum
    _check_filled(int(runs.sum()) if is_near else sum(runs.tolist()), total, place)
    return runs


def _listed(runs: list[Any], total: int, place: str) -> list[int]:
    for run in runs:
        if type(run) is not int:
            raise SgevalError(f"{place}.counts: expected runs in whole pixels, got {shown(run)}")
        if run < 0:
            raise _negative(run, place)
    _check_filled(sum(runs), total, place)
    return runs


def _negative(run: int, place: str) -> SgevalError:
    return SgevalError(f"{place}.counts: expected runs of 0 pixels or more, got {shown(run)}")


def _check_filled(filled: int, total: int, place: str) -> None:
    if filled != total:
        raise SgevalError(f"{place}.counts: expected runs over {total} pixels, got {shown(filled)}")


def _numbers(text: str) -> tuple["Array", int]:
    """The numbers of a text up to its end or the first one that is too long, an int64 array; and of how many characters
    the one is that is left unread."""
    import numpy as np

    groups = np.frombuffer(text.encode("ascii"), dtype=np.uint8) - 48
    lasts = (groups < 32).nonzero()[0]
    firsts = np.zeros(lasts.size + 1, dtype=np.int64)
    np.add(lasts, 1, out=firsts[1:])
    lengths = firsts[1:] - firsts[:-1]
    rest = groups.size - int(firsts[-1])
    if lengths.max(initial=0) > LONGEST:
        n_read = int(np.argmax(lengths > LONGEST))
        rest = int(lengths[n_read])
        lasts, lengths = lasts[:n_read], lengths[:n_read]
    firsts = firsts[: lasts.size]
    numbers = (groups[firsts] & 31).astype(np.int64)
    step, reaching = 1, (lengths > 1).nonzero()[0]
    while reaching.size:
        numbers[reaching] |= (groups[firsts[reaching] + step] & 31).astype(np.int64) << 5 * step
        step += 1
        reaching = reaching[lengths[reaching] > step]
    numbers -= ((groups[lasts] & 16) >> 4).astype(np.int64) << 5 * lengths
    return numbers, rest


def mask_of(code: Mapping[str, Any], place: str = "segmentation") -> "Array":
    """The mask of a code, a bool array of (height, width). Raises `SgevalError` as `checked_counts`."""
    import numpy as np

    counts = _runs(code, place)
    values = np.arange(counts.size) % 2 == 1
    height, width = code["size"]
    return np.repeat(values, counts).reshape((height, width), order="F")
