"""The filters of readers by name: `["drop_empty", "dedupe=triplet"]`. None is applied by itself."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sgeval.data.kinds import DataSet
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


OF_TRACKS = "visible_only"
"""The filter of videos that takes a track for each object, and a rate."""


def filters_of(found: DataSet, config: str | None = None) -> list[str]:
    """The names of the filters that a data set can have, or one of its configs."""
    names = [name for name, each in FILTERS.items() if each.of(found.kind) is not None and name not in found.unfit]
    has_tracks = found.kind == "image" or (bool(found.tracked) if config is None else config in found.tracked)
    return [name for name in names if has_tracks or name != OF_TRACKS]


def filter_conditions(found: DataSet) -> dict[str, str]:
    """The filters that a data set can have, and of each what it takes, in words; empty for nothing.

    >>> from sgeval.data.sets import DATA_SETS
    >>> filter_conditions(DATA_SETS["vidor"])["visible_only"]
    'config tracks'
    """
    takes = [f"config {config}{f' with {option}' if option else ''}" for config, option in found.tracked.items()]
    of_tracks = " or ".join(takes) if found.kind == "video" else ""
    return {name: of_tracks if name == OF_TRACKS else "" for name in filters_of(found)}


def check_filters(filters: Any, found: DataSet, config: str, given: Collection[str] = ()) -> None:
    """Raise `SgevalError` for what is no list of filters, as `NAME` or `NAME=VALUE`, that records of a config have. `given`:
    the options that are given besides, by name.

    >>> from sgeval.data.sets import DATA_SETS
    >>> check_filters(["dedup=triplet"], DATA_SETS["psg"], "full")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: filter of psg: expected one of drop_empty, dedupe, ..., got "dedup"; did you mean "dedupe"?
    """
    if isinstance(filters, str) or not isinstance(filters, Sequence) or not all(isinstance(it, str) for it in filters):
        raise SgevalError(f"filters: expected a list of texts NAME or NAME=VALUE, got {shown(filters)}")
    for text in filters:
        name = text.partition("=")[0]
        allowed, why = filters_of(found, config), found.unfit.get(name)
        if why is not None or not allowed:
            expected = f"one of {', '.join(allowed)}" if allowed else "none"
            because = "" if why is None else f"; {why}"
            raise SgevalError(f"filter of {found.name}: expected {expected}, got {shown(name)}{because}")
        if name == OF_TRACKS and found.kind == "video":
            _check_tracked(found, config, given)
        one_of(f"filter of {found.name}", name, allowed)
        _step(text, found.kind)


def _check_tracked(found: DataSet, config: str, given: Collection[str]) -> None:
    """Raise `SgevalError` unless records of a config have tracks, or get them by what is given."""
    option = found.tracked.get(config)
    if option == "" or option in given:
        return
    ways = []
    for name, takes in found.tracked.items():
        flag = {"": "", "with_masks": " --with-masks"}.get(takes, f" --reader {takes}=VALUE")
        ways.append(f"the config {name}{f' with the option {takes}' if takes else ''} (--config {name}{flag})")
    got = f"the config {config}" + ("" if option is None else f" without {option}")
    raise SgevalError(f"filter {OF_TRACKS} of {found.name}: expected {' or '.join(ways)}, got {got}")


def around_tracks(filters: Sequence[str], *, are_drawn: bool) -> tuple[Sequence[str], Sequence[str]]:
    """The filters of what a reader gives, and from the first on that takes tracks those that wait until masks have drawn
    them; where none are drawn, none wait.

    >>> around_tracks(["drop_empty", "visible_only", "drop_empty"], are_drawn=True)
    (['drop_empty'], ['visible_only', 'drop_empty'])
    """
    first = filters.index(OF_TRACKS) if are_drawn and OF_TRACKS in filters else len(filters)
    return filters[:first], filters[first:]


def filtered(graphs: Iterable[Any], filters: Sequence[str], kind: Kind) -> Iterator[Any]:
    """The records after each filter in turn, in the given order. Raises `SgevalError` as the filters do."""
    for text in filters:
        graphs = of_records.drop_empty(graphs) if text == "drop_empty" else map(_step(text, kind), graphs)
    return iter(graphs)


def _step(text: str, kind: Kind) -> Callable[[Any], Any]:
    name, mark, value = text.partition("=")
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
