"""What several files of tests share: a signature taken apart, and work done in forked children."""

import os
import sys
import traceback


def parts(result):
    """The signature's parts by name."""
    return dict(part.split(":", 1) for part in result["signature"].split("|"))


def put_at(whole, path, value):
    """Put a value at a place of nested lists and mappings; `...` takes the key away."""
    owner = whole
    for step in path[:-1]:
        owner = owner[step]
    if value is ...:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value


def forked(work) -> int:
    """Start work in a forked child, and do not wait: the child's process number."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            os._exit(99)
    return pid


def exit_code(pid: int) -> int:
    """Wait for a child: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_child(work) -> int:
    """Do work in a forked child; its exit code."""
    return exit_code(forked(work))
