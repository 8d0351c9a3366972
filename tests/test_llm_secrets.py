"""A key is nowhere: not in what is logged, raised, returned, shown or stored, whatever the server does with it."""

import logging
import pickle
import traceback

import pytest
from judge_kit import faked, impatient, some  # noqa: F401

from sgeval.errors import SgevalError
from sgeval.judges.llm import LlmJudge
from sgeval.judges.providers import Secret

KEY = "sk-CANARY-0f8d2c5e"

STATUSES = (400, 401, 403, 404, 413, 429, 500, 503)
RULES = [
    *(
        {"do": "status", "status": status, "say": "your key {key} is odd"}
        for status in (400, 401, 403, 404, 413, 429, 500, 503)
    ),
    {"do": "status", "status": 429, "retry_after": "1e9", "say": "{key}"},
    {"do": "status", "status": 429, "code": "insufficient_quota", "say": "{key}"},
    *({"do": do} for do in ("reset", "stall", "gzip", "huge", "refusal", "empty", "echo")),
    {"do": "body", "body": f"{{{KEY}"},
    {"do": "content", "content": KEY},
    {"do": "answer", "fingerprint": KEY},
    {"do": "answer", "finish": "length"},
    {"do": "word", "word": KEY},
    {"do": "mutate", "how": "foreign"},
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: "-".join(map(str, rule.values())).replace(KEY, "key")[:40])
@pytest.mark.parametrize("first", [1, 2])
def test_nowhere(tmp_path, caplog, capfd, rule, first):
    """From the first request on, or after a good one; all loggers at debug level."""
    caplog.set_level(logging.DEBUG)
    said = []
    with faked({"match": f"nth:{first}..9999", **rule}) as fake:
        judge = LlmJudge("openai/m", base_url=fake.url, api_key=KEY, cache=tmp_path, concurrency=2, deadline=0.3)
        try:
            said += [repr(judge(some(2)))]
        except SgevalError as fault:
            said += [str(fault), "".join(traceback.format_exception(fault))]
            said += [repr(frame.f_locals) for frame, _ in traceback.walk_tb(fault.__traceback__) if _ours(frame)]
        assert any(KEY in header["authorization"] for header in fake.headers), "it was sent"
    said += [
        repr(vars(judge)),
        judge.name,
        repr(judge.tally),
        repr(judge.tally.as_dict()),
        caplog.text,
        *capfd.readouterr(),
    ]
    assert caplog.records, "something was logged"
    assert not [text for text in said if KEY in text]
    assert not [path.name for path in tmp_path.iterdir() if KEY.encode() in path.read_bytes()]


def _ours(frame):
    return "/sgeval/" in frame.f_code.co_filename


def test_loggers_of_the_client_are_watched(tmp_path, caplog):
    """What a newer client might log is hidden while a judge works, in words, arguments and tracebacks; and not after."""
    caplog.set_level(logging.DEBUG)
    logger = logging.getLogger("openai._base_client")

    def log():
        logger.debug("key %s", KEY)
        logger.debug("headers %s", {"authorization": KEY})
        try:
            raise ValueError(KEY)
        except ValueError:
            logger.debug("went wrong", exc_info=True)

    with faked() as fake:
        note = fake.note

        def meanwhile(*arguments):
            log()
            return note(*arguments)

        fake.note = meanwhile
        LlmJudge("openai/m", base_url=fake.url, api_key=KEY, cache=tmp_path)(some(1))
    assert KEY not in caplog.text and "key ***" in caplog.text and "ValueError: ***" in caplog.text
    log()
    assert KEY in caplog.text, "the check can fail"


def test_a_key_does_not_leave_its_box():
    with pytest.raises(TypeError, match="not written anywhere"):
        pickle.dumps(Secret(KEY))
    assert KEY not in f"{Secret(KEY)} {Secret(KEY)!r} {[Secret(KEY)]} {vars(LlmJudge('openai/m', api_key=KEY))}"


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"extra": {"x": KEY}}, "extra"),
        ({"extra": {"a": {"b": [1, {"c": f"Bearer {KEY}"}]}}}, "extra"),
        ({"extra": {KEY: 1}}, "extra"),
        ({"base_url": f"https://host/{KEY}/v1"}, "base_url"),
        *(
            ({"extra": {"a": [{name: "anything"}]}}, "extra")
            for name in ("token", "apiKey", "x-api-key", "client_secret", "Password", "HF_TOKEN", "credentials")
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "HF_TOKEN", "SGEVAL_JUDGE_API_KEY"])
def test_not_among_the_options_that_results_tell(monkeypatch, variable, options, place):
    """Whatever its field is called, and whoever's key of the environment it is; and no field with the name of one."""
    monkeypatch.setenv(variable, KEY)
    with pytest.raises(
        SgevalError, match=rf"^judge, {place}: expected no key, got one; the environment holds"
    ) as caught:
        LlmJudge("local/m", **options)
    assert KEY not in str(caught.value)


def test_fields_that_are_no_keys(monkeypatch):
    """Names of the servers' own, and a key that is no secret and stands anywhere by chance."""
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    extra = {"prompt_cache_key": "a", "stop_token_ids": [7], "min_tokens": 1, "note": "EMPTY"}
    assert LlmJudge("openai/m", extra=extra).settings["extra"] == extra
