"""Validates the files that it is told, one after the other, with little memory, and tells what came of each.

Its input: {"name": [path, limits or null]} as JSON. Its output: {"name": [exit code, standard output, standard error]}, and
under "" the absolute paths that were opened for writing.
"""

import json
import os
import resource
import sys
from pathlib import Path

MEMORY = 512 * 2**20
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    from typer.testing import CliRunner

    from sgeval.check import check_file
    from sgeval.cli.app import app
    from sgeval.errors import SgevalError
    from sgeval.limits import Limits

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    written: list[str] = []

    def watch(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and isinstance(args[2], int) and args[2] & WRITING and Path(str(args[0])).is_absolute():
            written.append(str(args[0]))

    sys.addaudithook(watch)
    found: dict[str, object] = {}
    for name, (path, limits) in json.loads(sys.stdin.read()).items():
        if limits is None:
            outcome = CliRunner().invoke(app, ["validate", path, "--json"])
            if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
                found[name] = [-1, "", repr(outcome.exception)]
            else:
                found[name] = [outcome.exit_code, outcome.stdout, outcome.stderr]
            continue
        try:
            faults = [fault.as_dict() for fault in check_file(Path(path), limits=Limits(**limits)).faults]
            found[name] = [2 if faults else 0, json.dumps({"faults": faults}), ""]
        except SgevalError as fault:
            found[name] = [2, "", str(fault)]
    found[""] = written
    print(json.dumps(found))


if __name__ == "__main__":
    main()
