"""The language-model judge: what it is asked, what it keeps, what it costs, and what it refuses."""

import asyncio
import inspect
import json
import re
from dataclasses import replace

import pytest
from fakejudge import CATEGORIES, completion
from judge_kit import asking, categories, faked, impatient, reasons, some, truth  # noqa: F401

import sgeval.judges.prompt as prompt
from sgeval.errors import SgevalError
from sgeval.judges.asking import answer_tokens
from sgeval.judges.gold import read_gold, read_probe
from sgeval.judges.labels import normal
from sgeval.judges.llm import LlmJudge
from sgeval.judges.providers import PROVIDERS, find_server
from sgeval.judges.verdict_cache import Question
from sgeval.judges.verdicts import Pair, Verdict
from sgeval.judges.wordnet import KNOWN

QUESTION = Question("local/m", "http://h", 0, None, "json_schema", {}, "words-1", 1)
PAIR = Pair("object", "dog", "puppy")


class TestVerdicts:
    def test_one_pair_a_call(self, tmp_path):
        with faked() as fake:
            judge = asking(fake, tmp_path)
            pairs = some(30)
            verdicts = judge(pairs)
            assert verdicts == [Verdict(category) for category in truth(pairs)]
            assert fake.calls == 30 and set(fake.counts.values()) == {1}
            assert {len(json.loads(json.loads(body)["messages"][1]["content"])["pairs"]) for body in fake.bodies} == {1}

    def test_order_is_that_of_the_question(self, tmp_path):
        """Every fifth answer is late."""
        late = [{"match": f"nth:{5 * n}", "do": "stall", "seconds": 0.05} for n in range(1, 6)]
        with faked(*late) as fake:
            pairs = some(40)
            assert categories(asking(fake, tmp_path, concurrency=8)(pairs)) == truth(pairs)
            assert 2 <= fake.most_at_once <= 8

    def test_a_second_time_nothing_is_asked(self, tmp_path):
        with faked() as fake:
            pairs = some(20)
            first = asking(fake, tmp_path)(pairs)
            judge = asking(fake, tmp_path)
            assert judge(pairs[::-1]) == [Verdict(v.category, None, is_cached=True) for v in first[::-1]]
            assert fake.calls == 20 and (judge.tally.judged, judge.tally.cached, judge.tally.calls) == (20, 20, 0)

    def test_repeats_and_nothing(self, tmp_path):
        with faked() as fake:
            judge = asking(fake, tmp_path)
            assert judge([]) == []
            verdicts = judge([PAIR, PAIR])
            assert verdicts[0] == verdicts[1] and fake.calls == 1

    def test_without_a_folder_verdicts_last_as_long_as_the_judge(self):
        with faked() as fake:
            judge = asking(fake)
            judge([PAIR])
            judge([PAIR])
            assert fake.calls == 1
            asking(fake)([PAIR])
            assert fake.calls == 2

    def test_inside_a_running_loop(self, tmp_path):
        async def notebook(judge):
            return judge([PAIR])

        with faked() as fake:
            assert categories(asyncio.run(notebook(asking(fake, tmp_path)))) == truth([PAIR])

    def test_batches_of_one_kind(self, tmp_path):
        """45 objects and 7 predicates, 20 a call: 3 and 1 calls, two known pairs in each; all labels are known."""
        pairs = [*some(45), *some(7, "predicate")]
        known = {label for pair in pairs for label in (pair.reference, pair.prediction)}
        with faked() as fake:
            judge = asking(fake, tmp_path, batch=20, known=known)
            assert categories(judge(pairs)) == truth(pairs)
            asked = [json.loads(json.loads(body)["messages"][1]["content"]) for body in fake.bodies]
            sizes = sorted((one["kind"], len(one["pairs"])) for one in asked)
            assert sizes == [("object", 7), ("object", 22), ("object", 22), ("predicate", 9)]
            assert judge.tally.voided == 0 and judge.tally.swapped == 0
            assert len({entry["id"] for one in asked for entry in one["pairs"]}) == 52 + 2 * 4, "ids are used once"


class TestRequest:
    def test_what_is_sent(self, tmp_path):
        with faked() as fake:
            asking(fake, tmp_path, seed=7, extra={"top_k": 1})([PAIR])
            body, headers = json.loads(fake.bodies[0]), fake.headers[0]
        (entry,) = json.loads(body["messages"][1]["content"])["pairs"]
        assert (entry["a"], entry["b"]) == ("dog", "puppy") and len(entry["id"]) == 8
        assert body["messages"][0] == {"role": "system", "content": prompt.instructions()}
        assert (body["model"], body["temperature"], body["seed"], body["top_k"]) == ("m", 0.0, 7, 1)
        assert body["max_tokens"] == answer_tokens(1) and "top_p" not in body
        assert body["response_format"]["json_schema"]["schema"] == prompt.SCHEMA
        assert headers["accept-encoding"] == "identity"

    @pytest.mark.parametrize("form", ["json_object", "text"])
    def test_other_forms(self, tmp_path, form):
        with faked() as fake:
            asking(fake, tmp_path, reply_format=form, seed=None, temperature=None, top_p=0.9, max_tokens=77)([PAIR])
            body = json.loads(fake.bodies[0])
        assert body.get("response_format") == ({"type": "json_object"} if form == "json_object" else None)
        assert "seed" not in body and "temperature" not in body and (body["top_p"], body["max_tokens"]) == (0.9, 77)

    def test_the_prompt_is_its_version(self):
        """Other words in the file need another version: this digest stands for prompt-3."""
        assert prompt.PROMPT == "prompt-3"
        assert prompt.prompt_digest() == PROMPT_3
        assert set(prompt.SCHEMA["properties"]["verdicts"]["items"]["properties"]["category"]["enum"]) == set(
            CATEGORIES
        )
        assert all(f'- "{category}": ' in prompt.instructions() for category in CATEGORIES)

    def test_examples_and_known_pairs_are_no_gold(self):
        """A model is not told the answers that it is measured on."""
        examples = [pair.split('" and "') for pair in re.findall(r'"([^"]+" and "[^"]+)"', prompt.instructions())]
        known = [
            (pair.reference, pair.prediction)
            for kind in prompt.CANARIES
            for side in prompt.canaries(kind)
            for pair in side
        ]
        rows = [row.pair for part in ("dev", "test") for row in read_gold(part)]
        gold = {
            frozenset((normal(pair.reference, kind), normal(pair.prediction, kind)))
            for pair in (*rows, *read_probe())
            for kind in prompt.CANARIES
        }
        assert len(examples) >= 12 and len(known) == 30
        assert [pair for pair in (*examples, *known) if frozenset(map(normal, pair)) in gold] == []

    def test_the_name_tells_the_judge(self, tmp_path):
        with faked() as fake:
            name = asking(fake, tmp_path, batch=5, known=KNOWN).name
        assert name == f"local/m@{fake.url} prompt-3 {PROMPT_3[:8]} in batches of 5"
        assert LlmJudge("openai/gpt-4o-mini", api_key="k").name == f"openai/gpt-4o-mini prompt-3 {PROMPT_3[:8]}"
        far = LlmJudge("openai/m", base_url="https://host/v1").name
        assert far == f"openai/m@host/v1 prompt-3 {PROMPT_3[:8]}"

    @pytest.mark.parametrize(
        "moved",
        [
            *({"seed": 1}, {"seed": None}, {"temperature": 0.7}, {"top_p": 0.5}, {"max_tokens": 9}),
            *({"reply_format": "text"}, {"extra": {"top_k": 1}}, {"extra": {"top_k": 2}}),
        ],
    )
    def test_the_name_tells_every_option_that_moves_a_verdict(self, moved):
        """Without it two runs that may differ would have one signature. What is usual is not told."""
        plain, other = LlmJudge("local/m"), LlmJudge("local/m", **moved)
        assert other.name.startswith(f"{plain.name} with options ") and len(other.name) == len(plain.name) + 22
        (name,) = moved
        assert other.settings == {**plain.settings, name: moved[name]}
        usual = {"seed": 0, "temperature": 0.0, "top_p": None, "max_tokens": None, "extra": {}}
        assert LlmJudge("local/m", **usual, reply_format="json_schema", concurrency=3).name == plain.name

    def test_in_batches_the_name_tells_the_vocabulary(self):
        """It decides which pairs get a second look."""
        names = [LlmJudge("local/m", batch=2, known=known).name for known in (KNOWN, {"dog"}, ["dog"], {"cat"}, ())]
        assert " with options " not in names[0] and names[1] == names[2] and len(set(names)) == 4
        assert LlmJudge("local/m", known={"dog"}).name == LlmJudge("local/m").name

    @pytest.mark.parametrize(
        "field",
        [
            *("model", "messages", "response_format", "stream", "n", "max_tokens", "max_completion_tokens"),
            *("temperature", "top_p", "seed", "random_seed", "api_key", "Model"),
        ],
    )
    def test_extra_cannot_replace_what_the_judge_sets(self, field):
        with pytest.raises(SgevalError, match=f"extra: expected no field that the judge sets itself, got {field}$"):
            LlmJudge("local/m", extra={"top_k": 1, field: "zzz"})

    def test_canaries_stand_anywhere(self):
        """Of 3 pairs and 2 known ones each place is taken by a known one within 200 draws, but for one chance in 10^44."""
        pairs = some(3)
        places = set()
        for _ in range(200):
            mixed, known = prompt.with_canaries(pairs)
            assert [pair for place, pair in enumerate(mixed) if place not in known] == pairs
            for place, is_synonym in known.items():
                assert mixed[place] in prompt.canaries("object")[0 if is_synonym else 1]
            places |= set(known)
        assert places == {0, 1, 2, 3, 4}


PROMPT_3 = "33e5d5dc970680000b7baafc21b093fcc0937bac6988d3f116ce78c445db9329"

CHANGED = {
    "model": "local/n",
    "address": "http://h:81",
    "seed": 1,
    "max_tokens": 9,
    "reply_format": "text",
    "extra": {"top_k": 1},
    "normalisation": "words-2",
    "batch": 2,
    "temperature": 0.5,
    "top_p": 0.5,
}
"""Every field of a question moves the key."""

MOVES = {
    "model": "local/n",
    "base_url": "http://localhost:9/v1",
    "batch": 2,
    "max_tokens": 9,
    "seed": 1,
    "temperature": 0.5,
    "top_p": 0.5,
    "extra": {"top_k": 1},
    "reply_format": "text",
    "normalisation": "words-2",
}
STAYS = {
    "api_key": "k",
    "cache": "elsewhere",
    "concurrency": 1,
    "deadline": 1.0,
    "known": {"dog"},
    "prices": (1.0, 1.0),
    "max_cost": 1.0,
}
"""The options of the judge: those that move keys, and those that do not."""


class TestKey:
    def test_every_field_has_a_line(self):
        assert set(inspect.signature(Question).parameters) == set(CHANGED)
        assert set(inspect.signature(LlmJudge).parameters) == set(MOVES) | set(STAYS)

    @pytest.mark.parametrize("field", CHANGED)
    def test_fields_move_it(self, field):
        other = replace(QUESTION, **{field: CHANGED[field]})
        assert other.key(PAIR) != QUESTION.key(PAIR)

    @pytest.mark.parametrize("option", [*MOVES, *STAYS])
    def test_options(self, option, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        plain = {"model": "local/m", "base_url": "http://127.0.0.1:9/v1", "prices": (2.0, 2.0)}
        before, after = (
            LlmJudge(**options)._question for options in (plain, {**plain, option: {**MOVES, **STAYS}[option]})
        )
        assert (before.key(PAIR) == after.key(PAIR)) == (option in STAYS)

    def test_the_pair_moves_it(self):
        pairs = [
            *(PAIR, Pair("attribute", "dog", "puppy"), Pair("object", "puppy", "dog")),
            *(Pair("object", "dogp", "uppy"), Pair("object", "dog", 'puppy", "x": "')),
        ]
        assert len({QUESTION.key(pair) for pair in pairs} | {QUESTION.key(PAIR, "scope")}) == 6

    def test_the_schema_of_the_answer_moves_it(self, monkeypatch):
        before = QUESTION.key(PAIR)
        monkeypatch.setattr("sgeval.judges.verdict_cache.schema_digest", lambda: "another")
        assert replace(QUESTION).key(PAIR) != before

    def test_the_prompt_moves_it(self, monkeypatch):
        before = QUESTION.key(PAIR)
        monkeypatch.setattr("sgeval.judges.verdict_cache.prompt_digest", lambda: "another")
        assert replace(QUESTION).key(PAIR) != before


class TestSetUp:
    @pytest.mark.parametrize(
        ("model", "words"),
        [
            ("gpt-4o-mini", "judge: expected provider/model, such as openai/gpt-4o-mini, got"),
            ("local/", "expected provider/model"),
            ("opneai/gpt-4o", 'did you mean "openai"'),
        ],
    )
    def test_names(self, model, words, impatient):  # noqa: F811
        with pytest.raises(SgevalError) as caught:
            LlmJudge(model)
        assert words in str(caught.value) and "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"batch": 0}, "judge, batch: expected 1 to 1000, got 0"),
            ({"concurrency": 1001}, "judge, concurrency: expected 1 to 1000, got 1001"),
            ({"deadline": float("nan")}, "judge, deadline: expected seconds above 0, got NaN"),
            ({"reply_format": "json"}, "judge, reply_format: expected one of json_schema, json_object, text"),
            ({"extra": {"stop": {"a", "b"}}}, "judge, extra: expected fields that JSON takes, got"),
            ({"extra": {"top_p": float("inf")}}, "judge, extra: expected fields that JSON takes, got"),
            ({"extra": 7}, "judge, extra: expected fields that JSON takes, got 7"),
            ({"batch": "many"}, 'judge, batch: expected 1 to 1000, got "many"'),
            ({"batch": True}, "judge, batch: expected 1 to 1000, got true"),
            ({"temperature": 3}, "judge, temperature: expected 0 to 2, got 3"),
            ({"top_p": "high"}, 'judge, top_p: expected 0 to 1, got "high"'),
            ({"seed": 0.5}, "judge, seed: expected a whole number, got 0.5"),
            ({"max_tokens": 0}, "judge, max_tokens: expected a whole number from 1, got 0"),
            ({"max_cost": -1}, "judge, max_cost: expected dollars from 0, got -1"),
            ({"prices": 1}, "judge, prices: expected two, of a million tokens in and out, got 1"),
            ({"prices": [1, "x"]}, 'judge, prices: expected dollars from 0, got "x"'),
            ({"base_url": 7}, "judge, base_url: expected a text, got 7"),
            ({"known": "dog"}, 'judge, known: expected a set of labels, got "dog"'),
            ({"base_url": "http://h:99999/v1"}, "judge, base_url: expected an address such as https://host/v1"),
            ({"max_cost": 1.0}, "judge, max_cost: expected prices= for local/m"),
            ({"api_key": "k\nX-Other: 1"}, "expected a key of ASCII characters without blanks"),
            ({"base_url": "ftp://h/v1"}, "judge, base_url: expected an address such as https://host/v1"),
            ({"base_url": "http://[::1/v1"}, "judge, base_url: expected an address such as https://host/v1"),
        ],
    )
    def test_options(self, options, words):
        with pytest.raises(SgevalError) as caught:
            LlmJudge("local/m", **options)
        assert words in str(caught.value) and "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "address",
        [
            *("http://u:SECRET@h/v1", "http://h/v1?key=SECRET", "http://h/v1#SECRET", "http://u:SECRET@h:99999/v1"),
        ],
    )
    def test_addresses_with_keys_are_not_shown(self, address):
        with pytest.raises(SgevalError, match="without user, password and query") as caught:
            LlmJudge("local/m", base_url=address)
        assert "SECRET" not in str(caught.value)

    def test_who_wins(self, monkeypatch):
        """The table, the provider's variables in their order, our own, the argument: each beats those before it."""
        steps = [
            ("OPENAI_API_URL", "http://one/v1"),
            ("OPENAI_API_BASE", "http://two/v1"),
            ("OPENAI_BASE_URL", "http://three/v1"),
            ("SGEVAL_JUDGE_BASE_URL", "http://four/v1"),
        ]
        monkeypatch.setenv("OPENAI_API_KEY", "theirs")
        assert find_server("openai/m").origin == "table"
        for name, address in steps:
            monkeypatch.setenv(name, address)
            server = find_server("openai/m")
            assert (server.base_url, server.origin, server.key.reveal()) == (address, name, "theirs")
        monkeypatch.setenv("SGEVAL_JUDGE_API_KEY", "ours")
        server = find_server("openai/m", "http://five/v1")
        assert (server.host, server.origin, server.key.reveal()) == ("five", "base_url", "ours")
        assert find_server("openai/m", api_key="mine").key.reveal() == "mine"

    def test_a_key_is_missed_when_something_is_asked(self, tmp_path):
        """An estimate and kept verdicts need none."""
        with faked() as fake:
            LlmJudge("openai/m", base_url=fake.url, api_key="k", cache=tmp_path)(some(2))
            judge = LlmJudge("openai/m", base_url=fake.url, cache=tmp_path)
            assert judge.estimate(some(3)).calls == 1 and categories(judge(some(2))) == truth(some(2))
            with pytest.raises(SgevalError, match="expected a key in OPENAI_API_KEY or SGEVAL_JUDGE_API_KEY, got none"):
                judge(some(3))
            assert fake.calls == 2

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("http://h:8000/v1", "http://h:8001/v1", False),
            ("http://h/v1", "https://h/v1", False),
            ("http://h/v1", "http://h/v2", False),
            ("http://h/v1", "http://i/v1", False),
            ("http://h/v1", "HTTP://H:80/v1/", True),
            ("https://h/v1", "https://h:443/v1", True),
            ("http://[::1]:8000/v1", "http://[::1]/v1", False),
        ],
    )
    def test_two_servers_on_one_host_are_two(self, one, other, same):
        """In the key of a verdict and in the judge's name."""
        judges = [LlmJudge("local/m", base_url=address) for address in (one, other)]
        assert (judges[0].name == judges[1].name) == same
        assert (judges[0]._question.key(PAIR) == judges[1]._question.key(PAIR)) == same

    def test_models_may_have_slashes(self):
        assert find_server("openrouter/a/b:free", api_key="k").model == "a/b:free"
        assert all(find_server(f"{name}/m", api_key="k").host for name in PROVIDERS)


class TestMoney:
    """At 10 and 100 dollars a million, and 420 and 30 tokens as the fake says, a pair costs 0.0042 + 0.003 = 0.0072."""

    def test_spent(self, tmp_path):
        with faked() as fake:
            judge = asking(fake, tmp_path, prices=(10.0, 100.0))
            judge(some(10))
            assert (judge.tally.prompt_tokens, judge.tally.completion_tokens) == (4200, 300)
            assert judge.tally.usd == pytest.approx(0.072)
            assert asking(fake, tmp_path).tally.usd is None

    def test_max_cost(self, tmp_path):
        """The run stops before the limit, without a fault, and a second one with more money pays for the rest alone."""
        pairs = some(30)
        with faked() as fake:
            judge = asking(fake, tmp_path, prices=(10.0, 100.0), max_cost=0.1)
            verdicts = judge(pairs)
            n = judge.tally.judged
            assert 0 < n <= 13 and judge.tally.usd <= 0.1 and fake.calls == n
            assert reasons(verdicts).count("budget") == 30 - n == judge.tally.unjudged["budget"]
            assert "max_cost" in judge.tally.stopped
            assert categories(asking(fake, tmp_path, prices=(10.0, 100.0), max_cost=5.0)(pairs)) == truth(pairs)
            assert fake.calls == 30

    def test_what_is_under_way_counts(self, tmp_path):
        """32 requests at once: money is set aside for each before it is sent. One costs 0.0072, so without that the second
        round would come to 0.23."""
        with faked(delay=0.05) as fake:
            judge = asking(fake, tmp_path, prices=(10.0, 100.0), max_cost=0.1, concurrency=32)
            judge(some(60))
            assert judge.tally.usd <= 0.1 and 0 < fake.calls <= 13 and "max_cost" in judge.tally.stopped

    def test_nothing_to_spend(self, tmp_path):
        with faked() as fake:
            assert reasons(asking(fake, tmp_path, prices=(1.0, 1.0), max_cost=0.0)(some(3))) == ["budget"] * 3
            assert fake.calls == 0

    def test_cached_verdicts_are_free(self, tmp_path):
        with faked() as fake:
            asking(fake, tmp_path)(some(5))
            broke = asking(fake, tmp_path, prices=(1.0, 1.0), max_cost=0.0)
            assert reasons(broke(some(8))) == [None] * 5 + ["budget"] * 3

    def test_a_server_that_does_not_count(self, tmp_path):
        with faked({"match": "all", "do": "answer", "usage": None}) as fake:
            judge = asking(fake, tmp_path, prices=(10.0, 100.0))
            judge(some(2))
        assert judge.tally.prompt_tokens > 0 and judge.tally.usd > 0

    def test_estimate(self, tmp_path):
        """41 objects and 5 attributes, 20 a call: 3 + 1 calls. Nothing is asked, and the folder is not made."""
        pairs = [*some(41), *some(5, "attribute")]
        with faked() as fake:
            judge = asking(fake, tmp_path / "new", batch=20, prices=(1.0, 2.0), known=_Everything())
            before = judge.estimate([*pairs, *pairs])
            assert (before.pairs, before.cached, before.calls) == (46, 0, 4)
            assert before.usd == pytest.approx((before.prompt_tokens + 2 * before.completion_tokens) / 1e6)
            assert fake.calls == 0 and not (tmp_path / "new").exists()
            judge(pairs)
            assert fake.calls == 4
            assert judge.estimate(pairs).cached == 46 and judge.estimate(pairs).usd == 0
            assert asking(fake, tmp_path / "new").estimate(pairs).calls == 46, "batches are another question"

    def test_estimate_of_second_looks(self, tmp_path):
        """41 pairs of labels that nobody knows: 3 calls, and 3 more if all are accepted and looked at again."""
        with faked() as fake:
            judge = asking(fake, tmp_path, batch=20, known=())
            before = judge.estimate(some(41))
            judge(some(41))
            assert before.calls == 6 and fake.calls <= before.calls
            assert asking(fake, tmp_path / "alone", known=()).estimate(some(41)).calls == 41

    def test_estimate_finds_what_holds_for_this_submission(self, tmp_path):
        with faked() as fake:
            judge = asking(fake, tmp_path, batch=20)
            judge(some(20))
            assert judge.estimate(some(20)).cached == 20
            assert judge.estimate(some(21)).cached == 0


class _Everything:
    def __contains__(self, label):
        return True


def test_the_fake_speaks_as_servers_do():
    whole = json.loads(completion({"1f": "synonym"}, {"do": "answer"}))
    assert json.loads(whole["choices"][0]["message"]["content"]) == {"verdicts": [{"id": "1f", "category": "synonym"}]}
