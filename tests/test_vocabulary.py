"""The vocabulary of predicates: what is one candidate, what its hash tells, and its form on disk."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgeval.errors import InvalidInput, SgevalError
from sgeval.hub.features import to_table
from sgeval.records import Object, Relation, SceneGraph
from sgeval.vocabulary import make_vocabulary, vocabulary_of_graphs, vocabulary_of_rows, vocabulary_of_tables


def graph(*triplets):
    objects, relations = [], []
    for subject, predicate, obj in triplets:
        objects += [Object(len(objects), subject), Object(len(objects) + 1, obj)]
        relations.append(Relation(len(objects) - 2, len(objects) - 1, predicate))
    return SceneGraph(str(len(triplets)), tuple(objects), tuple(relations))


class TestGraphs:
    def test_pairs_are_ordered_and_of_classes(self):
        found = vocabulary_of_graphs([graph(("Dog_1", "on", "mat"), ("mat", "under", "2_dog"), ("dog", "near", "mat"))])
        assert found.rows() == [
            {"subject": "dog", "predicate": "on", "object": "mat", "count": 1},
            {"subject": "dog", "predicate": "near", "object": "mat", "count": 1},
            {"subject": "mat", "predicate": "under", "object": "dog", "count": 1},
        ]
        assert found.candidates("DOG", "mat") == {"on": "on", "near": "near"}
        assert found.candidates("dog", "cat") == {}

    def test_the_most_frequent_spelling_then_the_alphabet(self):
        one = vocabulary_of_graphs([graph(*(("a", spelt, "b") for spelt in ("On", "on", "ON ", "on")))])
        assert one.candidates("a", "b") == {"on": "on"} and one.rows()[0]["count"] == 4
        tied = vocabulary_of_graphs([graph(*(("a", spelt, "b") for spelt in ("in_front-of", "in front of")))])
        assert tied.candidates("a", "b") == {"in front of": "in front of"}

    def test_self_relations_and_unknown_ends_say_nothing(self):
        objects = (Object(0, "a"), Object(1, "b"))
        odd = SceneGraph("x", objects, (Relation(0, 0, "on"), Relation(0, 7, "by"), Relation(0, 1, "in")))
        assert vocabulary_of_graphs([odd]).rows() == [{"subject": "a", "predicate": "in", "object": "b", "count": 1}]

    def test_without_normalisation_labels_stay(self):
        found = vocabulary_of_graphs([graph(("person_1", "sitting_on", "T-shirt"))], "none")
        assert found.candidates("person_1", "T-shirt") == {"sitting_on": "sitting_on"}
        assert found.candidates("person", "T-shirt") == {}

    def test_all_predicates_by_alphabet(self):
        """Of the spellings of several pairs the first by alphabet: counts, which no digest holds, must not choose."""
        found = vocabulary_of_graphs([graph(("a", "on", "b"), ("c", "IN", "d"), ("c", "in", "e"), ("f", "in", "g"))])
        assert found.predicates == {"in": "IN", "on": "on"}


class TestDigest:
    FIRST, SECOND = graph(("a", "on", "b"), ("a", "in", "b")), graph(("c", "by", "d"))

    def test_order_counts_only_where_it_is_asked_for(self):
        one, other = vocabulary_of_graphs([self.FIRST, self.SECOND]), vocabulary_of_graphs([self.SECOND, self.FIRST])
        turned = vocabulary_of_graphs([graph(("a", "in", "b"), ("a", "on", "b")), self.SECOND])
        assert one.digest() == other.digest() == turned.digest()
        assert one.digest(ordered=True) != turned.digest(ordered=True)

    def test_counts_do_not_count_and_spellings_do(self):
        """What is ranked is the spelling; how often it stands in the annotations moves no rank."""
        once = vocabulary_of_rows([{"subject": "a", "predicate": "on", "object": "b"}])
        often = vocabulary_of_rows([{"subject": "a", "predicate": "on", "object": "b", "count": 9}])
        spelt = vocabulary_of_rows([{"subject": "a", "predicate": "On", "object": "b"}])
        assert once.digest() == often.digest() != spelt.digest()


class TestGiven:
    def test_rows_go_there_and_back(self, tmp_path):
        found = vocabulary_of_graphs([graph(("dog", "läuft auf", "mat"), ("dog", "on", "mat"), ("dog", "on", "mat"))])
        (tmp_path / "v.jsonl").write_text(found.text(), encoding="utf-8")
        assert make_vocabulary(tmp_path / "v.jsonl") == found == make_vocabulary(found.rows())
        assert [json.loads(line) for line in found.text().splitlines()] == found.rows()

    def test_rows_of_a_pair_table_with_more_columns(self):
        """As a data set's own table of pairs has them."""
        row = {"subject": "a", "predicate": "on", "object": "b", "count": 2, "split": "train"}
        assert make_vocabulary([row, {**row, "split": "test", "count": 3}]).rows()[0]["count"] == 5

    def test_parquet_as_an_export_has_it(self, tmp_path):
        row = {"subject": "a", "predicate": "on", "object": "b", "count": 2, "split": "train"}
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "train-00000-of-00001.parquet")
        found = make_vocabulary(tmp_path / "train-00000-of-00001.parquet")
        assert found.rows() == [{"subject": "a", "predicate": "on", "object": "b", "count": 2}]
        (tmp_path / "broken.parquet").write_bytes(b"PAR1")
        with pytest.raises(SgevalError, match=r"broken\.parquet: expected a Parquet file"):
            make_vocabulary(tmp_path / "broken.parquet")

    def test_every_fault_is_named(self):
        rows = [
            5,
            {"subject": "a", "predicate": " ", "object": "b"},
            {"subject": "a", "predicate": "on", "object": "b", "count": 0},
        ]
        with pytest.raises(InvalidInput) as caught:
            make_vocabulary(rows)
        assert list(caught.value.faults) == [
            "vocabulary[0]: expected subject, predicate and object, got 5",
            'vocabulary[1].predicate: expected a text, got " "',
            "vocabulary[2].count: expected a whole number of 1 or more, got 0",
        ]


def test_tables_and_graphs_have_the_same_vocabulary():
    graphs = [
        graph(("Dog_1", "on", "mat"), ("mat", "under", "2_dog"), ("dog", "ON", "mat")),
        SceneGraph("empty"),
        SceneGraph("odd", (Object(0, "dog"),), (Relation(0, 0, "near"), Relation(0, 9, "on"))),
        graph(("dog", "on", "mat")),
    ]
    tables = [to_table(graphs[:2]), to_table(graphs[2:])]
    assert vocabulary_of_tables(tables).rows() == vocabulary_of_graphs(graphs).rows() != []
    assert vocabulary_of_tables([to_table(graphs).slice(2, 2)]).rows() == vocabulary_of_graphs(graphs[2:]).rows()
