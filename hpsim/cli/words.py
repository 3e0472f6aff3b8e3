"""Numbers in words, the same in every command."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

_LISTED = 5


def counted(count: int, noun: str) -> str:
    """``1 point``, ``160,000 points``: a count with its noun, whose plural ends in s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def microbatches(counts: Sequence[int]) -> str:
    """``1 micro-batch``, ``8 micro-batches``, ``1, 8 and 32 micro-batches``."""
    if len(counts) == 1:
        return f"{counts[0]:,} micro-batch{'' if counts[0] == 1 else 'es'}"
    shown = [f"{count:,}" for count in (counts if len(counts) <= _LISTED else counts[:_LISTED])]
    last = shown.pop() if len(counts) <= _LISTED else f"{len(counts) - _LISTED} more numbers of"
    return f"{', '.join(shown)} and {last} micro-batches"


def per_cent(share: Fraction) -> str:
    """Three digits, by way of decimals because the ratio of two float64 numbers may lie outside float64."""
    return f"{Decimal((100 * share).numerator) / Decimal((100 * share).denominator):.3g}"
