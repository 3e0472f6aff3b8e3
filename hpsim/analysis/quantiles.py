"""Exact quantiles of very many values in little memory, by two passes.

The first pass counts values in narrow bins; the counts say in which bin each quantile lies. The second pass counts the
distinct values of those bins only. Neither keeps the values themselves, and DuckDB moves counts to disk if they
are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hpsim.analysis.database import Database

PERCENT = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "max": 100}

_OFFSET = 1_000_000  # above 256 times the logarithm of any float64, so that the sign of a bin is its values' own
_MAGNITUDE = f"({_OFFSET} + floor(256 * log2(abs(e)))::INTEGER)"
_BIN = f"CASE WHEN e > 0 THEN {_MAGNITUDE} WHEN e < 0 THEN -{_MAGNITUDE} ELSE 0 END"


def quantiles(database: Database, table: str, value: str, by: Sequence[str], around: float = 0) -> list[dict[str, Any]]:
    """Quantiles of ``value`` for each combination of ``by``, in their order.

    The quantile at p per cent of n values is the one at rank ceil(p·n/100) of the sorted values: a value that occurs,
    never an interpolated one, and exact.

    Parameters
    ----------
    database : Database
        From :func:`hpsim.analysis.database.connect`.
    table, value : str
        A table or view, and an SQL expression over its columns.
    by : sequence of str
        Columns.
    around : float
        Where values crowd, as 1 for ratios; bins are the narrower the nearer. The result does not depend on it.

    Returns
    -------
    list of dict
        The columns of ``by``, ``count``, and one entry for each name in ``PERCENT``.
    """
    group = ", ".join(by)
    values = f"(SELECT {group}, v, v - {around} AS e, {_BIN} AS bin FROM (SELECT {group}, {value} AS v FROM {table}))"
    percent = ", ".join(f"('{name}', {p})" for name, p in PERCENT.items())
    picked = ", ".join(f"max(v) FILTER (name = '{name}') AS \"{name}\"" for name in PERCENT)
    database.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE sought AS
        WITH bins AS (SELECT {group}, bin, count(*) AS n FROM {values} GROUP BY ALL),
        cumulated AS (
            SELECT *, sum(n) OVER (PARTITION BY {group} ORDER BY bin)::BIGINT AS upto,
                sum(n) OVER (PARTITION BY {group})::BIGINT AS total
            FROM bins
        )
        SELECT {group}, name, total, (percent * total + 99) // 100 - (upto - n) AS rank, bin
        FROM cumulated, (VALUES {percent}) AS wanted(name, percent)
        WHERE (percent * total + 99) // 100 BETWEEN upto - n + 1 AND upto
        """
    )
    found = database.execute(
        f"""
        WITH distinct_values AS (
            SELECT {group}, bin, v, count(*) AS n
            FROM {values} SEMI JOIN sought USING ({group}, bin)
            GROUP BY ALL
        ),
        cumulated AS (
            SELECT {group}, bin, v, sum(n) OVER (PARTITION BY {group}, bin ORDER BY v)::BIGINT AS upto
            FROM distinct_values
        ),
        attained AS (
            SELECT {group}, name, total, min(v) AS v
            FROM sought JOIN cumulated USING ({group}, bin)
            WHERE upto >= rank
            GROUP BY ALL
        )
        SELECT {group}, any_value(total) AS count, {picked} FROM attained GROUP BY {group} ORDER BY {group}
        """
    )
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
