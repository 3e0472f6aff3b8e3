"""Numbers in words, the same in every command."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 point``, ``160,000 points``: a count with its noun, whose plural ends in s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
