"""A process that forks one child for each line it reads, so that each starts at once with everything imported.

A line is JSON: `url`, `folder`, `pairs` (how many), `order` (a seed), `options` of the judge; `fatal` (the step at which the
child kills itself) or `room` (bytes that a file may have). It prints the child's number, and "NUMBER ended CODE" later.
"""

import json
import os
import random
import signal
import sys
import threading

from sgeval.errors import SgevalError
from sgeval.judges.endpoint import Endpoint
from sgeval.judges.llm import LlmJudge
from sgeval.judges.verdict_cache import VerdictCache
from sgeval.judges.verdicts import Pair


class Steps:
    """Counts what changes the world: requests, before and after, and commits, before and after."""

    def __init__(self, fatal):
        self.fatal, self.count, self.lock = fatal, 0, threading.Lock()
        ask, store = Endpoint._once, VerdictCache.store

        async def asked(endpoint, body):
            self.step()
            answer = await ask(endpoint, body)
            self.step()
            return answer

        def stored(cache, findings, done):
            self.step()
            there = store(cache, findings, done)
            self.step()
            return there

        Endpoint._once, VerdictCache.store = asked, stored

    def step(self):
        with self.lock:
            if self.count == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1


def judged(line):
    steps = Steps(line.get("fatal"))
    if room := line.get("room"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    pairs = [Pair("object", f"thing {i}", f"item {i}") for i in range(line["pairs"])]
    random.Random(line.get("order")).shuffle(pairs)
    judge = LlmJudge("local/m", base_url=line["url"], cache=line["folder"], **line["options"])
    try:
        judge(pairs)
    except KeyboardInterrupt:
        return 130
    except SgevalError as fault:
        print(type(fault).__name__, fault, flush=True)
        return 3
    if line.get("counts"):
        print("steps", steps.count, flush=True)
    return 0


def main():
    import openai
    import tenacity  # noqa: F401

    openai.DefaultAioHttpClient  # noqa: B018
    print("ready", flush=True)
    for text in sys.stdin:
        pid = os.fork()
        if not pid:
            code = 99
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                code = judged(json.loads(text))
            finally:
                os._exit(code)
        print("child", pid, flush=True)
        threading.Thread(target=wait, args=(pid,)).start()


def wait(pid):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print("ended", pid, code, flush=True)


if __name__ == "__main__":
    main()
