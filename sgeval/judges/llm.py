"""A judge that asks a language model, through any server that speaks OpenAI's chat completions."""

import json
import re
import tempfile
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from math import ceil, inf
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any

from sgeval.errors import SgevalError, one_of, shown
from sgeval.judges.asking import Asker, answer_tokens, dollars, prompt_tokens
from sgeval.judges.endpoint import Endpoint
from sgeval.judges.prompt import PROMPT, ReplyFormat, prompt_digest, user_message
from sgeval.judges.providers import OWN_KEY, PRICES, Secret, find_server, keys_at_hand
from sgeval.judges.tally import Tally
from sgeval.judges.verdict_cache import FORM, Question, VerdictCache
from sgeval.judges.verdicts import Pair, Verdict
from sgeval.judges.wordnet import KNOWN
from sgeval.judges.work import Work, run_in_thread

MOST = 1000  # pairs a request, requests at once
OWN_FIELDS = (
    *("model", "messages", "response_format", "stream", "n", "max_tokens", "max_completion_tokens", "temperature"),
    *("top_p", "seed", "random_seed", "api_key", "authorization"),
)
"""Fields of a request that `extra` may not hold: options say them, or they would change what the judge says it is."""

PRIVATE = re.compile(r"(token|key)$|secret|password|credential|authori[sz]ation")
"""What the name of a field that holds a key looks like, in small letters alone."""
PUBLIC = ("promptcachekey",)

MOST_DOLLARS = 1e12


@dataclass(frozen=True)
class Estimate:
    """What judging would take: pairs that are there already, requests, tokens, and money where prices are known.

    Tokens are rather too many than too few; second looks are in them. Requests leave out those that are made again.
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

    `max_tokens` limits an answer (models that think aloud need more than the default). `seed`, `temperature` and `top_p` are
    sent as they are, None not at all. `extra` holds further fields of a request, none of `OWN_FIELDS`. `reply_format` is for
    servers that do not take a JSON schema. `normalisation` names how the labels were made comparable, since verdicts hold
    for that. `prices` are US dollars for a million tokens, in and out. No request is made that may lead this judge over
    `max_cost` dollars, whatever earlier ones with the same cache have cost; one that ran into its deadline may cost, and is
    not counted.

    `name` says the model, the server where it is not the provider's own, the prompt, and a digest of every other option that
    may move a verdict and is not the default; `settings` says them in words.

    The call takes distinct pairs of different labels. It raises `SgevalError` when requests are refused from the first one on
    (a wrong key, no such model) or the cache cannot be written; then nothing was judged. Whatever else goes wrong leaves
    pairs without a verdict and with a reason: "refused", "truncated", "empty", "not json", "schema", "word", "ids",
    "missing", "swap", "timeout", "connection", "body", "too large", "rate limit", "http 503" and its like, "budget".
    `tally` counts all of it. Committed verdicts are never asked for again: a second call goes on where one stopped.

    >>> judge = LlmJudge("local/qwen3", base_url="http://127.0.0.1:9/v1")
    >>> judge.name.partition(" ")[0], judge.estimate([Pair("object", "dog", "puppy")]).calls
    ('local/qwen3@http://127.0.0.1:9/v1', 1)
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
        temperature: float | None = 0.0,
        top_p: float | None = None,
        extra: Mapping[str, Any] | None = None,
        reply_format: ReplyFormat | None = None,
        normalisation: str = "",
        known: Container[str] = (),
        prices: tuple[float, float] | None = None,
        max_cost: float | None = None,
    ) -> None:
        for name, value in (("batch", batch), ("concurrency", concurrency)):
            _check(name, value, f"1 to {MOST}", 1, MOST, whole=True)
        _check("max_tokens", max_tokens, "a whole number from 1", 1, inf, whole=True, optional=True)
        _check("seed", seed, "a whole number", -inf, inf, whole=True, optional=True)
        _check("temperature", temperature, "0 to 2", 0, 2, optional=True)
        _check("top_p", top_p, "0 to 1", 0, 1, optional=True)
        _check("max_cost", max_cost, "dollars from 0", 0, MOST_DOLLARS, optional=True)
        _check("deadline", deadline, "seconds above 0", 1e-9, 1e9)
        for name, text in (("base_url", base_url), ("api_key", api_key), ("normalisation", normalisation)):
            if not isinstance(text, str | None):
                raise SgevalError(
                    f"judge, {name}: expected a text, got {'another value' if name == 'api_key' else shown(text)}"
                )
        if isinstance(known, str) or not isinstance(known, Container):
            raise SgevalError(f"judge, known: expected a set of labels, got {shown(known)}")
        if reply_format is not None:
            one_of("judge, reply_format", reply_format, ("json_schema", "json_object", "text"))
        extra = _fields(extra)
        if find_spec("openai") is None or find_spec("tenacity") is None:
            raise SgevalError(f'judge {model}: expected the extra "judge" (pip install "sgeval[judge]"), got no openai')
        self._server = find_server(model, base_url, api_key)
        self._prices = _dollars(prices) or PRICES.get(model)
        if max_cost is not None and self._prices is None:
            raise SgevalError(
                f"judge, max_cost: expected prices= for {model}, whose prices are not known here, got none"
            )
        self._max_cost, self._known, self._deadline, self._concurrency = max_cost, known, deadline, concurrency
        self._question = Question(
            model=model,
            address=self._server.address,
            seed=seed,
            max_tokens=max_tokens,
            reply_format=reply_format or self._server.kind.reply_format,
            extra=extra,
            normalisation=normalisation,
            batch=batch,
            temperature=temperature,
            top_p=top_p,
        )
        if cache is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="sgeval-judge-")  # goes with the judge
            cache = self._temporary.name
        self._folder = Path(cache)
        self._lock = Lock()
        self.settings = self._settings()
        """What may move a verdict, with its value. Never a key."""
        self.running = {"concurrency": concurrency, "deadline": deadline, "max_cost": max_cost}
        """How it is asked, which moves no verdict."""
        _refuse_keys({"model": model, **self.settings}, self._server.key)
        self.name = self._name()
        none = 0.0 if self._prices else None
        self.tally = Tally(usd=none, usd_of_verdicts=none)

    def _settings(self) -> dict[str, Any]:
        question = self._question
        found: dict[str, Any] = {
            "base_url": question.address,
            "prompt": PROMPT,
            "batch": question.batch,
            "seed": question.seed,
            "temperature": question.temperature,
            "top_p": question.top_p,
            "max_tokens": question.max_tokens,
            "reply_format": question.reply_format,
            "extra": dict(question.extra),
        }
        if question.batch > 1:  # elsewhere nobody asks which labels are known
            found["known"] = _vocabulary(self._known)
        return found

    def _name(self) -> str:
        kind, question = self._server.kind, self._question
        usual: dict[str, Any] = {"seed": 0, "temperature": 0.0, "top_p": None, "max_tokens": None, "extra": {}}
        usual |= {"reply_format": kind.reply_format, "known": _vocabulary(KNOWN)}
        moved = {key: self.settings[key] for key in usual if self.settings.get(key, usual[key]) != usual[key]}
        at = "" if question.address == kind.base_url else f"@{question.address.removeprefix('https://')}"
        by = f" in batches of {question.batch}" if question.batch > 1 else ""
        more = f" with options {_digest(moved)}" if moved else ""
        return f"{question.model}{at} {PROMPT} {prompt_digest()[:8]}{by}{more}"

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
        """What a call would take. Nothing is asked or written. Batches are taken to be full, and each pair in them that may
        get a second look to get one."""
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
            looks = [pair for pair in some if size > 1 and not self._is_known(pair)]
            n_calls = ceil(len(some) / size) + ceil(len(looks) / size)
            body = len(mean.encode("utf-8", "surrogatepass")) / min(len(some), 1000) * each
            calls += n_calls
            asked += n_calls * prompt_tokens(" " * ceil(body))
        said = (
            calls * answer_tokens(each) // 2 if self._question.max_tokens is None else calls * self._question.max_tokens
        )
        return Estimate(total, total - len(missing), calls, asked, said, dollars(self._prices, asked, said))

    def _is_known(self, pair: Pair) -> bool:
        return pair.reference in self._known and pair.prediction in self._known

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


def _check(
    name: str,
    value: object,
    expected: str,
    least: float,
    most: float,
    *,
    whole: bool = False,
    optional: bool = False,
) -> None:
    kind = int if whole else Real
    fits = isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most  # type: ignore[operator]
    if not (fits or (optional and value is None)):
        raise SgevalError(f"judge, {name}: expected {expected}, got {shown(value)}")


def _fields(extra: object) -> dict[str, Any]:
    if extra is None:
        return {}
    try:
        found = dict(extra) if isinstance(extra, Mapping) else None
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        found = None
    if found is None or not all(isinstance(name, str) for name in found):
        raise SgevalError(f"judge, extra: expected fields that JSON takes, got {shown(extra)}")
    if taken := sorted(name for name in found if name.casefold() in OWN_FIELDS):
        raise SgevalError(f"judge, extra: expected no field that the judge sets itself, got {', '.join(taken)}")
    return found


def _refuse_keys(recorded: Mapping[str, Any], own: Secret) -> None:
    """Refuse a key among what stands in results, whatever its name; `extra` also fields with names as keys have them."""
    at_hand = keys_at_hand(own)
    for setting, value in recorded.items():
        for name, text in _texts(value):
            letters = "".join(filter(str.isalnum, name.casefold()))
            is_private = setting == "extra" and PRIVATE.search(letters) and letters not in PUBLIC
            if is_private or any(key.hide(part) != part for key in at_hand for part in (name, text)):
                raise SgevalError(f"judge, {setting}: expected no key, got one; the environment holds keys ({OWN_KEY})")


def _texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a JSON value, each with the name of its field; of numbers and the like the name alone."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), ""
            yield from _texts(inner, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner, name)
    else:
        yield name, value if isinstance(value, str) else ""


def _dollars(prices: object) -> tuple[float, float] | None:
    if prices is None:
        return None
    two = tuple(prices) if isinstance(prices, Sequence) and not isinstance(prices, str) else ()
    for price in two:
        _check("prices", price, "dollars from 0", 0, MOST_DOLLARS)
    if len(two) != 2:
        raise SgevalError(f"judge, prices: expected two, of a million tokens in and out, got {shown(prices)}")
    return float(two[0]), float(two[1])


def _vocabulary(known: Container[str]) -> str:
    """A name of a set of labels: the digest of those that can be listed, else what kind of thing it is."""
    if isinstance(known, Collection):
        return f"{len(known)} labels {_digest(sorted(map(str, known)))}"
    return "wordnet" if known is KNOWN else type(known).__qualname__


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]
