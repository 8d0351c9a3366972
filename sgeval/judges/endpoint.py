"""Calls to a server of chat completions: bounded in time and size, tried again with patience, stopped when it is no use.

The client of `openai` sends and checks; `tenacity` says when to try again. Nothing here raises for what a server does: a call
ends in the bytes of an answer or in a fault.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line
from sgeval.judges.providers import Secret, Server
from sgeval.judges.tally import Tally

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

TRIES = 5  # of a call that may go better next time
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0  # seconds, of a random wait that doubles its upper end with each try
OBEYED = 120.0  # seconds that a server may make us wait
SLOW_DOWN = 1.0  # seconds for which nobody calls after an answer of "too many requests" that names no time
IN_A_ROW = 20  # failed tries without an answer between them after which a server is given up
BODY = 1 << 20  # bytes of an answer
LOGGERS = (
    "openai",
    "httpx",
    "httpcore",
    "aiohttp",
)  # those of the client and what it is built on, and their successors' names
SET_UP = (401, 403, 404)  # statuses that no other call will change
REJECTED = 3  # requests refused in another way, before any is answered, after which it is not them

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Answer:
    """The body of an answer, or why there is none; `is_worth_a_try` where the same call may go better."""

    body: bytes = b""
    fault: str = ""
    is_worth_a_try: bool = False


@dataclass
class Stop:
    """Why nothing more is asked: the reason that pairs get, and the sentence that the user gets."""

    reason: str
    words: str
    is_set_up: bool = False
    """Whether calls were refused from the first one on, so that nothing was judged and another set-up is needed."""


class BodyFault(Exception):
    """An answer that is longer than any of ours, or packed."""


@dataclass
class Endpoint:
    """A server, for the length of one event loop. `stop` is set once nothing more is asked."""

    server: Server
    tally: Tally
    deadline: float
    concurrency: int
    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    stop: Stop | None = None
    _client: "AsyncOpenAI | None" = None
    _url: str = ""
    _has_answered: bool = False
    _failed: int = 0
    _rejected: int = 0
    _quiet_until: float = 0.0
    _filters: list[tuple[logging.Logger, logging.Filter]] = field(default_factory=list)

    async def __aenter__(self) -> "Endpoint":
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient

        # aiohttp sends: httpx's own pool looks at each connection for each request. No redirects: the key is for this
        # host. No packing: an answer is as long as it says.
        transport = DefaultAioHttpClient(
            timeout=self.deadline,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency),
            event_hooks={"response": [_bound]},
        )
        self._url = (
            f"{self.server.base_url.rstrip('/')}/chat/completions"  # whole: joining it took a part of each request
        )
        self._client = AsyncOpenAI(
            api_key=self.server.key.reveal() or "none",
            base_url=self.server.base_url,
            max_retries=0,
            http_client=transport,
            default_headers={"Accept-Encoding": "identity"},
        )
        if self.server.provider != "openai":  # what the environment says of them is not for others
            self._client.organization = self._client.project = None
        hiding = _Hiding(self.server.key)
        for name in list(logging.root.manager.loggerDict):
            if name.startswith(LOGGERS):
                logging.getLogger(name).addFilter(hiding)
                self._filters.append((logging.getLogger(name), hiding))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()
        for logger, hiding in self._filters:
            logger.removeFilter(hiding)

    async def ask(self, body: dict[str, Any]) -> Answer:
        """Send a request, and again while that may help. After a stop nothing is sent."""
        first = [await self._once(body)]
        if not first[0].is_worth_a_try:  # nearly always: no state is kept of a call that went well
            return first[0]
        from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_random_exponential

        def last(state: RetryCallState) -> Answer:
            assert state.outcome is not None
            got: Answer = state.outcome.result()
            return got

        def count(_: RetryCallState) -> None:
            self.tally.retried += 1

        again = AsyncRetrying(
            retry=retry_if_result(lambda got: got.is_worth_a_try and not self.stop),
            wait=wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT),
            stop=stop_after_attempt(TRIES),
            sleep=self.sleep,
            before_sleep=count,
            retry_error_callback=last,
        )

        async def once() -> Answer:
            return first.pop() if first else await self._once(body)

        return await again(once)

    async def _once(self, body: dict[str, Any]) -> Answer:
        import httpx2
        from openai import APIConnectionError, APIStatusError

        while not self.stop and (left := self._quiet_until - self.clock()) > 0:
            await self.sleep(left)
        if self.stop:
            return Answer(fault=self.stop.reason)
        assert self._client is not None
        self.tally.calls += 1
        call = self._client.post(self._url, cast_to=httpx2.Response, body=body)
        try:
            response = await asyncio.wait_for(call, self.deadline)
        except APIStatusError as fault:
            response = fault.response
        except asyncio.TimeoutError:
            return self._failure("timeout")
        except APIConnectionError as fault:  # which a connection that broke may call a timeout
            return self._failure("timeout" if isinstance(_root(fault), asyncio.TimeoutError) else "connection")
        except BodyFault:
            return self._failure("body")
        except Exception as fault:  # the client's own objections; their words may hold what was sent
            return self._failure(f"client: {type(fault).__name__}")
        if response.is_success:
            self._failed, self._has_answered = 0, True
            return Answer(response.content)
        return self._refusal(response)

    def _refusal(self, response: "httpx2.Response") -> Answer:
        """What to make of an answer that is no success."""
        status = response.status_code
        wait = _retry_after(response.headers, time.time())
        if status == 413:
            return Answer(fault="too large")
        if status in (408, 409, 429) or status >= 500:
            reason = "rate limit" if status == 429 else f"http {status}"
            if wait is not None and wait > OBEYED:
                self.halt(reason, f"the server asks to wait {wait:,.0f} seconds, more than {OBEYED:.0f}")
            elif wait is not None or status == 429:  # everybody waits
                self._quiet_until = max(self._quiet_until, self.clock() + (SLOW_DOWN if wait is None else wait))
            if status == 429 and '"insufficient_quota"' in response.text:
                self.halt(reason, f"the quota is used up ({self._said(response)})")
            return self._failure(reason)
        reason = f"http {status}"
        self._rejected += 1
        if status in SET_UP or (not self._has_answered and self._rejected >= REJECTED):
            self.halt(reason, f"{self.server.host} answers {status} ({self._said(response)})", not self._has_answered)
        return Answer(fault=reason)

    def _failure(self, reason: str) -> Answer:
        self._failed += 1
        # Calls that were under way together may fall together.
        if self._failed >= max(IN_A_ROW, 2 * self.concurrency):
            self.halt(reason, f"{self._failed} calls to {self.server.host} in a row have failed, the last by {reason}")
        return Answer(fault=reason, is_worth_a_try=True)

    def halt(self, reason: str, words: str, is_set_up: bool = False) -> None:
        """Ask nothing more; what is under way may end. The first reason stands."""
        if self.stop is None:
            self.stop = Stop(reason, one_line(self.server.key.hide(words)), is_set_up)
            self.tally.stopped = self.stop.words

    def _said(self, response: "httpx2.Response") -> str:
        """The server's own words, cut and without the key."""
        words = response.text[:10_000]
        with suppress(SgevalError):
            value = strict_json.parse(words, "reply")
            error = value.get("error") if isinstance(value, dict) else None
            message = error.get("message") if isinstance(error, dict) else error
            words = message if isinstance(message, str) else words
        words = " ".join(self.server.key.hide(words).split())
        return words if len(words) <= 200 else words[:199] + "…"


class _Hiding(logging.Filter):
    """Takes a key out of what is logged, tracebacks included."""

    def __init__(self, key: Secret) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        with suppress(Exception):  # arguments that do not fit are the logger's own fault to report
            message = record.getMessage()
            if (hidden := self._key.hide(message)) != message:
                record.msg, record.args = hidden, ()
        if record.exc_info:
            record.exc_text = self._key.hide(logging.Formatter().formatException(record.exc_info))
        return True


async def _bound(response: "httpx2.Response") -> None:
    """Keep an answer from growing: refuse packed ones, and read `BODY` bytes of the others at most."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in self._stream:
                size += len(part)
                if size > BODY:
                    raise BodyFault
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise BodyFault
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = Bounded(response.stream)


def _root(fault: BaseException) -> BaseException:
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return fault


def _retry_after(headers: "httpx2.Headers", now: float) -> float | None:
    """The seconds of `Retry-After`, or of its variant in milliseconds; nothing where it says nothing usable.

    Infinite and huge numbers are long waits; nought, dates gone by and words are none.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            wait = float(text) / unit
        except ValueError:
            try:
                wait = parsedate_to_datetime(text).timestamp() - now
            except (ValueError, TypeError, OverflowError, IndexError):
                continue
        if wait > 0:
            return wait
    return None
