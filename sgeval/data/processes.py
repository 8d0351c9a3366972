"""Work on stretches of a data set by several processes, in order."""

import signal
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from sgeval.errors import SgevalError

Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 2
"""Results for each process that may wait to be taken."""


def in_order(work: Callable[[Task], Result], tasks: Collection[Task], num_proc: int) -> Iterator[Result]:
    """The results of `work`, a function of a module, in the order of the tasks. Raises what it raises; the processes end with
    whoever asked."""
    num_proc = max(1, min(num_proc, len(tasks)))
    pool = ProcessPoolExecutor(num_proc, initializer=_leave_interrupts)
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > AHEAD * num_proc:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise SgevalError(
            "num_proc: a process ended in the middle of its work; memory may be short for so many"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that leads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def stretches(total: int, size: int) -> list[tuple[int, int]]:
    """Positions from and before, of at most `size` records each.

    >>> stretches(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + size, total)) for first in range(0, total, size)]
