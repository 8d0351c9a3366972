"""From a plan to scores: decode ahead, encode in batches, commit each batch whole, go on where a run stopped."""

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from os import cpu_count
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from sgeval.cache import EmbeddingCache
from sgeval.errors import BadImage, OutOfMemory, Unfinished
from sgeval.images import load_image
from sgeval.journal import Journal
from sgeval.planning import Batch, Encoder, Floats, PicturePlan, batches
from sgeval.progress import bar
from sgeval.regions import Fit
from sgeval.shared_rows import cache_key

OnBadImage = Literal["error", "skip"]

_Scores = list[Floats | BadImage]
"""One entry a union of a batch."""

GPU_READERS = 16  # threads that decode and prepare for a GPU, cores permitting; beside a busy CPU one is enough
AHEAD = 2  # batches a reader that are prepared before they are needed
CROPS_AHEAD = 2048  # and no more crops than these, about 300 MB at 224 pixels
PAIRS = 128  # (region, text) pairs that a matching head is given at once; their image features are large


@dataclass(frozen=True)
class TextFeatures:
    """The features of all texts, and which texts were too long."""

    features: Any
    truncated: npt.NDArray[np.bool_]


def encode_texts(
    texts: Sequence[str],
    encoder: Encoder,
    *,
    batch_size: int = 32,
    journal: Journal | None = None,
    cache: EmbeddingCache | None = None,
) -> TextFeatures:
    """Encode each text once. Those of a committed batch, or in the cache, are not encoded again."""
    encode = _Splitting(encoder.encode_texts, np.concatenate)
    if encoder.score_rule == "itm":  # the texts of a matching head are tokens: cheap, and no embeddings
        journal = cache = None
    space = _space(encoder) if cache else ""
    order = sorted(range(len(texts)), key=lambda index: _length(texts[index]))  # like lengths together: less padding
    parts, cut = [], []
    for number, start in enumerate(bar(range(0, len(texts), batch_size), "texts", "batch")):
        part = [texts[index] for index in order[start : start + batch_size]]
        cut.append(encoder.truncated(part))
        digest = cache_key(*part) if journal else ""
        stored = journal.get("texts", number, digest) if journal else None
        if stored is not None:
            parts.append(np.frombuffer(stored, dtype="<f4").reshape(len(part), -1))
            continue
        found = _cached_texts(part, space, encode, cache) if cache else encode(part)
        if journal:
            journal.put("texts", number, digest, np.asarray(found, dtype="<f4").tobytes())
        parts.append(found)
    if not parts:
        return TextFeatures(np.zeros((0, 1), dtype=np.float32), np.zeros(0, dtype=bool))
    back = np.argsort(order)
    return TextFeatures(np.concatenate(parts)[back], np.concatenate(cut)[back])


def _cached_texts(part: Sequence[str], space: str, encode: Callable[[Any], Any], cache: EmbeddingCache) -> Any:
    keys = [cache_key("text", space, text) for text in part]
    return cache.fetch(keys, lambda missing: encode([part[index] for index in missing]))


def score_pictures(
    pictures: Iterable[PicturePlan | None],
    texts: Sequence[str],
    features: Any,
    encoder: Encoder,
    *,
    fit: Fit = "model",
    batch_size: int = 32,
    on_bad_image: OnBadImage = "error",
    journal: Journal | None = None,
    cache: EmbeddingCache | None = None,
) -> Iterator[list[Floats] | BadImage | None]:
    """Picture by picture, in order: the scores of each union with its texts (NaN where undefined), or why it cannot
    be read. A picture without a plan has none of these, and keeps its place.

    With `on_bad_image="error"` the caller will throw the scores away once a picture is bad: without a journal nothing
    more is encoded then, and with one a batch with a bad picture is not committed, so that it is done anew when the
    picture is mended.
    """
    if encoder.score_rule == "itm":  # what its image tower gives is a thousand times an embedding
        cache = None
    out = _Ordered()
    commits = _Commits(_Step(features, encoder, cache), journal, on_bad_image)
    window: deque[tuple[Batch, str, _Scores | None, Future[list[Any]] | None]] = deque()
    with _Reader(encoder, fit, batch_size, cache is not None) as reader:
        for batch in batches(out.seen(pictures), batch_size):
            digest = batch.digest(texts) if journal else ""
            stored = commits.stored(batch, digest)
            window.append((batch, digest, stored, None if stored else reader.submit(batch)))
            if len(window) > reader.ahead:
                out.take(window[0][0], commits.scores(*window.popleft()))
                yield from out.ready()
        while window:
            out.take(window[0][0], commits.scores(*window.popleft()))
            yield from out.ready()
    yield from out.ready()


def _length(text: str) -> tuple[int, int]:
    """What tells the number of a text's tokens: its words, then its characters."""
    return len(text.split()), len(text)


class _Commits:
    """Batch by batch: what was committed before, or what is scored and committed now."""

    def __init__(self, step: "_Step", journal: Journal | None, on_bad_image: OnBadImage) -> None:
        self.step, self.journal = step, journal
        self.stops_at_bad = on_bad_image == "error"
        self.failed = False

    def stored(self, batch: Batch, digest: str) -> _Scores | None:
        """The committed scores of a batch."""
        found = self.journal.get("regions", batch.number, digest) if self.journal else None
        if found is None:
            return None
        scores = _unpacked(found, batch)
        bad = [plan for (_, plan, _), value in zip(batch.members, scores, strict=True) if isinstance(value, BadImage)]
        # A disk that failed for a moment is no fault of the picture: what can be read by now is scored.
        return scores if all(isinstance(_decoded(plan), BadImage) for plan in bad) else None

    def scores(self, batch: Batch, digest: str, stored: _Scores | None, future: Future[list[Any]] | None) -> _Scores:
        """The scores of a batch: the stored ones, else of the crops that come with `future`."""
        if stored is not None or future is None:
            return stored or []
        crops = future.result()
        bad = any(isinstance(crop, BadImage) for crop in crops)
        self.failed |= bad
        if self.stops_at_bad and self.failed and self.journal is None:
            blank = [np.full(length, np.nan) for length in batch.lengths]
            return [crop if isinstance(crop, BadImage) else nan for crop, nan in zip(crops, blank, strict=True)]
        scores = self.step(batch, crops)
        if self.journal and not (bad and self.stops_at_bad):
            self.journal.put("regions", batch.number, digest, _packed(scores))
        return scores


def _packed(scores: _Scores) -> bytes:
    """A batch as bytes: the faults as JSON, then the scores as little-endian float64."""
    faults = {index: str(value) for index, value in enumerate(scores) if isinstance(value, BadImage)}
    values = [value for value in scores if not isinstance(value, BadImage)]
    return json.dumps(faults).encode() + b"\0" + b"".join(value.astype("<f8").tobytes() for value in values)


def _unpacked(payload: bytes, batch: Batch) -> _Scores:
    head, _, body = payload.partition(b"\0")
    faults = json.loads(head)
    values, start = np.frombuffer(body, dtype="<f8"), 0
    scores: _Scores = []
    for index, length in enumerate(batch.lengths):
        if str(index) in faults:
            scores.append(BadImage(faults[str(index)]))
        else:
            scores.append(values[start : start + length])
            start += length
    return scores


class _Step:
    """Encode the crops of a batch and score them with their texts; in smaller parts when memory runs out."""

    def __init__(self, features: Any, encoder: Encoder, cache: EmbeddingCache | None) -> None:
        self.features, self.encoder, self.cache = features, encoder, cache
        self._space = _space(encoder) if cache else ""
        self._scored = _Splitting(self._score, lambda parts: [value for part in parts for value in part])

    def __call__(self, batch: Batch, crops: Sequence[Any]) -> _Scores:
        whole = [index for index, crop in enumerate(crops) if not isinstance(crop, BadImage)]
        texts = [list(plan.texts[union]) for _, plan, union in batch.members]
        values = iter(self._scored([(crops[index], texts[index]) for index in whole]) if whole else [])
        return [crop if isinstance(crop, BadImage) else next(values) for crop in crops]

    def _score(self, work: Sequence[tuple[Any, list[int]]]) -> list[Floats]:
        regions = self._encoded([crop for crop, _ in work])
        lengths = [len(texts) for _, texts in work]
        rows = np.repeat(np.arange(len(work)), lengths)
        columns = np.array([text for _, texts in work for text in texts], dtype=np.int64)
        step = PAIRS if self.encoder.score_rule == "itm" else max(1, len(rows))
        try:
            parts = [
                self.encoder.score(regions[rows[start : start + step]], self.features[columns[start : start + step]])
                for start in range(0, len(rows), step)
            ]
        except MemoryError as fault:
            raise OutOfMemory(str(fault) or "no memory for the pairs of a batch") from None
        scores = np.concatenate(parts).astype(np.float64)
        scores[~np.isfinite(scores)] = np.nan
        return np.split(scores, np.cumsum(lengths)[:-1])

    def _encoded(self, crops: Sequence[Any]) -> Any:
        if self.cache is None:
            return self.encoder.encode_images(crops)
        keys = [cache_key("crop", self._space, repr(crop.size), crop.tobytes()) for crop in crops]
        prepare = self.encoder.prepare
        return self.cache.fetch(keys, lambda new: self.encoder.encode_images([prepare(crops[index]) for index in new]))


class _Splitting:
    """A function of a list that is called on halves when memory runs out, and from then on with no more at once."""

    def __init__(self, function: Callable[[Any], Any], join: Callable[[Sequence[Any]], Any]) -> None:
        self.function, self.join = function, join
        self.limit: int | None = None

    def __call__(self, work: Sequence[Any]) -> Any:
        while True:
            size = self.limit or len(work)
            try:
                parts = [self.function(work[start : start + size]) for start in range(0, len(work), size)]
            except OutOfMemory as fault:
                reason = str(fault)  # the fault itself keeps what failed alive, and that is the memory we need
            else:
                return parts[0] if len(parts) == 1 else self.join(parts)
            if size <= 1:
                raise Unfinished(
                    f"memory ran out with one region or text at a time ({reason}); free some of it, or take another device"
                )
            self.limit = size // 2
            words = f"memory ran out: no more than {self.limit} regions or texts are encoded at once from here on"
            warnings.warn(words, stacklevel=2)


class _Reader:
    """Decodes pictures and prepares their crops ahead of the encoder, in threads. A picture is decoded once.

    Threads and not processes: Pillow lets go of the interpreter while it decodes and resizes, pictures that exist only
    in memory need no copying, and nothing is left behind when a run is killed.
    """

    def __init__(self, encoder: Encoder, fit: Fit, batch_size: int, with_cache: bool) -> None:
        is_gpu = str(getattr(encoder, "device", "cpu")).startswith("cuda")
        readers = min(GPU_READERS, cpu_count() or 1) if is_gpu else 1
        self.ahead = min(AHEAD * readers, max(1, CROPS_AHEAD // batch_size))
        self._encoder, self._fit = encoder, fit
        self._prepare: Callable[[Image.Image], Any] = (lambda crop: crop) if with_cache else encoder.prepare
        self._pool = ThreadPoolExecutor(readers, thread_name_prefix="sgeval-reader")
        self._last: tuple[int, Future[Any]] | None = None

    def __enter__(self) -> "_Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, batch: Batch) -> Future[list[Any]]:
        """The prepared crops of a batch, or a `BadImage` in the place of one; in a while."""
        pictures: dict[int, Future[Any]] = {}
        for number, plan, _ in batch.members:
            if number not in pictures:
                is_last = self._last is not None and self._last[0] == number
                future = self._last[1] if self._last and is_last else self._pool.submit(_decoded, plan)
                pictures[number] = future
                self._last = (number, future)
        return self._pool.submit(self._crops, batch, pictures)  # decoding stands before it in the queue

    def _crops(self, batch: Batch, pictures: dict[int, Future[Any]]) -> list[Any]:
        crops: list[Any] = []
        for number, plan, union in batch.members:
            picture = pictures[number].result()
            if not isinstance(picture, BadImage):
                picture = self._prepare(fitted(picture.crop(plan.unions[union]), self._encoder, self._fit))
            crops.append(picture)
        return crops


def _decoded(plan: PicturePlan) -> Image.Image | BadImage:
    try:
        return load_image(plan.source, plan.size)
    except BadImage as fault:
        return fault


class _Ordered:
    """Gathers the scores of unions to those of pictures, and hands pictures out in order."""

    def __init__(self) -> None:
        self._open: deque[tuple[int, PicturePlan | None]] = deque()
        self._scores: dict[int, list[Floats]] = {}
        self._bad: dict[int, BadImage] = {}

    def seen(self, pictures: Iterable[PicturePlan | None]) -> Iterator[PicturePlan]:
        """Pass the plans on, remembering which pictures are under way."""
        planned = 0  # pictures are numbered as those who get the plans count them
        for plan in pictures:
            self._open.append((planned, plan))
            if plan is not None:
                self._scores[planned] = []
                planned += 1
                yield plan

    def take(self, batch: Batch, scores: _Scores) -> None:
        """Add the scores of a batch."""
        for (number, _, _), value in zip(batch.members, scores, strict=True):
            if isinstance(value, BadImage):
                self._bad[number] = value
                value = np.empty(0)
            self._scores[number].append(value)

    def ready(self) -> Iterator[list[Floats] | BadImage | None]:
        """The pictures at the front whose unions have all been scored, or that have none."""
        while self._open:
            number, plan = self._open[0]
            if plan is not None and len(self._scores[number]) < len(plan.unions):
                return
            self._open.popleft()
            yield None if plan is None else self._bad.pop(number, self._scores.pop(number))


def fitted(crop: Image.Image, encoder: Encoder, fit: Fit) -> Image.Image:
    """The crop as the `fit` option wants it handed to the encoder."""
    if fit == "squash":
        return crop.resize((encoder.image_size, encoder.image_size), Image.Resampling.BICUBIC)
    if fit == "pad" and encoder.image_mode != "longest":
        side = max(crop.size)
        square = Image.new("RGB", (side, side), encoder.fill)
        square.paste(crop, ((side - crop.width) // 2, (side - crop.height) // 2))
        return square
    return crop


def _space(encoder: Encoder) -> str:
    """What an embedding depends on beside its crop or text: the encoder, its device, and the libraries that compute it."""
    parts = {name: value for name, value in encoder.signature().items() if name != "score"}
    if parts.get("weights"):
        del parts["model"]  # two names of the same weights share their embeddings
    device = str(getattr(encoder, "device", "cpu")).partition(":")[0]
    return repr((sorted(parts.items()), device, *map(version, ("torch", "pillow"))))
