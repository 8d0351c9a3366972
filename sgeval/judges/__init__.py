"""Judges: what one label means beside another, in five categories or in none. See `make_judge`."""

from sgeval.judges.make import DEFAULT_JUDGE, JudgeLike, make_judge

__all__ = ["DEFAULT_JUDGE", "JudgeLike", "make_judge"]
