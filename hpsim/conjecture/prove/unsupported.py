"""How a rung of the ladder says that a statement is not for it."""

from __future__ import annotations


class Unsupported(Exception):  # noqa: N818 - no mistake of the user's: the next rung is tried
    """A rung of the ladder cannot take this statement; the text says why."""
