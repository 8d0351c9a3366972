"""The filters of readers by name: `["drop_empty", "dedupe=triplet"]`. None is applied by itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sgeval.errors import SgevalError, one_of, shown
from sgeval.readers import filters as of_records
from sgeval.readers import video_filters as of_videos
from sgeval.schemas import Kind


@dataclass(frozen=True, slots=True)
class Filter:
    """What a name stands for, of pictures and of videos; null where it has no meaning."""

    image: Callable[[Any], Any] | None = None
    video: Callable[[Any], Any] | None = None

    def of(self, kind: Kind) -> Callable[[Any], Any] | None:
        """The step for records of a kind."""
        return self.image if kind == "image" else self.video


def _as_is(graph: Any) -> Any:
    return graph


FILTERS: Mapping[str, Filter] = {
    "drop_empty": Filter(_as_is, _as_is),  # the one that leaves records out: `filtered` does it
    "dedupe": Filter(_as_is),  # the one with a value
    "only_listed_predicates": Filter(of_records.only_listed_predicates, of_records.only_listed_predicates),
    "drop_crowd": Filter(of_records.drop_crowd),
    "clip_boxes": Filter(of_records.clip_boxes),
    "visible_only": Filter(of_records.visible_only, of_videos.visible_only),
    **{
        step.__name__: Filter(video=step)
        for step in (
            of_videos.drop_spans_outside,
            of_videos.clip_spans,
            of_videos.drop_odd_spans,
            of_videos.merge_spans,
            of_videos.merge_instances,
        )
    },
}


def filters_of(kind: Kind) -> list[str]:
    """The names of the filters that records of a kind have."""
    return [name for name, each in FILTERS.items() if each.of(kind) is not None]


def check_filters(filters: Any, kind: Kind) -> None:
    """Raise `SgevalError` for what is no list of filters, as `NAME` or `NAME=VALUE`, that records of a kind have.

    >>> check_filters(["dedup=triplet"], "image")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: filter of images: expected one of drop_empty, dedupe, ..., got "dedup"; did you mean "dedupe"?
    """
    if isinstance(filters, str) or not isinstance(filters, Sequence) or not all(isinstance(it, str) for it in filters):
        raise SgevalError(f"filters: expected a list of texts NAME or NAME=VALUE, got {shown(filters)}")
    for text in filters:
        _step(text, kind)


def filtered(graphs: Iterable[Any], filters: Sequence[str], kind: Kind) -> Iterator[Any]:
    """The records after each filter in turn, in the given order. Raises `SgevalError` as the filters do."""
    for text in filters:
        graphs = of_records.drop_empty(graphs) if text == "drop_empty" else map(_step(text, kind), graphs)
    return iter(graphs)


def _step(text: str, kind: Kind) -> Callable[[Any], Any]:
    name, mark, value = text.partition("=")
    one_of(f"filter of {kind}s", name, filters_of(kind))
    if name == "dedupe":
        return _dedupe(value, has_value=bool(mark))
    if mark:
        raise SgevalError(f"filter {name}: expected no value, got {shown(value)}")
    step = FILTERS[name].of(kind)
    assert step is not None
    return step


def _dedupe(value: str, *, has_value: bool) -> Callable[[Any], Any]:
    """`triplet`, `none`, or `pair_random` with a seed after a colon, 0 without one."""
    if not has_value:
        raise SgevalError(f"filter dedupe: expected one of {', '.join(get_args(of_records.Dedupe))}, got no value")
    how, mark, seed = value.partition(":")
    one_of("filter dedupe", how, get_args(of_records.Dedupe))
    if mark and (how != "pair_random" or not (seed.isascii() and seed.isdigit() and len(seed) < 19)):
        raise SgevalError(f"filter dedupe: expected none, triplet, pair_random or pair_random:SEED, got {shown(value)}")
    return lambda graph: of_records.dedupe(graph, how, seed=int(seed or 0))  # type: ignore[arg-type]
