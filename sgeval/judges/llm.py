"""A judge that asks a language model, through any server that speaks OpenAI's chat completions."""

import json
import tempfile
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil, isfinite
from pathlib import Path
from threading import Lock
from typing import Any

from sgeval.errors import SgevalError, one_of, shown
from sgeval.judges.asking import Asker, answer_tokens, dollars, prompt_tokens
from sgeval.judges.endpoint import Endpoint
from sgeval.judges.prompt import PROMPT, ReplyFormat, prompt_digest, user_message
from sgeval.judges.providers import PRICES, find_server
from sgeval.judges.tally import Tally
from sgeval.judges.verdict_cache import FORM, Question, VerdictCache
from sgeval.judges.verdicts import Pair, Verdict
from sgeval.judges.work import Work, run_in_thread

MOST = 1000  # pairs a request, requests at once


@dataclass(frozen=True)
class Estimate:
    """What judging would take: pairs that are there already, requests, tokens, and money where prices are known.

    Tokens are rather too many than too few. Requests leave out those that are made again.
    """

    pairs: int
    cached: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


class LlmJudge:
    """Judges pairs of labels by a language model.

    `model` is `provider/model`, such as `openai/gpt-4o-mini`; see `sgeval.judges.providers` for providers and for the
    variables that hold keys. `base_url` and `api_key` win over both. Verdicts are kept in the folder `cache`, which several
    processes may share; without one they last as long as the judge.

    `batch` pairs of one kind go into a request: 1, or more at a lower price and with more trust in the model. Batches hold
    two known pairs, and are asked again one by one when those come back wrong; accepted pairs with a label outside
    `known` are asked again the other way round. `concurrency` requests are under way at once, each for `deadline`
    seconds at most.

    `max_tokens` limits an answer (models that think aloud need more than the default). `extra` holds further fields of
    a request; None takes one away. `reply_format` is for servers that do not take a JSON schema. `normalisation` names how
    the labels were made comparable, since verdicts hold for that. `prices` are US dollars for a million tokens, in and out.
    No request is made that may lead this judge over `max_cost` dollars; one that ran into its deadline may cost, and
    is not counted.

    The call takes distinct pairs of different labels. It raises `SgevalError` when requests are refused from the first one on
    (a wrong key, no such model) or the cache cannot be written; then nothing was judged. Whatever else goes wrong leaves
    pairs without a verdict and with a reason: "refused", "truncated", "empty", "not json", "schema", "word", "ids",
    "missing", "swap", "timeout", "connection", "body", "too large", "rate limit", "http 503" and its like, "budget".
    `tally` counts all of it. Committed verdicts are never asked for again: a second call goes on where one stopped.

    >>> judge = LlmJudge("local/qwen3", base_url="http://127.0.0.1:9/v1")
    >>> judge.name.partition(" ")[0], judge.estimate([Pair("object", "dog", "puppy")]).calls
    ('local/qwen3@127.0.0.1', 1)
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        cache: str | Path | None = None,
        batch: int = 1,
        concurrency: int = 32,
        deadline: float = 60.0,
        max_tokens: int | None = None,
        seed: int | None = 0,
        extra: Mapping[str, Any] | None = None,
        reply_format: ReplyFormat | None = None,
        normalisation: str = "",
        known: Container[str] = (),
        prices: tuple[float, float] | None = None,
        max_cost: float | None = None,
    ) -> None:
        for name, value, most in (("batch", batch, MOST), ("concurrency", concurrency, MOST)):
            if not 1 <= value <= most:
                raise SgevalError(f"judge, {name}: expected 1 to {most}, got {shown(value)}")
        if not (isfinite(deadline) and deadline > 0):
            raise SgevalError(f"judge, deadline: expected seconds above 0, got {shown(deadline)}")
        if reply_format is not None:
            one_of("judge, reply_format", reply_format, ("json_schema", "json_object", "text"))
        try:
            json.dumps(dict(extra or {}), allow_nan=False)
        except (TypeError, ValueError):
            raise SgevalError(f"judge, extra: expected fields that JSON takes, got {shown(extra)}") from None
        if find_spec("openai") is None or find_spec("tenacity") is None:
            raise SgevalError(f'judge {model}: expected the extra "judge" (pip install "sgeval[judge]"), got no openai')
        self._server = find_server(model, base_url, api_key)
        self._prices = prices or PRICES.get(model)
        if max_cost is not None and self._prices is None:
            raise SgevalError(
                f"judge, max_cost: expected prices= for {model}, whose prices are not known here, got none"
            )
        self._max_cost, self._known, self._deadline, self._concurrency = max_cost, known, deadline, concurrency
        self._question = Question(
            model=model,
            host=self._server.host,
            seed=seed,
            max_tokens=max_tokens,
            reply_format=reply_format or self._server.kind.reply_format,
            extra=dict(extra or {}),
            normalisation=normalisation,
            batch=batch,
        )
        if cache is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="sgeval-judge-")  # goes with the judge
            cache = self._temporary.name
        self._folder = Path(cache)
        self._lock = Lock()
        at = f"@{self._server.host}" if self._server.origin != "table" else ""
        by = f" in batches of {batch}" if batch > 1 else ""
        self.name = f"{model}{at} {PROMPT} {prompt_digest()[:8]}{by}"
        self.tally = Tally(usd=0.0 if self._prices else None)

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in order."""
        distinct = list(dict.fromkeys(pairs))
        with self._lock:
            verdicts = run_in_thread(lambda: self._judge(distinct)) if distinct else {}
        return [verdicts[pair] for pair in pairs]

    async def _judge(self, pairs: Sequence[Pair]) -> dict[Pair, Verdict]:
        endpoint = Endpoint(self._server, self.tally, self._deadline, self._concurrency)
        async with endpoint:
            asker = Asker(self._question, endpoint, self.tally, self._known, self._prices, self._max_cost)
            verdicts = await Work(asker, self._folder, pairs, self._concurrency)()
        if endpoint.stop and endpoint.stop.is_set_up:
            raise SgevalError(f"judge {self._question.model}: {endpoint.stop.words}")
        return verdicts

    def estimate(self, pairs: Sequence[Pair]) -> Estimate:
        """What a call would take. Nothing is asked or written; batches are taken to be full, second looks left out."""
        missing = list(dict.fromkeys(pairs))
        total = len(missing)
        if (self._folder / FORM.file).exists() and missing:
            missing = self._missing(missing)
        size = self._question.batch
        each = size + (2 if size > 1 else 0)
        calls, asked = 0, 0
        for kind in dict.fromkeys(pair.kind for pair in missing):
            some = [pair for pair in missing if pair.kind == kind]
            mean = user_message(kind, {f"{index:08x}": pair for index, pair in enumerate(some[:1000])})
            n_calls = ceil(len(some) / size)
            body = len(mean.encode("utf-8", "surrogatepass")) / min(len(some), 1000) * each
            calls += n_calls
            asked += n_calls * prompt_tokens(" " * ceil(body))
        said = (
            calls * answer_tokens(each) // 2 if self._question.max_tokens is None else calls * self._question.max_tokens
        )
        return Estimate(total, total - len(missing), calls, asked, said, dollars(self._prices, asked, said))

    def _missing(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs without a verdict in the cache."""
        keys = {self._question.key(pair): pair for pair in pairs}
        scope = self._question.scope(pairs)
        scoped = {key: self._question.key(pair, scope) for key, pair in keys.items()} if scope else None
        cache = VerdictCache(self._folder)
        try:
            found = cache.read(list(keys), scoped)
        finally:
            cache.close()
        return [pair for key, pair in keys.items() if key not in found]
