"""A process that forks one child for each line it reads, so that each starts at once with everything imported.

A line is JSON: `url`, `folder`, `pairs` (how many), `order` (a seed), `options` of the judge; `fatal` (the step at which the
child kills itself) or `room` (bytes that a file may have). With `score` the folder is a run that is scored, from the files
`predictions` and `references` beside it. It prints the child's number, and "NUMBER ended CODE" later.
"""

import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

import sgeval.cli.files as files
from sgeval.errors import SgevalError
from sgeval.judges.endpoint import Endpoint
from sgeval.judges.llm import LlmJudge
from sgeval.judges.verdict_cache import VerdictCache
from sgeval.judges.verdicts import Pair


class Steps:
    """Counts what changes the world: requests, commits and the writing of results, each before and after."""

    def __init__(self, fatal):
        self.fatal, self.count, self.lock = fatal, 0, threading.Lock()
        ask, store, write = Endpoint._once, VerdictCache.store, files.write_run

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

        def written(*arguments):
            self.step()
            result = write(*arguments)
            self.step()
            return result

        Endpoint._once, VerdictCache.store, files.write_run = asked, stored, written

    def step(self):
        with self.lock:
            if self.count == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1


def scored(folder, url, options):
    """Score a run as the command does, over what is there."""
    given = {
        "predictions": folder.parent / "predictions.jsonl",
        "references": folder.parent / "references.jsonl",
        "out": folder,
        "judge": "local/m",
        "judge_options": {"base_url": url, **options},
        "bootstrap": 20,
        "config": None,
    }
    files.run_job(files.Job.make(files.TEMPORAL, given), overwrite=True)


def judged(line):
    steps = Steps(line.get("fatal"))
    if room := line.get("room"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    if line.get("score"):
        scored(Path(line["folder"]), line["url"], line["options"])
        if line.get("counts"):
            say("steps", steps.count)
        return 0
    pairs = [Pair("object", f"thing {i}", f"item {i}") for i in range(line["pairs"])]
    random.Random(line.get("order")).shuffle(pairs)
    judge = LlmJudge("local/m", base_url=line["url"], cache=line["folder"], **line["options"])
    try:
        judge(pairs)
    except KeyboardInterrupt:
        return 130
    except SgevalError as fault:
        say(type(fault).__name__, fault)
        return 3
    if line.get("counts"):
        say("steps", steps.count)
    return 0


def say(*words):
    """A line, in one piece: several threads and processes say something here."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main():
    import openai
    import tenacity  # noqa: F401

    openai.DefaultAioHttpClient  # noqa: B018
    say("ready")
    for text in sys.stdin:
        pid = os.fork()
        if not pid:
            code = 99
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                code = judged(json.loads(text))
            finally:
                os._exit(code)
        say("child", pid)
        threading.Thread(target=wait, args=(pid,)).start()


def wait(pid):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    say("ended", pid, code)


if __name__ == "__main__":
    main()
