"""One call of a judge: pairs are looked up, claimed, asked about many at a time, and committed before they count."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from sgeval.judges.asking import Asker, Decision
from sgeval.judges.verdict_cache import Finding, VerdictCache
from sgeval.judges.verdicts import Pair, Verdict
from sgeval.progress import bar
from sgeval.shared_rows import POLL

CHUNK = 64  # keys that are claimed at once, or as many as two rounds of requests take
LEAVE = 5  # seconds that an interrupted call has to put its things away

T = TypeVar("T")


def run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in an event loop of its own, also where the caller has one. An interrupt cancels it."""
    outcome: list[T] = []
    faults: list[BaseException] = []
    has_begun, has_ended = Event(), Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def main() -> T:
        running.append((asyncio.get_running_loop(), asyncio.current_task()))
        has_begun.set()
        return await work()

    def target() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as fault:
            faults.append(fault)
        has_begun.set()
        has_ended.set()

    Thread(target=target, daemon=True).start()
    try:
        has_ended.wait()  # not join(), which once interrupted takes the thread for ended
    except BaseException:
        has_begun.wait(LEAVE)
        for loop, task in running:
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(task.cancel if task else loop.stop)
        has_ended.wait(LEAVE)
        raise
    if faults:
        raise faults[0]
    return outcome[0]


class Work:
    """The pairs of one call on their way to verdicts. `pairs` are distinct."""

    def __init__(self, asker: Asker, folder: Path, pairs: Sequence[Pair], concurrency: int) -> None:
        self._asker, self._folder, self._pairs = asker, folder, pairs
        self._concurrency = concurrency
        self._verdicts: dict[Pair, Verdict] = {}
        self._size = asker.question.batch
        self._scope = asker.question.scope(pairs)

    async def __call__(self) -> dict[Pair, Verdict]:
        """All verdicts. Raises `Unfinished` when the cache cannot be written; what was committed stays."""
        self._queue: asyncio.Queue[list[tuple[str, Pair]] | None] = asyncio.Queue(self._concurrency)
        self._first_is_done = asyncio.Event()
        self._waiting: list[tuple[dict[str, Finding], list[str], asyncio.Future[dict[str, Finding]]]] = []
        self._is_writing: asyncio.Task[None] | None = None
        with ThreadPoolExecutor(1) as thread, bar(None, "judging", "pair", len(self._pairs)) as self._bar:
            self._thread = thread
            self._cache: VerdictCache = await self._on_disk(VerdictCache, self._folder)
            tasks = [asyncio.create_task(self._feed())]
            tasks += [asyncio.create_task(self._ask(is_first=not n)) for n in range(self._concurrency)]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                if self._is_writing:
                    await asyncio.wait([self._is_writing])
                await self._on_disk(self._cache.close)
        return self._verdicts

    async def _on_disk(self, step: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, step, *args)

    async def _feed(self) -> None:
        """Put batches of claimed pairs into the queue, those last that another process has claimed."""
        size = max(CHUNK, 2 * self._concurrency * self._size)
        fresh, held = iter(self._pairs), deque[Pair]()
        batches = _Batches(self._size)
        while True:
            chunk = list(islice(fresh, size))
            if is_again := not chunk:
                for batch in batches.rest():  # before waiting for others, who may wait for these
                    await self._queue.put(batch)
                if not held:
                    break
                chunk = [held.popleft() for _ in range(min(size, len(held)))]
            keys = {self._key(pair): pair for pair in chunk}
            scoped = {key: self._key(pair, self._scope) for key, pair in keys.items()} if self._scope else None
            if stop := self._asker.endpoint.stop:
                found = await self._on_disk(self._cache.read, list(keys), scoped)
                self._settle({keys[key]: finding for key, finding in found.items()}, is_cached=True)
                self._give_up([pair for key, pair in keys.items() if key not in found], stop.reason)
                continue
            claims, found = await self._on_disk(self._cache.claim, list(keys), scoped)
            self._asker.tally.damaged += claims.damaged
            self._settle({keys[key]: finding for key, finding in found.items()}, is_cached=True)
            mine = set(claims.mine)
            for batch in batches.add((key, keys[key]) for key in keys if key in mine):
                await self._queue.put(batch)
            others = [pair for key, pair in keys.items() if key not in mine and key not in found]
            held.extendleft(reversed(others))
            if is_again and len(others) == len(chunk):
                await asyncio.sleep(POLL)
                while not self._asker.endpoint.stop and not await self._on_disk(self._cache.has_changed, claims):
                    await asyncio.sleep(POLL)
        await self._queue.put(None)

    async def _ask(self, is_first: bool) -> None:
        """Take batches until there are no more. One call goes ahead of all others: it says whether the set-up is right."""
        if not is_first:
            await self._first_is_done.wait()
        while (batch := await self._queue.get()) is not None:
            decisions = await self._asker.decide([pair for _, pair in batch])
            await self._commit(batch, decisions)
            self._first_is_done.set()
        self._first_is_done.set()
        self._queue.put_nowait(None)

    async def _commit(self, batch: Sequence[tuple[str, Pair]], decisions: dict[Pair, Decision]) -> None:
        """Have the verdicts of a batch written, and only then count them."""
        findings = {
            key if decision.is_for_all else self._key(pair, self._scope): decision.finding
            for key, pair in batch
            if (decision := decisions[pair]).finding is not None
        }
        written: asyncio.Future[dict[str, Finding]] = asyncio.get_running_loop().create_future()
        self._waiting.append((findings, [key for key, _ in batch], written))
        if self._is_writing is None or self._is_writing.done():
            self._is_writing = asyncio.create_task(self._write())
        there = await written
        for key, pair in batch:
            decision = decisions[pair]
            if decision.finding is None:
                self._give_up([pair], decision.reason)
                continue
            earlier = there.get(key if decision.is_for_all else self._key(pair, self._scope))
            if earlier is not None and earlier.category != decision.finding.category:
                self._asker.tally.disagreed += 1
            self._settle({pair: earlier or decision.finding}, is_cached=False)

    async def _write(self) -> None:
        """Commit what waits, all of it at once, until nothing does: many commits at a time cost as much as one."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            findings = {key: finding for some, _, _ in group for key, finding in some.items()}
            done = [key for _, keys, _ in group for key in keys]
            try:
                there = await self._on_disk(self._cache.store, findings, done)
            except Exception as fault:
                for _, _, written in group:
                    if not written.done():
                        written.set_exception(fault)
                continue
            for _, _, written in group:
                if not written.done():
                    written.set_result(there)

    def _settle(self, findings: dict[Pair, Finding], *, is_cached: bool) -> None:
        tally = self._asker.tally
        for pair, finding in findings.items():
            self._verdicts[pair] = Verdict(finding.category, None, is_cached, finding.is_repaired)
            tally.judged += 1
            tally.cached += is_cached
            tally.repaired += finding.is_repaired
            if tally.usd_of_verdicts is not None:
                tally.usd_of_verdicts += self._asker.worth(finding)
            tally.models[finding.model, finding.fingerprint] += 1
        self._bar.update(len(findings))

    def _give_up(self, pairs: Iterable[Pair], reason: str) -> None:
        for pair in pairs:
            self._verdicts[pair] = Verdict(None, reason)
            self._asker.tally.unjudged[reason] += 1
            self._bar.update(1)

    def _key(self, pair: Pair, scope: str = "") -> str:
        return self._asker.question.key(pair, scope)


class _Batches:
    """Collects claimed pairs into batches of one kind."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._open: dict[str, list[tuple[str, Pair]]] = {}

    def add(self, claimed: Iterable[tuple[str, Pair]]) -> Iterable[list[tuple[str, Pair]]]:
        """The batches that are full now."""
        for key, pair in claimed:
            batch = self._open.setdefault(pair.kind, [])
            batch.append((key, pair))
            if len(batch) == self._size:
                yield self._open.pop(pair.kind)

    def rest(self) -> list[list[tuple[str, Pair]]]:
        """Those that are not."""
        batches, self._open = list(self._open.values()), {}
        return batches
