"""How a rung of the ladder says that a statement is not for it."""

from __future__ import annotations


class Unsupported(Exception):  # noqa: N818 - no mistake of the user's: the next rung is tried
    """A rung of the ladder cannot take this statement; the text says why."""


class NoClosedForm(Unsupported):
    """A regime has none, so that its makespan is only known at numbers of micro-batches that are given."""


class OutOfTime(Unsupported):
    """The time limit was reached while the statement was spelled out."""
