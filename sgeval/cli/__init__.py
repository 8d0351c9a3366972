"""The command line. `main` is what the `sgeval` command runs."""

from sgeval.cli.app import main

__all__ = ["main"]
