"""What the tests of the language-model judge share: a fake server, pairs, and what it says of them."""

import pytest
from fakejudge import FakeJudge, canary_table, right

import sgeval.judges.endpoint as endpoint
from sgeval.judges.llm import LlmJudge
from sgeval.judges.verdicts import Pair


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Waits between tries are hundredths of a second, and keys of the machine are not seen."""
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.005)
    monkeypatch.setattr(endpoint, "LONGEST_WAIT", 0.02)
    monkeypatch.setattr(endpoint, "SLOW_DOWN", 0.02)
    for name in ("SGEVAL_JUDGE_BASE_URL", "SGEVAL_JUDGE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def some(n, kind="object"):
    return [Pair(kind, f"thing {i}", f"item {i}") for i in range(n)]


def faked(*rules, table=(), **more):
    known = canary_table()
    return FakeJudge(rules, {**known, **dict(table)}, known=known, **more)


def asking(fake, folder=None, **options):
    options = {"concurrency": 4, "deadline": 10.0, **options}
    return LlmJudge("local/m", base_url=fake.url, cache=folder, **options)


def truth(pairs, table=()):
    return [right(pair.kind, pair.reference, pair.prediction, dict(table)) for pair in pairs]


def categories(verdicts):
    return [verdict.category for verdict in verdicts]


def reasons(verdicts):
    return [verdict.reason for verdict in verdicts]
