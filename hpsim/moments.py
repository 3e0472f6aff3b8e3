"""The moments of a run, micro-batch by micro-batch, with what repeats kept once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm


@dataclass(slots=True)
class Block:
    """Moments of consecutive micro-batches.

    Attributes
    ----------
    first : int
        Its first micro-batch.
    count : int
        How many there are.
    rows : list of lists of int
        Of each micro-batch, or of the first period only; one moment for each event.
    growth : list of int or None
        How much later each event is one period on; None where every row is kept.
    """

    first: int
    count: int
    rows: list[list[int]]
    growth: list[int] | None = None

    @property
    def end(self) -> int:
        """The micro-batch after its last."""
        return self.first + self.count

    def value(self, m: int, event: int) -> int:
        """The moment of one event of micro-batch ``m``; the formula of the block goes on after its end."""
        if self.growth is None:
            return self.rows[m - self.first][event]
        periods, row = divmod(m - self.first, len(self.rows))
        return self.rows[row][event] + periods * self.growth[event]

    def row(self, m: int) -> list[int]:
        """The moments of micro-batch ``m``."""
        if self.growth is None:
            return self.rows[m - self.first]
        periods, row = divmod(m - self.first, len(self.rows))
        return [moment + periods * growth for moment, growth in zip(self.rows[row], self.growth, strict=True)]


class Moments:
    """The past of a run: blocks one after the other, from micro-batch 0."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._firsts: list[int] = []

    @property
    def count(self) -> int:
        """How many micro-batches are known."""
        return self.blocks[-1].end if self.blocks else 0

    def add(self, row: list[int]) -> None:
        """The next micro-batch: one more of a periodic block that foretells it, else a row of its own."""
        last = self.blocks[-1] if self.blocks else None
        if last is None or (last.growth is not None and last.row(last.end) != row):
            self._append(Block(self.count, 1, [row]))
            return
        last.count += 1
        if last.growth is None:
            last.rows.append(row)

    def block_at(self, m: int) -> Block:
        """The block that holds micro-batch ``m``."""
        last = self.blocks[-1]
        return last if m >= last.first else self.blocks[bisect_right(self._firsts, m) - 1]

    def value(self, m: int, event: int) -> int:
        """The moment of one event of micro-batch ``m``."""
        return self.block_at(m).value(m, event)

    def row(self, m: int) -> list[int]:
        """The moments of micro-batch ``m``."""
        return self.block_at(m).row(m)

    def growth(self, period: int) -> list[int]:
        """How much later the last micro-batch is than the one a period before it."""
        last = self.count - 1
        return _difference(self.row(last), self.row(last - period))

    def repeats(self, period: int, growth: Sequence[int], enough: int) -> int:
        """For how many of the last micro-batches ``x(m) = x(m - period) + growth``, ``enough`` of them or more.

        Two periodic blocks are compared over the least common multiple of their periods, and then by their growth.
        """
        last = m = self.count - 1
        while m >= period and last - m < enough:
            late, early = self.block_at(m), self.block_at(m - period)
            low = max(late.first, early.first + period)
            both, faster = m - low + 1, True  # how many to compare one by one, unless the blocks say it all
            if late.growth is not None and early.growth is not None:
                common = lcm(len(late.rows), len(early.rows))
                if both > common:
                    a, b = common // len(late.rows), common // len(early.rows)
                    faster = any(x * a != y * b for x, y in zip(late.growth, early.growth, strict=True))
                    both = common
            for n in range(m, m - both, -1):
                if _difference(late.row(n), early.row(n - period)) != growth:
                    return last - n
            m = m - both if faster else low - 1
        return last - m

    def fold(self, first: int, period: int, growth: list[int]) -> None:
        """Keep all from micro-batch ``first`` on as one block, which :meth:`repeats` has found to be periodic."""
        rows = [self.row(first + n) for n in range(period)]
        count = self.count - first
        while self.blocks and self.blocks[-1].first >= first:
            self.blocks.pop()
            self._firsts.pop()
        if self.blocks:
            cut = self.blocks[-1]
            cut.count = first - cut.first
            if cut.growth is None:
                del cut.rows[cut.count :]
        self._append(Block(first, count, rows, growth))

    def go_on(self, count: int) -> None:
        """Let the last block, a periodic one, go on for ``count`` micro-batches."""
        self.blocks[-1].count += count

    def _append(self, block: Block) -> None:
        self.blocks.append(block)
        self._firsts.append(block.first)


def _difference(late: Sequence[int], early: Sequence[int]) -> list[int]:
    return [a - b for a, b in zip(late, early, strict=True)]
