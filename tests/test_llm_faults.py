"""Servers that fail: each fault is healed, or ends in a reason of its own, or stops the run; nothing is guessed.

Where each fault of judging is tested (R: test_llm_resume, P: test_llm_replies, C: test_temporal_command, K: test_llm_judge):

    FM1 killed while judging         R TestKilled, C test_killed_and_given_again
    FM2 killed while results are written     R TestKilled, its last points
    FM3 SIGINT, SIGTERM, a second one        R TestInterrupted, C TestSignals
    FM4 disk full                    R test_a_full_disk
    FM5 folder that cannot be had    R test_a_folder_that_cannot_be_had
    FM6 damaged rows                 R test_damaged_rows, test_rows_of_another_form
    FM7 damaged file, cut log        R test_a_damaged_file, test_a_cut_log
    FM8 another version              R test_a_newer_version
    FM9 Retry-After                  TestRetryAfter
    FM10 5xx, reset, no name, no TLS TestTriedAgain
    FM11 4xx                         TestNotTriedAgain
    FM12 slow, endless, huge, packed TestTimeAndSize
    FM13 odd bodies                  P test_texts, test_bodies, TestAskedAgain
    FM14 cut off                     P test_cut_off
    FM15 refused, filtered, empty    P test_refusals, test_content_filter
    FM16 ids                         P test_odd_lists, test_no_pair_gets_anothers_verdict
    FM17 words                       P test_words
    FM18 another verdict             R test_the_first_verdict_stands
    FM19 another model               TestOneRunSeveralAnswers, C test_the_account_is_kept_and_shown
    FM22 processes that share        R TestShared
    money and keys                   K TestMoney, test_llm_secrets
"""

import asyncio
import json
import resource
import socket
from email.utils import formatdate

import httpx2
import pytest
from fakejudge import FakeJudge
from judge_kit import asking, categories, faked, impatient, reasons, some, truth  # noqa: F401

import sgeval.judges.endpoint as module
from sgeval.errors import SgevalError
from sgeval.judges.endpoint import Endpoint, _retry_after
from sgeval.judges.llm import LlmJudge
from sgeval.judges.providers import find_server
from sgeval.judges.tally import Tally
from sgeval.judges.verdicts import Pair

NOW = 1_800_000_000.0


class Patient:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def answers(fake, n=1, clock=None, **options):
    """The answers to n requests, made at once, and the endpoint."""
    clock = clock or Patient()
    server = find_server("local/m", fake.url)
    endpoint = Endpoint(server, Tally(), 5.0, 32, sleep=clock.sleep, clock=lambda: clock.now, **options)
    user = json.dumps({"kind": "object", "pairs": [{"id": "1f", "a": "dog", "b": "puppy"}]})
    body = {"model": "m", "messages": [{"role": "system", "content": ""}, {"role": "user", "content": user}]}

    async def work():
        async with endpoint:
            return await asyncio.gather(*(endpoint.ask(body) for _ in range(n)))

    return asyncio.run(work()), endpoint


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({"retry-after": "7"}, 7.0),
            ({"retry-after": " 0.25 "}, 0.25),
            ({"retry-after": "120"}, 120.0),
            ({"retry-after": "1e9"}, 1e9),
            ({"retry-after": "1e999"}, float("inf")),
            ({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30.0),
            ({"retry-after": formatdate(NOW - 30, usegmt=True)}, None),
            ({"retry-after": "Wed, 99 Foo 9999999 99:99:99 GMT"}, None),
            ({"retry-after": "0"}, None),
            ({"retry-after": "-5"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "soon"}, None),
            ({"retry-after": ""}, None),
            ({"retry-after-ms": "1500"}, 1.5),
            ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
            ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
            ({}, None),
        ],
    )
    def test_values(self, headers, seconds):
        assert _retry_after(httpx2.Headers(headers), NOW) == seconds

    @pytest.mark.parametrize("status", [429, 503])
    def test_obeyed_by_all(self, status):
        """One of four calls is told to wait 100 seconds: after that nobody calls before they are over."""
        clock = Patient()
        with faked({"match": "nth:1", "do": "status", "status": status, "retry_after": "100"}) as fake:
            (one,), endpoint = answers(fake, 1, clock)
            assert one.body and fake.calls == 2 and 100.0 <= clock.now < 101
            assert endpoint.stop is None and endpoint.tally.retried == 1

    def test_a_wait_for_one_is_a_wait_for_others(self):
        clock = Patient()
        with faked({"match": "nth:1..3", "do": "status", "status": 429, "retry_after": "50"}) as fake:
            many, _ = answers(fake, 3, clock)
            assert all(one.body for one in many) and fake.calls == 6
            assert clock.now >= 50

    @pytest.mark.parametrize(("status", "waits"), [(429, True), (503, False)])
    def test_too_many_requests_slow_all_down(self, monkeypatch, status, waits):
        """A server that says so and names no time gets a pause of its own; one that fails does not."""
        monkeypatch.setattr(module, "SLOW_DOWN", 7.0)
        clock = Patient()
        with faked({"match": "nth:1", "do": "status", "status": status}) as fake:
            many, _ = answers(fake, 3, clock)
            assert all(one.body for one in many) and fake.calls == 4
        assert (clock.now >= 7) == waits

    @pytest.mark.parametrize(("wait", "stops"), [("120", False), ("121", True), ("1e9", True), ("1e999", True)])
    def test_too_long(self, tmp_path, wait, stops):
        """Above two minutes the run stops for another time; what was judged stays judged."""
        clock = Patient()
        with faked({"match": "nth:1", "do": "status", "status": 429, "retry_after": wait}) as fake:
            _, endpoint = answers(fake, 1, clock)
            assert (endpoint.stop is not None) == stops and fake.calls == (1 if stops else 2)
        with faked({"match": "after:6", "do": "status", "status": 429, "retry_after": wait}) as fake:
            if stops:
                judge = asking(fake, tmp_path, concurrency=1)
                assert reasons(judge(some(20))) == [None] * 6 + ["rate limit"] * 14
                assert fake.calls == 7 and "asks to wait" in judge.tally.stopped
                fake.rules.clear()
                assert categories(asking(fake, tmp_path)(some(20))) == truth(some(20)) and fake.calls == 7 + 14

    def test_used_up(self, tmp_path):
        """A quota that is used up does not come back by waiting."""
        rule = {"match": "after:2", "do": "status", "status": 429, "code": "insufficient_quota", "say": "pay first"}
        with faked(rule) as fake:
            judge = asking(fake, tmp_path, concurrency=1)
            assert reasons(judge(some(5))) == [None, None, *["rate limit"] * 3] and fake.calls == 3
            assert judge.tally.stopped == "the quota is used up (pay first)"


class TestTriedAgain:
    @pytest.mark.parametrize("n", [1, 4, 5])
    @pytest.mark.parametrize(
        ("rule", "reason"),
        [
            ({"do": "status", "status": 500}, "http 500"),
            ({"do": "status", "status": 502}, "http 502"),
            ({"do": "status", "status": 503}, "http 503"),
            ({"do": "status", "status": 529}, "http 529"),
            ({"do": "status", "status": 408}, "http 408"),
            ({"do": "status", "status": 409}, "http 409"),
            ({"do": "status", "status": 429}, "rate limit"),
            ({"do": "reset"}, "connection"),
        ],
    )
    def test_up_to_five_times(self, rule, reason, n):
        """Four faults are healed by the fifth try; five are the end."""
        with faked({"match": f"nth:1..{n}", **rule}) as fake:
            (answer,), endpoint = answers(fake)
            assert fake.calls == min(n + 1, 5) and endpoint.tally.retried == min(n, 4)
            assert answer.fault == ("" if n < 5 else reason)

    def test_waits_grow_and_differ(self, monkeypatch):
        """Full jitter: each wait lies between 0 and 0.5, 1, 2, 4 seconds, and two runs do not wait alike."""
        monkeypatch.setattr(module, "FIRST_WAIT", 0.5)
        monkeypatch.setattr(module, "LONGEST_WAIT", 8.0)
        clocks = [Patient(), Patient()]
        for clock in clocks:
            with faked({"match": "all", "do": "status", "status": 500}) as fake:
                answers(fake, 1, clock)
        for clock in clocks:
            assert len(clock.slept) == 4
            assert all(0 <= wait <= most for wait, most in zip(clock.slept, (0.5, 1, 2, 4)))
        assert clocks[0].slept != clocks[1].slept

    def test_a_share_of_faults(self, tmp_path):
        """A tenth of answers each: other text, no answer, a refusal. The same run meets the same, with 1 thread or 8."""
        rules = [
            {"match": "share:0.1", "do": "content", "content": "well"},
            {"match": "share:0.2", "do": "status", "status": 500},
            {"match": "share:0.3", "do": "refusal"},
        ]
        seen = []
        for concurrency in (1, 8):
            with faked(*rules) as fake:
                verdicts = asking(fake, tmp_path / str(concurrency), concurrency=concurrency)(some(60))
                seen.append((verdicts, fake.counts, sorted(fake.done)))
        assert seen[0] == seen[1]
        assert len(set(seen[0][2])) == 3
        assert all(v.category in (None, right) for v, right in zip(seen[0][0], truth(some(60))))
        assert {v.reason for v in seen[0][0]} <= {None, "refused", "not json"}

    def test_a_server_that_is_gone(self, tmp_path):
        """Given up after 20 failures, or twice as many as were under way, and stored verdicts are there all the same."""
        with faked() as fake:
            asking(fake, tmp_path)(some(5))
        judge = asking(fake, tmp_path, concurrency=2)
        assert reasons(judge(some(200))) == [None] * 5 + ["connection"] * 195
        assert judge.tally.calls <= 20 + 2 and "20 calls to 127.0.0.1 in a row have failed" in judge.tally.stopped

    def test_many_at_once_fall_together(self, tmp_path):
        """With 16 under way 32 failures in a row are the end, and not 20: one bad moment may take all that were sent."""
        with faked({"match": "all", "do": "status", "status": 500}) as fake:
            judge = asking(fake, tmp_path, concurrency=16)
            assert set(reasons(judge(some(100)))) == {"http 500"}
            assert "32 calls to 127.0.0.1 in a row have failed" in judge.tally.stopped
            assert 32 <= fake.calls <= 32 + 16

    def test_an_answer_between_faults_starts_the_count_anew(self, tmp_path):
        """Two of three calls fail, 40 in all, never 20 in a row: the run goes on to its end."""
        rules = [{"match": "upto:2", "do": "status", "status": 500}]
        with faked(*rules) as fake:
            judge = asking(fake, tmp_path, concurrency=1)
            assert categories(judge(some(20))) == truth(some(20))
            assert fake.calls == 60 and judge.tally.retried == 40 and not judge.tally.stopped

    def test_names_that_lead_nowhere(self, tmp_path):
        judge = LlmJudge("local/m", base_url="http://nowhere.invalid/v1", cache=tmp_path, concurrency=2)
        assert reasons(judge(some(30))) == ["connection"] * 30

    def test_a_server_that_speaks_another_protocol(self, tmp_path):
        with faked() as fake:
            judge = LlmJudge("local/m", base_url=fake.url.replace("http:", "https:"), cache=tmp_path, concurrency=2)
            assert reasons(judge(some(3))) == ["connection"] * 3
            assert fake.calls == 0


class TestNotTriedAgain:
    @pytest.mark.parametrize(("status", "most"), [(401, 1), (403, 1), (404, 1), (400, 11), (422, 11), (302, 11)])
    def test_a_wrong_set_up(self, tmp_path, status, most):
        """The first call goes alone, so there is no second one where it says enough; else three are refused, and at
        most eight are under way then. The server's own words are shown."""
        with faked({"match": "all", "do": "status", "status": status, "say": "no such\nmodel {key}"}) as fake:
            judge = LlmJudge("openai/m", base_url=fake.url, api_key="sk-CANARY", cache=tmp_path, concurrency=8)
            with pytest.raises(SgevalError) as caught:
                judge(some(50))
            assert min(3, most) <= fake.calls <= most
        assert str(caught.value) == f"judge openai/m: 127.0.0.1 answers {status} (no such model ***)"

    def test_another_path(self, tmp_path):
        with faked() as fake:
            judge = LlmJudge("local/m", base_url=fake.url.replace("/v1", "/v2"), cache=tmp_path)
            with pytest.raises(SgevalError, match=r"answers 404 \(no such path\)"):
                judge(some(3))

    def test_a_key_that_is_taken_back(self, tmp_path):
        """In the middle of a run it stops the run, and the verdicts so far stand."""
        with faked({"match": "after:5", "do": "status", "status": 401}) as fake:
            judge = asking(fake, tmp_path, concurrency=1)
            assert reasons(judge(some(30))) == [None] * 5 + ["http 401"] * 25
            assert fake.calls == 6 and "answers 401" in judge.tally.stopped

    def test_one_pair_that_is_rejected(self, tmp_path):
        """It is its own reason, alone as well as in a batch, and costs the others nothing."""
        for batch, calls in ((1, 6), (6, 7)):
            with faked({"match": "label:thing 4$", "do": "status", "status": 400}) as fake:
                known = {label for pair in some(6) for label in (pair.reference, pair.prediction)}
                judge = asking(fake, tmp_path / str(batch), batch=batch, concurrency=1, known=known)
                assert reasons(judge(some(6))) == [None] * 4 + ["http 400", None]
                assert fake.calls == calls
                assert reasons(judge(some(6))) == [None] * 4 + ["http 400", None], (
                    "also where it is the first to be asked"
                )

    def test_too_large(self, tmp_path):
        """413 splits a batch of 8 into 4 and 4; one pair alone is given up."""
        known = {label for pair in some(8) for label in (pair.reference, pair.prediction)}
        with faked({"match": "nth:1", "do": "status", "status": 413}) as fake:
            judge = asking(fake, tmp_path, batch=8, known=known)
            assert categories(judge(some(8))) == truth(some(8)) and fake.calls == 3
        with faked({"match": "after:1", "do": "status", "status": 413}) as fake:
            judge = asking(fake, tmp_path / "alone", concurrency=1)
            assert reasons(judge(some(2))) == [None, "too large"] and fake.calls == 2


class TestTimeAndSize:
    @pytest.mark.parametrize("do", ["stall", "loris"])
    def test_slow(self, tmp_path, do):
        """A byte now and then does not move the deadline of 0.4 seconds; five tries, then the reason."""
        with faked({"match": "label:thing 1$", "do": do}) as fake:
            judge = asking(fake, tmp_path, deadline=0.4)
            assert reasons(judge(some(3))) == [None, "timeout", None]
            assert fake.counts["object", "thing 1", "item 1"] == 5

    @pytest.mark.parametrize("do", ["endless", "huge", "gzip"])
    def test_large(self, tmp_path, do):
        """200 MB, or 64 MB packed: not read. Memory grows by less than 20 MB."""
        with faked({"match": "label:thing 1$", "do": do}) as fake:
            judge = asking(fake, tmp_path, concurrency=1)
            judge(some(1))
            if do == "gzip":
                asking(fake)([Pair("object", "thing 1", "x")])  # the fake packs its bomb, in this process
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            assert reasons(judge(some(3))) == [None, "body", None]
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000

    def test_large_faults(self, tmp_path):
        """The body of a refusal is bounded too."""
        with faked({"match": "after:1", "do": "status", "status": 400, "say": "x" * (2 << 20)}) as fake:
            assert reasons(asking(fake, tmp_path, concurrency=1)(some(2))) == [None, "body"]

    def test_connections_end_with_the_call(self, tmp_path):
        with FakeJudge() as fake:
            judge = asking(fake, tmp_path)
            judge(some(8))
            with socket.create_connection(fake.server.server_address):
                pass
            assert judge.tally.calls == 8


class TestOneRunSeveralAnswers:
    def test_another_model_half_way(self, tmp_path):
        """The server's model and fingerprint are kept with each verdict; two of them in a run are told."""
        pairs = some(10)
        with faked({"match": "after:6", "do": "model", "model": "fake-2", "fingerprint": "fp2"}) as fake:
            judge = asking(fake, tmp_path, concurrency=1)
            judge(pairs)
            assert judge.tally.models == {("fake-1", "fp"): 6, ("fake-2", "fp2"): 4} and judge.tally.is_mixed
            again = asking(fake, tmp_path)
            again(pairs)
            assert again.tally.models == judge.tally.models and again.tally.as_dict()["mixed_judge"]
            again = asking(fake, tmp_path)
            again(pairs[:6])
            assert not again.tally.is_mixed
