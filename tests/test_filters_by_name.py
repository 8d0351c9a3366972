"""Filters as named options: of readers, tables and exports. Expected values come of the filters themselves, called hand."""

import warnings

import datasets
import pytest
from data_kit import make_folder, records
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.data import reading
from sgeval.data.filtering import filtered
from sgeval.errors import SgevalError
from sgeval.hub.data import make_builder
from sgeval.hub.export import export
from sgeval.hub.features import to_record
from sgeval.readers.filters import dedupe, drop_empty, visible_only
from sgeval.records import Object, Relation, SceneGraph


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


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
    with pytest.raises(SgevalError, match=r"filter of videos: expected one of .*drop_crowd"):
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
            'filter of images: expected one of drop_empty, .*, got "drop_emty"; did you mean "drop_empty"?',
        ),
        (["drop_empty=1"], 'filter drop_empty: expected no value, got "1"'),
        (["dedupe"], "filter dedupe: expected one of none, triplet, pair_random, got no value"),
        (["dedupe=triplet:1"], 'expected none, triplet, pair_random or pair_random:SEED, got "triplet:1"'),
        (["dedupe=pair_random:x"], 'pair_random:SEED, got "pair_random:x"'),
        (["merge_spans"], "filter of images"),
        ("drop_empty", 'filters: expected a list of texts NAME or NAME=VALUE, got "drop_empty"'),
        ([1], "filters: expected a list of texts"),
    ],
)
def test_what_is_no_filter(filters, message, folders):
    with pytest.raises(SgevalError, match=message.replace("?", r"\?")):
        reading.read("psg", folders["psg"], filters=filters)
    with pytest.raises(SgevalError, match=message.replace("?", r"\?")):
        sgeval.load_dataset("psg", data_dir=folders["psg"], filters=filters)


def test_listed_predicates_need_a_list(folders):
    with pytest.raises(
        SgevalError, match="only_listed_predicates: expected a data set with class lists, got visual_ge"
    ):
        reading.read("visual_genome", folders["visual_genome"], filters=["only_listed_predicates"])


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
