"""Named steps on the time of relations, by hand."""

from dataclasses import replace

import pytest
from data_kit import FILES, records

from sgeval.errors import SgevalError
from sgeval.readers import filters, video_filters
from sgeval.readers.flags import absent_flags, frame_ranges
from sgeval.records import CAMERA, Object, Relation, TrackPoint, VideoGraph
from sgeval.spans import to_seconds


def graph(*relations, track=None, **more):
    """A clip of 10 frames at 5 a second, with frames counted inclusively."""
    tracks = track or {}
    objects = tuple(
        Object(number, "thing", track=tuple(TrackPoint(at) for at in tracks[number]) if track else None)
        for number in (1, 2)
    )
    built = tuple(
        Relation(
            1, 2, name, number, predicate_id, raw_spans=tuple((float(start), float(stop)) for start, stop in raw),
            spans=to_seconds(raw, unit="frame", end="inclusive", fps=5.0),
        )
        for number, (name, predicate_id, raw) in enumerate(relations)
    )  # fmt: skip
    plain = {"fps": 5.0, "num_frames": 10, "span_unit": "frame", "span_end": "inclusive"}
    return VideoGraph("7", objects, built, **{**plain, **more})


def raw(found):
    return [(relation.predicate, list(relation.raw_spans)) for relation in found.relations]


def flags(found):
    return {key: value for key, value in found.extra.items() if key.startswith("/relations/")}


def test_drop_spans_outside():
    """Frames 0 to 9. [8, 12] reaches in, [10, 12] begins at the end, [-3, -1] ends where it begins, [-3, 0] has frame 0."""
    found = video_filters.drop_spans_outside(
        graph(("a", 0, [(8, 12), (10, 12)]), ("b", 0, [(20, 30)]), ("c", 0, [(-3, -1)]), ("d", 0, [(-3, 0)]))
    )
    assert raw(found) == [("a", [(8, 12)]), ("d", [(-3, 0)])]
    assert flags(found) == {"/relations/0/beyond_clip": [0], "/relations/1/beyond_clip": [0]}


def test_clip_spans():
    found = video_filters.clip_spans(graph(("a", 0, [(8, 12), (10, 12)]), ("b", 0, [(5, 2)]), ("c", 0, [(-3, 0)])))
    assert raw(found) == [("a", [(8, 9)]), ("c", [(0, 0)])]
    assert found.relations[0].spans == ((8 / 5, 2.0),) and flags(found) == {}


def test_drop_odd_spans():
    found = video_filters.drop_odd_spans(graph(("a", 0, [(5, 2), (1, 1)]), ("b", 0, [(5, 4)])))
    assert raw(found) == [("a", [(1, 1)])]


def test_merge_spans():
    """[0, 2] and [3, 4] touch; [7, 8] stands apart."""
    found = video_filters.merge_spans(graph(("a", 0, [(7, 8), (0, 2), (3, 4), (1, 1)])))
    assert raw(found) == [("a", [(0, 4), (7, 8)])]


def test_merge_instances():
    first = graph(("a", 0, [(0, 2)]), ("b", 0, [(0, 9)]), ("a", 0, [(1, 3)]))
    first = replace(first, extra={"/relations/2/repeats": 0, "/relations/1/note": "x", "summary": "y"})
    found = video_filters.merge_instances(first)
    assert raw(found) == [("a", [(0, 2), (1, 3)]), ("b", [(0, 9)])]
    assert found.extra == {"/relations/0/overlapping": [1], "/relations/1/note": "x", "summary": "y"}


def test_visible_only():
    """Both are to be seen in frames 2, 3 and 6: [1, 6] keeps [2, 3] and [6, 6], [7, 9] nothing."""
    seen = {1: [0, 2, 3, 6], 2: [2, 3, 4, 5, 6, 8]}
    found = video_filters.visible_only(graph(("a", 0, [(1, 6)]), ("b", 0, [(7, 9)]), track=seen))
    assert raw(found) == [("a", [(2, 3), (6, 6)])] and flags(found) == {}
    bare = graph(("a", 0, [(1, 6)]))
    with pytest.raises(
        SgevalError, match=r'visible_only: video "7": expected a track for each object, got none of \[1, 2\]'
    ):
        video_filters.visible_only(bare)
    with pytest.raises(SgevalError, match='visible_only: video "7": expected fps, got none'):
        video_filters.visible_only(replace(bare, fps=None))


def test_absent_frames_of_one_end():
    """Of frames 0 to 4 the object is to be seen in 0, 2 and 3, so it is absent in two; the camera is always there."""
    item = Object(1, "dog", track=(TrackPoint(0), TrackPoint(2), TrackPoint(3)))
    spans = ((0.0, 1.0),)  # 5 frames at 5 a second
    ends = [(1, CAMERA), (CAMERA, 1), (CAMERA, CAMERA), (1, 1)]
    relations = tuple(Relation(*pair, "facing", spans=spans) for pair in ends)
    video = VideoGraph("7", (item,), relations, fps=5.0, num_frames=5)
    absent = {f"/relations/{number}/absent_frames": 2 for number in (0, 1, 3)}
    assert absent_flags(video) == absent


def test_absent_frames_without_tracks():
    """FC49, in VidOR's `annotations`: what nobody can count again stays where spans stay, and goes where they change."""
    (one, *_) = records("vidor", FILES / "vidor", "annotations")
    assert one.extra["/relations/0/absent_frames"] == 2
    assert video_filters.clip_spans(one) == video_filters.drop_odd_spans(one) == one
    shorter = replace(one, num_frames=10, extra={**one.extra, "/relations/1/absent_frames": 3})
    found = video_filters.clip_spans(shorter)  # [0, 12) becomes [0, 10), [0, 5) stays
    assert flags(found) == {"/relations/1/absent_frames": 3, "/relations/2/repeats": 1}


def test_absent_frames_where_a_mask_is_missing():
    """Of frames 0 to 9, 3 has no mask; object 1 is in all other masks, 2 lacks frame 5: of [2, 12] that is one frame."""
    seen = {1: [0, 1, 2, 4, 5, 6, 7, 8, 9], 2: [0, 1, 2, 4, 6, 7, 8, 9]}
    masks = tuple(None if number == 3 else f"{number}.png" for number in range(10))
    found = video_filters.clip_spans(graph(("a", 0, [(2, 12)]), track=seen, mask_files=masks))
    assert flags(found) == {"/relations/0/absent_frames": 1}
    stale = graph(("a", 0, [(0, 2)]), track=seen, extra={"/relations/0/absent_frames": 7})
    assert flags(video_filters.clip_spans(stale)) == {}  # tracks tell it anew
    everywhere = video_filters.clip_spans(graph(("a", 0, [(2, 12)]), track=seen))
    assert flags(everywhere) == {"/relations/0/absent_frames": 2}  # of a track that is no mask's, frame 3 counts


@pytest.mark.parametrize(
    ("spans", "ranges", "absent"),
    [
        ([(0, 3), (2, 4)], [(0, 5)], 3),  # frames 0 to 4, each once: 1, 2 and 3 lack an end
        ([(7, 20)], [(7, 10)], 2),  # the clip ends after 9: 8 and 9
        ([(-3, 1)], [(0, 2)], 1),  # it begins at 0: 1
        ([(10, 12), (5, 3)], [], None),  # nothing in the clip, and nothing forward
    ],
)
def test_frames_in_the_clip_each_once(spans, ranges, absent):
    """Object 1 is there in all frames, 2 in 0, 4, 5, 6 and 7."""
    found = graph(("a", 0, spans), track={1: range(10), 2: [0, 4, 5, 6, 7]})
    assert frame_ranges(found, found.relations[0]) == ranges
    assert absent_flags(found).get("/relations/0/absent_frames") == absent


def test_flags_move_along_with_what_is_left():
    before = graph(("a", -1, [(20, 30)]), ("b", 3, [(8, 12)]))
    before = replace(before, extra={"/relations/0/beyond_clip": [0], "/relations/1/beyond_clip": [0]})
    found = filters.only_listed_predicates(before)
    assert raw(found) == [("b", [(8, 12)])] and found.extra == {"/relations/0/beyond_clip": [0]}


def test_relations_without_spans_stay():
    bare = VideoGraph("7", (), (Relation(1, 2, "on"), Relation(1, 2, "by", spans=())), fps=5.0, num_frames=10)
    for step in (video_filters.clip_spans, video_filters.merge_spans, video_filters.drop_odd_spans):
        assert step(bare).relations == bare.relations


def test_nothing_changes_where_there_is_nothing_to_do():
    for found in records("vidor", FILES / "vidor", "tracks"):
        for step in (video_filters.clip_spans, video_filters.drop_spans_outside, video_filters.drop_odd_spans):
            assert step(found) == found


def test_seconds_stay_seconds():
    """SVG2's test spans: half-open seconds, to halves."""
    spans = ((0.5, 2.5), (1.0, 1.0), (2.0, 9.0))
    one = VideoGraph(
        "7",
        (),
        (Relation(1, -1, "on", spans=spans, raw_spans=spans),),
        duration=4.0,
        span_unit="second",
        span_end="exclusive",
    )
    found = video_filters.clip_spans(one).relations[0]
    assert found.spans == found.raw_spans == ((0.5, 2.5), (2.0, 4.0))
    with pytest.raises(SgevalError, match='video "7": expected num_frames and fps, or a duration'):
        video_filters.clip_spans(replace(one, duration=None))


def test_the_camera_is_always_there():
    seen = {1: [0, 1, 4]}
    item = Object(1, "thing", track=tuple(TrackPoint(at) for at in seen[1]))
    relation = Relation(-1, 1, "sees", spans=((0.0, 1.0),), raw_spans=((0.0, 5.0),))
    one = VideoGraph("7", (item,), (relation,), fps=5.0, num_frames=5, span_unit="frame", span_end="exclusive")
    found = video_filters.visible_only(one)
    assert found.relations[0].raw_spans == ((0.0, 2.0), (4.0, 5.0))
