"""How a command ends: the exit codes, the words on standard error, and what is done with signals.

Exit codes: 0 whole, 2 bad input, 3 incomplete (parts left out and counted, or stopped and resumable), 130 interrupted.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer

from sgeval.errors import SgevalError, Unfinished, one_line, spelt_as_flags

BAD_INPUT, INCOMPLETE, INTERRUPTED = 2, 3, 130
RESUME = "What was done is kept: the same command with --resume (without --overwrite) goes on from there."
AGAIN = "What was judged is kept: the same command goes on from there."


def ends_well(command: Callable[..., None]) -> Callable[..., None]:
    """Bad input ends in one message and exit code 2, an interrupt in 130; no traceback for either."""

    @wraps(command)
    def run(*args: Any, **keywords: Any) -> None:
        try:
            with warnings.catch_warnings(), spelt_as_flags():
                warnings.showwarning = _show_warning
                command(*args, **keywords)
        except SgevalError as fault:
            say(f"sgeval: {fault}")
            raise typer.Exit(BAD_INPUT) from None
        except BrokenPipeError:  # whoever read standard output has left (`| head`): typer ends quietly, with code 1
            raise
        except OSError as fault:
            place = "" if fault.filename is None else f"{fault.filename}: "  # of a connection there is none
            say(f"sgeval: {one_line(f'{place}{fault.strerror or fault}')}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("sgeval: interrupted; no results were written")
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def resumable(how: str = RESUME) -> Iterator[None]:
    """A stretch of work that commits as it goes. SIGINT and SIGTERM stop it at the next step, a second one at once;
    both, and a disk or memory that is full, end with the way to go on."""

    def stop(number: int, _frame: object) -> None:
        for each in before:
            signal.signal(each, lambda *_: os._exit(INTERRUPTED))
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:  # the handlers stay: whoever asks twice wants to leave at once
        say(f"sgeval: interrupted. {how}")
        raise typer.Exit(INTERRUPTED) from None
    except Unfinished as fault:
        _put_back(before)
        say(f"sgeval: {fault}")
        say(how)
        raise typer.Exit(INCOMPLETE) from None
    except BaseException:
        _put_back(before)
        raise
    _put_back(before)


def _put_back(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def say(text: str) -> None:
    """A line for a person, on standard error; standard output is for results."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """A result for a machine."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
