"""Answers of language models: what is read, what is mended, and what is asked again; no pair gets another's verdict."""

import json

import pytest
from fakejudge import MUTATIONS
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_kit import asking, categories, faked, impatient, reasons, some, truth  # noqa: F401

from sgeval.judges.replies import Reply, read_message, read_verdicts
from sgeval.judges.verdicts import CATEGORIES

GOOD = '{"verdicts": [{"id": "1f", "category": "synonym"}]}'
READ = {"1f": "synonym"}

# The text of an answer about the id 1f, and what comes of it: "read", "mended", or a fault.
TEXTS = [
    (GOOD, "read"),
    (f"  {GOOD}\n", "read"),
    (json.dumps(json.loads(GOOD), indent=2), "read"),
    (f"```json\n{GOOD}\n```", "mended"),
    (f"```\n{GOOD}\n```", "mended"),
    (f"Sure! ```json\n{GOOD}\n``` Hope it helps", "mended"),
    (f"The verdicts are: {GOOD}", "mended"),
    (f"{GOOD} I hope this helps.", "mended"),
    ("\ufeff" + GOOD, "mended"),
    ('{"verdicts": [{"id": "1f", "category": "Synonym"}]}', "mended"),
    ('{"verdicts": [{"id": "1f", "category": " synonym "}]}', "mended"),
    ('{"verdicts": [{"id": "1f", "category": "synonym", "why": "same thing"}]}', "mended"),
    (f"{GOOD} {GOOD}", "not json"),
    (f"{GOOD}\n{{}}", "not json"),
    (f"First {{thoughts}}, then {GOOD}", "not json"),
    (GOOD[:-1], "not json"),
    (GOOD[:-12], "not json"),
    (GOOD.replace('"', "'"), "not json"),
    (GOOD.replace("}]", "},]"), "not json"),
    (GOOD.replace('"synonym"', "NaN"), "not json"),
    (GOOD.replace('"synonym"', "1e999"), "not json"),
    (GOOD.replace("}]}", '}], "verdicts": []}'), "not json"),
    (GOOD.replace('"synonym"', '"synonym", "category": "mismatch"'), "not json"),
    (GOOD.replace("synonym", "\\ud800"), "not json"),
    ("[" * 100_000, "not json"),
    ('{"a":' * 100_000, "not json"),
    ("synonym", "not json"),
    ("1f: synonym", "not json"),
    ('"synonym"', "not json"),
    ("I cannot compare these.", "not json"),
    ("{}", "schema"),
    ('{"verdict": "synonym"}', "schema"),
    ('{"results": [{"id": "1f", "category": "synonym"}]}', "schema"),
    ('{"verdicts": [{"id": "1f", "category": "synonym"}], "note": ""}', "schema"),
    ('{"verdicts": {"1f": "synonym"}}', "schema"),
    ('{"verdicts": "synonym"}', "schema"),
    ('{"verdicts": null}', "schema"),
    ('{"verdicts": ["synonym"]}', "schema"),
    ('{"verdicts": [{"category": "synonym"}]}', "schema"),
    ('{"verdicts": [{"id": 1, "category": "synonym"}]}', "schema"),
    ('{"id": "1f", "category": "synonym"}', "schema"),
    ('[{"id": "1f", "category": "synonym"}]', "schema"),
    ('{"verdicts": []}', "missing"),
    ('{"verdicts": [{"id": "1F", "category": "synonym"}]}', "ids"),
    ('{"verdicts": [{"id": "1f ", "category": "synonym"}]}', "ids"),
    (GOOD.replace("]", ', {"id": "2e", "category": "synonym"}]'), "ids"),
    (GOOD.replace("]", ', {"id": "1f", "category": "synonym"}]'), "ids"),
    (GOOD.replace("]", ', {"id": "1f", "category": "mismatch"}]'), "ids"),
    ('{"verdicts": [{"id": "1f", "category": "close"}, {"id": "1f", "category": "synonym"}]}', "ids"),
    ('{"verdicts": [{"id": "1f", "category": "close"}, {"id": "1f", "category": "near"}]}', "ids"),
]

# Words of a category, and what they are taken for.
WORDS = [
    *((word, word) for word in CATEGORIES),
    *((word.upper(), word) for word in CATEGORIES),
    *((word.title(), word) for word in CATEGORIES),
    *((f"\t{word}\n", word) for word in CATEGORIES),
    *(("Hypernym/Hyponym", "hypernym"), ("hyponym", "hypernym"), ("Semantic Overlap", "overlap")),
    *((f"{word}.", None) for word in CATEGORIES),
    *((f"{word}s", None) for word in CATEGORIES),
    *((f"not {word}", None) for word in CATEGORIES),
    *((f"{word} or mismatch", None) for word in CATEGORIES),
    *((word[:-1], None) for word in CATEGORIES),
    *(
        (word, None)
        for word in ("", "yes", "match", "semantic", "same", "none", "A", "1", "ıdentical", "synonym\u200b", "ѕynonym")
    ),
    *((word, None) for word in (None, True, 1, 0.5, ["synonym"], {"category": "synonym"})),
]


@pytest.mark.parametrize(("text", "outcome"), TEXTS)
def test_texts(text, outcome):
    reply = read_verdicts(text, ["1f"])
    if outcome in ("read", "mended"):
        assert reply == Reply(READ, {}, outcome == "mended")
    else:
        assert reply.found == {} and reply.faults == {"1f": outcome}


@pytest.mark.parametrize(("word", "category"), WORDS)
def test_words(word, category):
    reply = read_verdicts(json.dumps({"verdicts": [{"id": "1f", "category": word}]}), ["1f"])
    assert reply.found == ({"1f": category} if category else {})
    assert reply.faults == ({} if category else {"1f": "word"})


def test_a_fault_of_one_leaves_the_others():
    text = '{"verdicts": [{"id": "a", "category": "synonym"}, {"id": "b", "category": "close"}]}'
    assert read_verdicts(text, ["a", "b", "c"]) == Reply({"a": "synonym"}, {"b": "word", "c": "missing"}, False)


@given(st.text(max_size=60) | st.builds(lambda a, b: a + GOOD + b, st.text(max_size=9), st.text(max_size=9)))
@settings(max_examples=300)
def test_any_text_is_read_or_refused(text):
    reply = read_verdicts(text, ["1f"])
    assert set(reply.found) | set(reply.faults) == {"1f"}
    assert reply.found in ({}, READ)


@given(st.data())
@settings(max_examples=200)
def test_no_pair_gets_anothers_verdict(data):
    """Entries dropped, doubled, moved, renamed in any way: an id has its own category or none."""
    own = {f"{n:08x}": CATEGORIES[n % 5] for n in range(data.draw(st.integers(1, 8)))}
    entries = [{"id": name, "category": category} for name, category in own.items()]
    for _ in range(data.draw(st.integers(0, 4))):
        if not entries:
            break
        place = data.draw(st.integers(0, len(entries) - 1))
        change = data.draw(st.sampled_from(["drop", "double", "last", "rename", "word"]))
        entry = entries.pop(place)
        if change == "double":
            entries += [entry, dict(entry)]
        elif change == "last":
            entries.append(entry)
        elif change == "rename":
            entries.append({**entry, "id": data.draw(st.sampled_from(["", "ffffffff", entry["id"].upper() + "x"]))})
        elif change == "word":
            entries.append({**entry, "category": "nearly"})
    reply = read_verdicts(json.dumps({"verdicts": entries}), list(own))
    assert all(own[name] == category for name, category in reply.found.items())
    assert set(reply.found) | set(reply.faults) == set(own)


BODIES = [
    (b"", "not json"),
    (b"<html>502</html>", "not json"),
    ("{}".encode("utf-16"), "not json"),
    (b'{"choices": "\xff"}', "not json"),
    (b"[]", "schema"),
    (b"null", "schema"),
    (b"{}", "schema"),
    (b'{"choices": []}', "schema"),
    (b'{"choices": [7]}', "schema"),
    (b'{"choices": [{"message": "synonym"}]}', "schema"),
    (b'{"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}', "schema"),
    (b'{"choices": [{"message": {"content": ["a"]}}]}', "schema"),
    (b'{"choices": [{"message": {"content": null}}]}', "empty"),
    (b'{"choices": [{"message": {"content": " \\n"}}]}', "empty"),
    (b'{"choices": [{"message": {}}]}', "empty"),
    (b'{"choices": [{"message": {"content": null, "refusal": "no"}}]}', "refused"),
    (b'{"choices": [{"message": {"content": "a"}, "finish_reason": "content_filter"}]}', "refused"),
    (b'{"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}', "truncated"),
    (b'{"choices": [{"message": {"content": null}, "finish_reason": "length"}]}', "truncated"),
    (b'\xef\xbb\xbf{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}', None),
]


@pytest.mark.parametrize(("body", "fault"), BODIES)
def test_bodies(body, fault):
    message = read_message(body)
    assert message.fault == fault and message.text == ("" if fault else "a")


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ('{"prompt_tokens": 5, "completion_tokens": 7}', (5, 7)),
        ('{"prompt_tokens": -5, "completion_tokens": 7.5}', (None, None)),
        ('{"prompt_tokens": true, "completion_tokens": "7"}', (None, None)),
        ("[5, 7]", (None, None)),
        ("null", (None, None)),
    ],
)
def test_usage(usage, counted):
    body = f'{{"usage": {usage}, "model": 7, "choices": [{{"message": {{"content": "a"}}}}]}}'
    message = read_message(body.encode())
    assert (message.prompt_tokens, message.completion_tokens) == counted and message.model == ""


class TestAskedAgain:
    @pytest.mark.parametrize(("text", "outcome"), [one for one in TEXTS if len(one[0]) < 1000])
    def test_unreadable_once(self, tmp_path, text, outcome):
        """The first answer is replaced; the second is right. A mended or repeated one is marked."""
        text = text.replace(GOOD, "{answer}")
        with faked({"match": "nth:1", "do": "content", "content": text}) as fake:
            judge = asking(fake, tmp_path)
            (verdict,) = judge(some(1))
        if "{answer}" in text and outcome in ("read", "mended"):
            assert fake.calls == 1 and verdict.is_repaired == (outcome == "mended")
        else:
            assert fake.calls == 2 and verdict.is_repaired
        assert verdict.category == truth(some(1))[0] and judge.tally.repaired == verdict.is_repaired

    def test_unreadable_for_good(self, tmp_path):
        """Three rounds, then a reason, and nothing is kept: a second run asks again."""
        faults = [("not json", "no"), ("schema", "{}"), ("missing", '{"verdicts": []}')]
        for n, (reason, content) in enumerate(faults):
            with faked({"match": "upto:3", "do": "content", "content": content}) as fake:
                judge = asking(fake, tmp_path / str(n))
                assert reasons(judge(some(2))) == [reason] * 2
                assert fake.calls == 6 and judge.tally.unjudged == {reason: 2} and judge.tally.judged == 0
                assert categories(judge(some(2))) == truth(some(2))

    def test_refusals(self, tmp_path):
        """Asked again once; then unjudged. Neither is kept."""
        for n, (do, reason) in enumerate([("refusal", "refused"), ("empty", "empty")]):
            with faked({"match": "upto:2", "do": do}) as fake:
                judge = asking(fake, tmp_path / str(n))
                assert reasons(judge(some(1))) == [reason] and fake.calls == 2
                assert categories(judge(some(1))) == truth(some(1)) and fake.calls == 3
            with faked({"match": "upto:1", "do": do}) as fake:
                (verdict,) = asking(fake, tmp_path / f"once {n}")(some(1))
                assert verdict.category == truth(some(1))[0] and verdict.is_repaired

    def test_cut_off(self, tmp_path):
        """Not read although it could be; asked in halves, and given up where it is one pair."""
        with faked({"match": "all", "do": "answer", "finish": "length"}) as fake:
            assert reasons(asking(fake, tmp_path)(some(1))) == ["truncated"] and fake.calls == 1
        with faked({"match": "nth:1", "do": "answer", "finish": "length"}) as fake:
            judge = asking(fake, tmp_path / "many", batch=8, known=_known(8))
            assert categories(judge(some(8))) == truth(some(8))
            sizes = [len(json.loads(json.loads(body)["messages"][1]["content"])["pairs"]) for body in fake.bodies]
            assert sizes == [10, 6, 6]

    def test_content_filter(self, tmp_path):
        with faked({"match": "label:thing 3$", "do": "answer", "finish": "content_filter"}) as fake:
            judge = asking(fake, tmp_path, batch=5, known=_known(5))
            assert reasons(judge(some(5))) == [None, None, None, "refused", None]
            assert fake.counts["object", "thing 3", "item 3"] == 1 + 2

    @pytest.mark.parametrize("how", MUTATIONS)
    @pytest.mark.parametrize("batch", [1, 6])
    def test_odd_lists(self, tmp_path, how, batch):
        """The first answer is out of order, doubled, short, nameless…: every pair gets its own verdict in the end."""
        with faked({"match": "nth:1", "do": "mutate", "how": how}) as fake:
            judge = asking(fake, tmp_path, batch=batch, concurrency=1, known=_known(6))
            verdicts = judge(some(6))
            assert categories(verdicts) == truth(some(6))
        plain = 6 if batch == 1 else 1
        if how == "reversed":
            assert fake.calls == plain
        else:
            assert fake.calls > plain

    def test_only_what_is_missing(self, tmp_path):
        """Of a batch of 6 and 2 known pairs one category is no word: unless it is a known one's, 5 stand and 1 is asked."""
        with faked({"match": "nth:1", "do": "word", "word": "close"}) as fake:
            judge = asking(fake, tmp_path, batch=6, known=_known(6))
            verdicts = judge(some(6))
            assert categories(verdicts) == truth(some(6))
            if judge.tally.voided:
                assert fake.calls == 7
            else:
                assert fake.calls == 2 and sum(verdict.is_repaired for verdict in verdicts) == 1


def _known(n):
    return {label for pair in some(n) for label in (pair.reference, pair.prediction)}
