"""Filters as named options: of readers, tables and exports. Expected values come of the filters themselves, called hand."""

import re
import warnings

import datasets
import pytest
from data_kit import EVERY, FILES, make_folder, records
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.data import reading
from sgeval.data.filtering import FILTERS, filtered, filters_of
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub.data import make_builder
from sgeval.hub.export import export
from sgeval.hub.features import to_record
from sgeval.readers.filters import dedupe, drop_empty, visible_only
from sgeval.records import Object, Relation, SceneGraph


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {
        name: make_folder(name, tmp_path_factory.mktemp("sets") / name) for name in ("psg", "visual_genome", "pvsg")
    }


def rows(name, folder, cache, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # filters turn the warning about counts off
        tables = sgeval.load_dataset(name, data_dir=folder, cache_dir=cache, with_images=False, **options)
    return [to_record(row) for split in tables.values() for row in split]


def test_read(folders):
    psg = records("psg", folders["psg"])
    assert len(psg) > len([*drop_empty(psg)]) > 0 and [dedupe(graph, "triplet") for graph in psg] != psg
    assert records("psg", folders["psg"], filters=["drop_empty", "dedupe=triplet"]) == [
        dedupe(graph, "triplet") for graph in drop_empty(psg)
    ]
    drawn = [dedupe(graph, "pair_random", seed=7) for graph in psg]
    assert records("psg", folders["psg"], filters=["dedupe=pair_random:7"]) == drawn
    assert records("psg", folders["psg"], filters=["dedupe=none"]) == psg == records("psg", folders["psg"])


def test_order_matters():
    """A picture whose one relation goes is empty only afterwards."""
    graphs = [SceneGraph("1", relations=(Relation(0, 1, "on"),))]
    assert [*filtered(graphs, ["only_listed_predicates", "drop_empty"], "image")] == []
    assert len([*filtered(graphs, ["drop_empty", "only_listed_predicates"], "image")]) == 1


def test_parts_count_in_what_is_left(folders):
    left = records("psg", folders["psg"], filters=["drop_empty"])
    assert [*reading.read("psg", folders["psg"], filters=["drop_empty"], part=(1, 3))] == left[1:3]
    assert reading.count("psg", folders["psg"], filters=["drop_empty"]) == len(left)
    assert reading.count("pvsg", folders["pvsg"], filters=["drop_empty"]) == len(
        records("pvsg", folders["pvsg"], filters=["drop_empty"])
    )


def test_videos_have_theirs(folders):
    merged = records("pvsg", folders["pvsg"], filters=["merge_instances"])
    assert len(merged) == len(records("pvsg", folders["pvsg"]))
    with pytest.raises(SgevalError, match=r"filter of pvsg: expected one of .*drop_crowd"):
        reading.read("pvsg", folders["pvsg"], filters=["drop_crowd"])


def test_visible_only_of_pictures():
    """The cup is told to be invisible; what is said of the dog moves up."""
    graph = SceneGraph(
        "7",
        objects=(Object(0, "person"), Object(1, "cup"), Object(2, "dog")),
        relations=(Relation(0, 1, "holding"), Relation(0, 2, "beside")),
        extra={"/objects/1/visible": False, "/objects/2/note": 1, "/relations/1/note": 2},
    )
    out = visible_only(graph)
    assert [item.category for item in out.objects] == ["person", "dog"]
    assert out.relations == graph.relations[1:] and out.extra == {"/objects/1/note": 1, "/relations/0/note": 2}


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            ["drop_emty"],
            'filter of psg: expected one of drop_empty, .*, got "drop_emty"; did you mean "drop_empty"?',
        ),
        (["drop_empty=1"], 'filter drop_empty: expected no value, got "1"'),
        (["dedupe"], "filter dedupe: expected one of none, triplet, pair_random, got no value"),
        (["dedupe=triplet:1"], 'expected none, triplet, pair_random or pair_random:SEED, got "triplet:1"'),
        (["dedupe=pair_random:x"], 'pair_random:SEED, got "pair_random:x"'),
        (["merge_spans"], "filter of psg"),
        ("drop_empty", 'filters: expected a list of texts NAME or NAME=VALUE, got "drop_empty"'),
        ([1], "filters: expected a list of texts"),
    ],
)
def test_what_is_no_filter(filters, message, folders):
    with pytest.raises(SgevalError, match=message.replace("?", r"\?")):
        reading.read("psg", folders["psg"], filters=filters)
    with pytest.raises(SgevalError, match=message.replace("?", r"\?")):
        sgeval.load_dataset("psg", data_dir=folders["psg"], filters=filters)


@pytest.mark.parametrize("name", DATA_SETS)
def test_lists_are_where_filters_take_them(name, tmp_path):
    """`only_listed_predicates` is offered where class lists are, in each config."""
    found, folder = DATA_SETS[name], make_folder(name, tmp_path / name)
    for config in {config for each, config in EVERY if each == name}:
        has_list = "predicates" in reading.classes(name, folder, config)
        assert has_list == ("only_listed_predicates" in filters_of(found, config))


@pytest.mark.parametrize(("name", "config"), EVERY)
def test_what_is_offered_runs_and_nothing_else(name, config, tmp_path):
    """On the records of the config, with the options that the card names beside the filter."""
    found, folder = DATA_SETS[name], make_folder(name, tmp_path / name)
    offered = filters_of(found, config)
    for filter_name in FILTERS:
        text = "dedupe=triplet" if filter_name == "dedupe" else filter_name
        option = found.tracked.get(config, "") if filter_name == "visible_only" else ""
        options = {"with_masks": True} if option == "with_masks" else {option: 6} if option else {}
        given = {"data_dir": folder, "config": config, "filters": [text], "cache_dir": tmp_path / "cache", **options}
        if filter_name in offered:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of pictures
                sgeval.load_dataset(name, with_images=False, **given)
            continue
        with pytest.raises(SgevalError, match=rf"^filter (visible_only )?of {name}: expected "):
            sgeval.load_dataset(name, **given)


@pytest.mark.parametrize(
    ("name", "config", "options", "words"),
    [
        ("vidor", "annotations", {}, "expected the config tracks (--config tracks), got the config annotations"),
        (
            "pvsg",
            "annotations",
            {},
            "expected the config masks with the option with_masks (--config masks --with-masks), got the config annotations",
        ),
        ("pvsg", "masks", {}, "(--config masks --with-masks), got the config masks without with_masks"),
        ("svg2_test", "masks", {"fps": None}, "--config masks --reader fps=VALUE), got the config masks without fps"),
    ],
)
def test_the_way_to_visible_only(name, config, options, words):
    with pytest.raises(SgevalError, match=rf"filter visible_only of {name}: .*{re.escape(words)}$"):
        reading.read(name, FILES / name, config, filters=["visible_only"], **options)


def test_why_a_filter_is_not_to_be_had():
    words = (
        r'filter of svg2_test: expected one of drop_empty, .*, got "clip_spans"; no file of it says how long a video is'
    )
    with pytest.raises(SgevalError, match=words):
        reading.read("svg2_test", FILES / "svg2_test", filters=["clip_spans"])
    with pytest.raises(SgevalError, match='filter of vipseg: expected none, got "drop_empty"; it has no relations'):
        reading.read("vipseg", FILES / "vipseg", filters=["drop_empty"])
    with pytest.raises(SgevalError, match=r'filter of vipseg: expected none, got "x"$'):
        reading.read("vipseg", FILES / "vipseg", filters=["x"])


# The masks of the first video show floor and adult in frames 0 to 4 and the dog in 0 to 3; those of the others all three in 0
# to 5. [0, 5] keeps [0, 4], [2, 4] of the dog keeps [2, 3]; of [4, 5] of the dog, and of [20, 30], nothing is left.
IN_SIGHT = {
    "9001_0000000001": [
        ("standing on", ((0, 4),)),
        ("looking at", ((0, 1), (3, 3))),
        ("squatting on", ((2, 3),)),
    ],
    "P99_01": [("holding", ((1, 4),))],
    "00000000-1111-2222-3333-444444444444_1": [("walking on", ((4, 5),))],
}


def said(graph):
    return [(relation.predicate, relation.raw_spans) for relation in graph.relations]


@pytest.mark.parametrize("num_proc", [None, 2])
def test_visible_only_waits_for_the_tracks_of_masks(num_proc, folders, tmp_path):
    options = {"config": "masks", "with_masks": True, "filters": ["visible_only"], "num_proc": num_proc}
    got = rows("pvsg", folders["pvsg"], tmp_path, **options)
    assert {graph.video_id: said(graph) for graph in got} == IN_SIGHT
    assert not any("absent_frames" in key for graph in got for key in graph.extra)
    left = [graph.video_id for graph in got]
    options["filters"] = ["only_listed_predicates", "drop_empty", "visible_only", "drop_empty"]
    assert [graph.video_id for graph in rows("pvsg", folders["pvsg"], tmp_path, **options)] == left


def test_visible_only_of_the_command_and_the_export(folders, tmp_path):
    arguments = ["--config", "masks", "--with-masks", "--data-dir", str(folders["pvsg"]), "--filter", "visible_only"]
    built = CliRunner().invoke(app, ["data", "build", "pvsg", *arguments, "--cache-dir", str(tmp_path / "cache")])
    assert built.exit_code == 0, built.output
    export(
        "pvsg", tmp_path / "out", data_dir=folders["pvsg"], config="masks", with_masks=True, filters=["visible_only"]
    )
    tables = datasets.load_dataset(str(tmp_path / "out"), "masks", cache_dir=str(tmp_path / "hub"))
    got = [to_record(row) for table in tables.values() for row in table]
    assert {graph.video_id: said(graph) for graph in got} == IN_SIGHT


def test_visible_only_by_a_given_rate():
    """At 6 frames a second the wheel, not to be seen in frame 5, is part of the bicycle in [0, 5/6) and [6/6, 2.5); masks of
    the other video end after 15 frames, so that [2, 3) ends at 15/6. The camera is always there, but [1, 1) is empty."""
    first, last = records("svg2_test", FILES / "svg2_test", "masks", fps=6, filters=["visible_only"])
    assert [(relation.predicate, relation.spans) for relation in (*first.relations, *last.relations)] == [
        ("riding", ((0.0, 2.0),)),
        ("part of", ((0.0, 5 / 6), (1.0, 2.5))),
        ("looking at", ((2.0, 3.0),)),
        ("chasing", ((0.0, 1.0), (2.0, 2.5))),
    ]
    with pytest.raises(SgevalError, match='visible_only: video "sav_900001": expected fps, got none'):
        records("svg2_test", FILES / "svg2_test", "masks", fps={"vipseg": 6}, filters=["visible_only"])


@pytest.mark.parametrize("name", ["psg", "visual_genome"])
def test_tables(name, folders, tmp_path):
    """Visual Genome goes by its records then; and what was built without filters is not taken for it."""
    filters = ["clip_boxes", "drop_empty", "dedupe=triplet"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the counts of the whole
        whole = sgeval.load_dataset(name, data_dir=folders[name], cache_dir=tmp_path, with_images=False)
    got = rows(name, folders[name], tmp_path, filters=filters)
    assert sorted(got, key=lambda graph: graph.key) == sorted(
        records(name, folders[name], filters=filters), key=lambda graph: graph.key
    )
    assert len(got) < sum(split.num_rows for split in whole.values())


def test_the_fingerprint_knows_them(folders, tmp_path):
    def stamp(*filters):
        reader = {"filters": list(filters)} if filters else {}
        return make_builder("psg", data_dir=folders["psg"], cache_dir=tmp_path, reader=reader).cache_dir

    stamps = [stamp(), stamp("drop_empty"), stamp("drop_empty", "drop_crowd"), stamp("drop_crowd", "drop_empty")]
    assert len({*stamps}) == 4 and stamp("drop_empty") == stamps[1]


def test_export_says_them_on_its_card(folders, tmp_path):
    arguments = [
        "--data-dir",
        folders["psg"],
        "--no-with-images",
        "--filter",
        "drop_empty",
        "--filter",
        "dedupe=triplet",
    ]
    result = CliRunner().invoke(app, ["data", "export", "psg", "--out", *map(str, (tmp_path / "out", *arguments))])
    assert result.exit_code == 0, result.output
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Filters, in this order: `drop_empty`, `dedupe=triplet`." in card
    back = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    left = records("psg", folders["psg"], filters=["drop_empty", "dedupe=triplet"])
    assert sum(split.num_rows for split in back.values()) == len(left)


def test_build(folders, tmp_path):
    arguments = [
        "visual_genome",
        "--data-dir",
        folders["visual_genome"],
        "--cache-dir",
        tmp_path,
        "--filter",
        "drop_empty",
    ]
    result = CliRunner().invoke(app, ["data", "build", *map(str, arguments), "--no-with-images"])
    assert result.exit_code == 0, result.output
    left = len(records("visual_genome", folders["visual_genome"], filters=["drop_empty"]))
    assert f"train {left}" in result.output


def test_an_export_of_a_set_with_columns_is_filtered_too(folders, tmp_path):
    whole, kept = (records("visual_genome", folders["visual_genome"], filters=names) for names in ([], ["drop_empty"]))
    sizes = export(
        "visual_genome",
        tmp_path / "out",
        data_dir=folders["visual_genome"],
        with_images=False,
        filters=["drop_empty"],
    )
    assert sizes["train"].rows == len(kept) < len(whole)
