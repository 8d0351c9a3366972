"""The plan: what is encoded, how often, and that nothing about batches, shards or order moves a number."""

import copy
import io
import itertools
import json

import numpy as np
import pytest

from sgeval.errors import BadImage, InvalidInput
from sgeval.planning import PicturePlan, Texts, batches
from sgeval.relclip import Options, make_options, relclipscore, score, summarise
from sgeval.running import encode_texts, score_pictures

COUNTED = ("n_relations", "n_duplicates", "n_self", "n_unmatched", "n_invalid", "n_undefined_relations")


def jpeg(image, cut=None):
    file = io.BytesIO()
    image.save(file, "JPEG")
    return file.getvalue()[:cut]


def scored(plans, texts, encoder, **more):
    """What running gives for hand-made plans: per picture, per union, the scores."""
    table = encode_texts(texts.texts, encoder)
    return list(score_pictures(plans, texts.texts, table.features, encoder, **more))


class TestPlan:
    def test_ids(self):
        texts, plan = Texts(), PicturePlan("one", (9, 9))
        assert plan.add((0, 0, 1, 1), texts.add("x")) == (0, 0)
        assert plan.add((0, 0, 1, 1), texts.add("y")) == (0, 1)
        assert plan.add((0, 0, 1, 1), texts.add("x")) == (0, 0), "a pair is scored once"
        assert plan.add((0, 0, 2, 2), texts.add("y")) == (1, 0)
        assert plan.unions == [(0, 0, 1, 1), (0, 0, 2, 2)] and [list(found) for found in plan.texts] == [[0, 1], [1]]
        assert texts.texts == ["x", "y"]

    def test_batches_run_across_pictures(self):
        """Unions per picture 3, 0, 1, 2 in batches of two: (0, 0), (0, 2), (3, 3) by picture."""
        plans = []
        for count in (3, 0, 1, 2):
            plans.append(PicturePlan("x", (9, 9)))
            for number in range(count):
                plans[-1].add((0, 0, 1, number + 1), 0)
        found = [[(picture, union) for picture, _, union in batch.members] for batch in batches(plans, 2)]
        assert found == [[(0, 0), (0, 1)], [(0, 2), (2, 0)], [(3, 0), (3, 1)]]

    def test_digest_follows_the_work(self):
        def digest(stamp="7", rect=(0, 0, 1, 1), texts=("a", "b")):
            plan = PicturePlan("x", (9, 9), stamp)
            plan.add(rect, 1)
            return next(batches([plan], 4)).digest(texts)

        assert digest() == digest(texts=("other", "b")), "only the texts of the batch count"
        assert len({digest(), digest(stamp="8"), digest(rect=(0, 0, 1, 2)), digest(texts=("a", "c"))}) == 4

    def test_empty_plan(self, fake_encoder):
        encoder = fake_encoder()
        assert scored([], Texts(), encoder) == []
        assert encoder.n_crops == encoder.n_texts == 0

    def test_scores_land_on_their_pairs(self, fake_encoder, picture):
        """Pairs asked for out of order: each score is that of its own crop and text, worked one by one."""
        image, encoder, texts = picture(0), fake_encoder(), Texts()
        plan = PicturePlan(image, image.size)
        wanted = [((0, 0, 9, 9), "b"), ((3, 3, 20, 20), "a"), ((0, 0, 9, 9), "a"), ((3, 3, 20, 20), "b")]
        places = [plan.add(rect, texts.add(text)) for rect, text in wanted]
        (scores,) = scored([plan], texts, encoder, batch_size=1)
        for (union, number), (rect, text) in zip(places, wanted):
            alone = fake_encoder()
            expected = alone.score(alone.encode_images([image.crop(rect)]), alone.encode_texts([text]))[0]
            assert scores[union][number] == expected

    def test_pictures_come_out_in_order(self, fake_encoder, picture):
        """Pictures without unions, with one and with many, and a broken one: one outcome each, in place."""
        texts, plans = Texts(), []
        for number, count in enumerate((0, 1, 5, 0, 2)):
            plans.append(PicturePlan(b"no picture" if number == 4 else picture(number), (64, 48)))
            for union in range(count):
                plans[-1].add((0, 0, union + 5, 9), texts.add("x"))
        found = scored(plans, texts, fake_encoder(), batch_size=3, on_bad_image="skip")
        assert [len(one) for one in found[:4]] == [0, 1, 5, 0] and isinstance(found[4], BadImage)

    @pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
    def test_fc25_a_score_that_is_no_number_is_undefined(self, steady_encoder, two_objects, picture, value):
        encoder = steady_encoder({"dog on mat": 0.5, "dog by mat": value})
        graph = two_objects(relations=[(0, "on", 1), (0, "by", 1)])
        result = relclipscore([graph], images=[picture(0)], model=encoder)
        assert (result["mean_score"], result["n_undefined_relations"]) == (0.5, 1)


class TestWhatIsEncoded:
    def test_each_union_and_text_once(self, fake_encoder, two_objects, picture):
        """Two pictures, one pair each, both directions and two predicates: 2 unions, 3 texts.

        Texts: dog on mat, mat under dog, dog by mat (twice asked for). The union of (0, 1) and (1, 0) is one.
        """
        encoder = fake_encoder()
        graphs = [
            two_objects("a", [(0, "on", 1), (1, "under", 0), (0, "by", 1)]),
            two_objects("b", [(0, "on", 1), (0, "by", 1)]),
        ]
        relclipscore(graphs, images=[picture(0), picture(1)], model=encoder)
        assert encoder.n_crops == 2
        assert sorted(itertools.chain(*encoder.texts)) == ["dog by mat", "dog on mat", "mat under dog"]

    def test_references_add_their_texts_once(self, fake_encoder, two_objects, picture):
        """The reference's texts of scored pairs: by and at; the equal text `on` is shared."""
        encoder = fake_encoder()
        gold = [two_objects(relations=[(0, "on", 1), (0, "by", 1), (0, "at", 1), (1, "never asked", 0)])]
        relclipscore([two_objects()], references=gold, images=[picture(0)], model=encoder)
        assert sorted(itertools.chain(*encoder.texts)) == ["dog at mat", "dog by mat", "dog on mat"]
        assert encoder.n_crops == 1

    @pytest.mark.parametrize("batch_size", [1, 7, 64])
    def test_random_graphs(self, fake_encoder, random_graphs, batch_size):
        """Numbers of unions and texts equal those of the scored rows; no batch is larger than asked."""
        graphs, pictures = random_graphs(5, 15)
        encoder = fake_encoder()
        result = relclipscore(
            graphs, images=pictures, model=encoder, batch_size=batch_size, on_invalid="skip", return_items=True
        )
        scored = [item for item in result["items"] if item["status"] == "scored"]
        assert encoder.n_crops == len({(item["image_id"], item["crop"]) for item in scored})
        texts = list(itertools.chain(*encoder.texts))
        assert len(texts) == len(set(texts)) and set(texts) == {item["text"] for item in scored}
        assert max(map(len, encoder.crops)) <= batch_size and max(map(len, encoder.texts)) <= batch_size
        assert len(encoder.crops) == -(-encoder.n_crops // batch_size)

    def test_pictures_are_decoded_once(self, fake_encoder, random_graphs, monkeypatch):
        graphs, pictures = random_graphs(5, 6)
        opened = []

        def counting(source, expected=None):
            opened.append(id(source))
            return original(source, expected)

        import sgeval.running

        original = sgeval.running.load_image
        monkeypatch.setattr(sgeval.running, "load_image", counting)
        relclipscore(graphs, images=pictures, model=fake_encoder(), on_invalid="skip", batch_size=2)
        assert len(opened) == len(set(opened))


class TestNothingMovesTheNumber:
    @pytest.fixture
    def case(self, random_graphs, fake_encoder):
        graphs, pictures = random_graphs(9, 13)
        gold = [{**graph, "relations": graph["relations"][::2]} for graph in graphs]

        def run(rows=graphs, references=gold, **options):
            given = {"on_invalid": "skip", "bootstrap": 20, "return_items": True, **options}
            return relclipscore(rows, images=pictures, references=references, model=fake_encoder(), **given)

        return run, graphs, gold, pictures

    def test_batch_size(self, case):
        run, *_ = case
        whole = run(batch_size=64)
        assert run(batch_size=1) == whole and run(batch_size=7) == whole

    def test_order_of_images(self, case):
        run, graphs, gold, _ = case
        expected = run()
        assert run(graphs[::-1], gold) == expected
        assert run(graphs, gold[::-1]) == expected
        shuffled = [graphs[index] for index in np.random.default_rng(1).permutation(len(graphs))]
        assert run(shuffled, gold) == expected

    @pytest.mark.parametrize("shards", [1, 2, 3, 7])
    def test_shards_merge_to_the_whole(self, case, fake_encoder, shards):
        _, graphs, gold, pictures = case
        options = make_options({"on_invalid": "skip", "bootstrap": 20})

        def rows(part):
            given = {"images": pictures, "references": gold[part], "model": fake_encoder(), "options": options}
            return score(graphs[part], **given)

        whole = rows(slice(None))
        parts = [rows(slice(start, None, shards)).rows for start in range(shards)]
        merged = parts[0]
        for part in parts[1:]:
            merged = merged.merge(part)
        backwards = parts[-1]
        for part in parts[-2::-1]:
            backwards = part.merge(backwards)
        expected = whole.result(return_items=True)
        for found in (merged, backwards):
            assert summarise(found, options, whole.key, whole.signature, return_items=True) == expected

    def test_merge_refuses_doubles_and_mixed_parts(self, case, fake_encoder):
        _, graphs, gold, pictures = case
        given = {"images": pictures, "model": fake_encoder(), "options": make_options({"on_invalid": "skip"})}
        with_gold = score(graphs[:2], references=gold[:2], **given).rows
        with pytest.raises(ValueError, match="each image once, got 'img000' in both"):
            with_gold.merge(with_gold)
        with pytest.raises(ValueError, match="references in both parts or in none"):
            with_gold.merge(score(graphs[2:4], **given).rows)

    def test_inputs_are_not_changed(self, case):
        run, graphs, gold, _ = case
        before = copy.deepcopy((graphs, gold))
        run()
        assert (graphs, gold) == before


class TestBrokenPictures:
    """FC07: `on_bad_image="skip"` names the picture and its reason; the others keep their scores; counts add up."""

    @pytest.fixture
    def graphs(self, two_objects):
        return [
            two_objects("a"),
            two_objects("b", [(0, "by", 1), (0, "by", 1), (1, "at", 1), (1, "at", 0)]),
            two_objects("c", [(1, "under", 0)]),
        ]

    @pytest.fixture(params=["header", "pixels", "missing"])
    def pictures(self, request, picture):
        whole = {"a": picture(0), "c": picture(2)}
        broken = {"header": {"b": b"\xff\xd8 no"}, "pixels": {"b": jpeg(picture(1), cut=1500)}, "missing": {}}
        return whole | broken[request.param]

    def test_fc07_error_is_the_default(self, graphs, pictures, fake_encoder):
        with pytest.raises((BadImage, InvalidInput)):
            relclipscore(graphs, images=pictures, model=fake_encoder())

    @pytest.mark.parametrize("batch_size", [1, 2, 32])
    def test_fc07_skip(self, graphs, pictures, fake_encoder, batch_size):
        skip = {"on_bad_image": "skip", "batch_size": batch_size}
        result = relclipscore(graphs, images=pictures, model=fake_encoder(), return_items=True, **skip)
        sound = [graphs[0], graphs[2]]
        alone = relclipscore(sound, images=pictures, model=fake_encoder(), return_items=True)
        scores = {item["image_id"]: item["score"] for item in result["items"] if item["status"] == "scored"}
        assert scores == {item["image_id"]: item["score"] for item in alone["items"]}
        assert result["relclipscore"] == alone["relclipscore"] > 0 and result["mean_score"] == alone["mean_score"]
        assert (result["n_images"], result["n_scored_images"], result["n_bad_images"]) == (3, 2, 1)
        bad = result["images"][1]
        assert (bad["image_id"], bad["status"]) == ("b", "bad_image") and bad["reason"]
        assert [item["status"] for item in result["items"]] == ["scored", *["bad_image"] * 4, "scored"]

    def test_fc07_all_broken(self, graphs, fake_encoder):
        result = relclipscore(graphs, images={}, model=fake_encoder(), on_bad_image="skip", bootstrap=20)
        assert result["relclipscore"] is None and result["n_bad_images"] == 3 and result["n_scored_images"] == 0
        json.dumps(result, allow_nan=False)

    def test_clipped_boxes_of_a_broken_picture(self, two_objects, picture, fake_encoder):
        """The same broken picture must count the same, wherever it breaks: its boxes were not used."""
        graph = two_objects("b")
        graph["objects"][0]["bbox"] = [-5, 5, 15, 10]
        counts = {
            relclipscore(
                [two_objects("a"), graph],
                images={"a": picture(0), "b": broken},
                model=fake_encoder(),
                on_bad_image="skip",
            )["n_clipped_boxes"]
            for broken in (b"no picture", jpeg(picture(1), cut=1500))
        }
        assert counts == {0}


class TestCommonProperties:
    """What holds for every metric's result."""

    OPTIONS = (
        {},
        {"penalty": "none"},
        {"penalty": "bounded", "empty": "skip"},
        {"context": ("px", 3), "fit": "pad"},
        {"bootstrap": 20, "normalisation": "none"},
    )

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    @pytest.mark.parametrize("with_references", [True, False])
    def test_flat_and_json_able(self, random_graphs, fake_encoder, options, with_references):
        graphs, pictures = random_graphs(2, 8)
        gold = graphs if with_references else None
        options = {"on_invalid": "skip", **options}
        result = relclipscore(graphs, images=pictures, references=gold, model=fake_encoder(), **options)
        json.dumps(result, allow_nan=False)
        odd = {name: value for name, value in result.items() if type(value) not in (int, float, type(None))}
        assert set(odd) == {"signature"} and isinstance(odd["signature"], str)
        names = list(result)
        assert (names[0], names[-1]) == ("relclipscore", "signature")
        assert "\n" not in result["signature"]

    def test_clipped_boxes_are_json_able(self, two_objects, picture, fake_encoder):
        graph = two_objects()
        graph["objects"][0]["bbox"] = [-5, 5, 15, 10]
        result = relclipscore([graph], images=[picture(0)], model=fake_encoder(), return_items=True)
        assert result["n_clipped_boxes"] == 1
        json.dumps(result, allow_nan=False)

    @pytest.mark.parametrize("penalty", ["guarded", "bounded", "none"])
    def test_range(self, random_graphs, fake_encoder, penalty):
        """Means in 0–1; bounded never above the mean; guarded above it by at most 1 / ln 2."""
        for seed in range(5):
            graphs, pictures = random_graphs(seed, 6)
            result = relclipscore(graphs, images=pictures, model=fake_encoder(), penalty=penalty, on_invalid="skip")
            assert 0 <= result["mean_score"] <= 1 and 0 <= result["mean_score_relations"] <= 1
            most = {"guarded": 1 / 0.6931471805599453, "bounded": 1.0, "none": 1.0}[penalty]
            assert 0 <= result["relclipscore"] <= result["mean_score"] * most + 1e-12

    @pytest.mark.parametrize("seed", range(6))
    def test_counts_add_up(self, random_graphs, fake_encoder, seed):
        graphs, pictures = random_graphs(seed, 10)
        result = relclipscore(graphs, images=pictures, model=fake_encoder(), on_invalid="skip", return_items=True)
        assert result["n_predicted"] == sum(len(graph["relations"]) for graph in graphs) == len(result["items"])
        assert result["n_predicted"] == sum(result[name] for name in COUNTED)
        assert result["n_images"] == len(graphs) == result["n_scored_images"] + result["n_undefined"]
        assert result["n_relations"] == sum(row["k"] for row in result["images"])

    def test_every_option_that_moves_the_number_is_in_the_signature(self, random_graphs, fake_encoder):
        graphs, pictures = random_graphs(2, 4)
        base = {"on_invalid": "skip"}
        moved = [
            {"penalty": "none"},
            {"context": ("px", 4)},
            {"context": ("ratio", 0.1)},
            {"fit": "pad"},
            {"template": "a {subject} {predicate} {object}"},
            {"normalisation": "none"},
            {"empty": "skip"},
        ]
        found = [
            relclipscore(graphs, images=pictures, model=fake_encoder(), **base, **change)["signature"]
            for change in [{}, *moved]
        ]
        assert len(set(found)) == len(found)
        assert "context:px4each" in found[2], "unit and side are written out (FC08)"

    def test_defaults(self):
        """The defaults that design and card state."""
        options = Options()
        assert (options.penalty, options.context, options.fit, options.matching) == (
            "guarded",
            "none",
            "model",
            "given",
        )
        assert (options.empty, options.on_invalid, options.on_bad_image, options.batch_size) == (
            "zero",
            "error",
            "error",
            32,
        )
