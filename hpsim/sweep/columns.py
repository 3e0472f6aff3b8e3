"""Every column of a run's Parquet tables, declared once: its type, its unit and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from hpsim.regime import NAMES

if TYPE_CHECKING:
    import pyarrow

REGIME = "{regime}"
KNOBS = "{knobs}"
TIME = "time"
NONE = "none"


@dataclass(frozen=True)
class Column:
    """One column, or several: ``{regime}`` in its name stands for each regime that has a name of its own and a closed
    form, ``{knobs}`` for each that the sweep gives by its knobs.

    Attributes
    ----------
    name : str
        Column name, or template such as ``T_{regime}``.
    type : str
        Arrow type: ``int32``, ``int64``, ``float64``, ``bool``, ``string`` or ``list<float64>``.
    unit : str
        ``time`` (the user's own time unit) or ``none``.
    meaning : str
        One sentence.
    nullable : bool
        Whether the value may be missing.
    few : bool
        Whether a part holds few distinct values, so that a dictionary makes it smaller.
    """

    name: str
    type: str
    unit: str
    meaning: str
    nullable: bool = False
    few: bool = False


_CONFIG_ID = Column("config_id", "int64", NONE, "Number of the configuration in the sweep, from 0.")
_S = Column("S", "int32", NONE, "Number of stages.", few=True)
_TAU = Column("tau", "list<float64>", TIME, "Service time of each stage (S values).")
_D = Column("d", "list<float64>", TIME, "Transfer time of each link (S - 1 values).")
_LATENCY = Column(
    "latency", "list<float64>", TIME, "Travel time of each link that occupies nothing (S - 1 values).", few=True
)
_RHO = Column(
    "rho",
    "float64",
    NONE,
    "Share of each transfer overlapped with the sender's work; missing when the sweep has no regime `partial`.",
    nullable=True,
    few=True,
)
_SCALE = Column(
    "scale",
    "int64",
    NONE,
    "Common denominator of the times, which were simulated as integers of 1/scale; 1 when sampled and in float64.",
    few=True,
)

_MISSING = "missing when unlimited, and when the sweep gives a list."

_COUNTS = (
    Column("buffers_{knobs}", "int64", NONE, f"Input places of each stage; {_MISSING}", nullable=True, few=True),
    Column("channels_{knobs}", "int64", NONE, f"Transfers that a link carries at once; {_MISSING}", True, few=True),
    Column("window_{knobs}", "int64", NONE, f"Micro-batches in flight at most; {_MISSING}", nullable=True, few=True),
)

_NAME = Column("name", "string", NONE, "Name of the pipeline; a column of sweeps over `pipelines:` only.", True)

_CONFIGS = (
    _CONFIG_ID,
    _NAME,
    _S,
    _TAU,
    _D,
    _LATENCY,
    _RHO,
    _SCALE,
    Column("tau_max", "float64", TIME, "Largest service time: the bottleneck."),
    Column("tau_sum", "float64", TIME, "Sum of the service times."),
    Column("d_sum", "float64", TIME, "Sum of the transfer times."),
    Column("sigma_max", "float64", TIME, "Largest tau[s] + d[s], with d = 0 after the last stage."),
    Column("bias", "float64", TIME, "Sum of tau_max - tau[s]: the excess of the GPipe formula without communication."),
    Column("phase", "bool", NONE, "Phase transition: whether sigma_max > tau_max."),
    *_COUNTS,
    Column("slope_{knobs}", "float64", TIME, "Time per micro-batch in the long run, by the throughput law."),
    Column(
        "critical_{knobs}",
        "string",
        NONE,
        "What decides the slope, first if several: `server 2`, `credit 1→2` (places of stage 2), `window`, `link 0`.",
        few=True,
    ),
)

_POINTS = (
    _CONFIG_ID,
    _S,
    Column("M", "int64", NONE, "Number of micro-batches.", few=True),
    Column("T_gpipe", "float64", TIME, "Makespan by the classic GPipe formula, (S + M - 1) tau_max."),
    Column("T_{regime}", "float64", TIME, "Makespan in this regime, by the recurrence."),
    Column("closed_{regime}", "float64", TIME, "Makespan in this regime, by the closed form."),
    Column(
        "rel_err_{regime}",
        "float64",
        NONE,
        "Distance of recurrence and closed form in this regime, relative to the closed form.",
        few=True,
    ),
    Column("T_{knobs}", "float64", TIME, "Makespan in this regime of knobs, by its event graph."),
)

_VIOLATIONS = (
    *_POINTS,
    _TAU,
    _D,
    _LATENCY,
    _RHO,
    _SCALE,
    *_COUNTS,
    Column("claim", "string", NONE, "The claim that does not hold at this point.", few=True),
)

TABLES: dict[str, tuple[Column, ...]] = {"configs": _CONFIGS, "points": _POINTS, "violations": _VIOLATIONS}


def columns(table: str, regimes: Sequence[str], named: bool = False) -> list[Column]:
    """The columns of ``table`` in order; those of a regime stand together, regimes in the order given.

    ``named``: the configurations are pipelines that have names.
    """
    own = {REGIME: [name for name in regimes if name in NAMES], KNOBS: [name for name in regimes if name not in NAMES]}
    resolved: list[Column] = []
    declared = [column for column in TABLES[table] if named or column is not _NAME]
    for sign, together in groupby(declared, key=_stands_for):
        names = own.get(sign, [""])
        several = list(together)
        resolved += [replace(column, name=column.name.replace(sign, name)) for name in names for column in several]
    return resolved


def _stands_for(column: Column) -> str:
    """The sign in a column's name that stands for regimes; without one, a sign that is not there."""
    return next((sign for sign in (REGIME, KNOBS) if sign in column.name), "{}")


def schema(table: str, regimes: Sequence[str], named: bool = False) -> pyarrow.Schema:
    """The Arrow schema of ``table`` (``configs``, ``points`` or ``violations``); regimes and names as in columns()."""
    import pyarrow

    types = {
        "int32": pyarrow.int32(),
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "string": pyarrow.string(),
        "list<float64>": pyarrow.list_(pyarrow.float64()),
    }
    return pyarrow.schema(
        [pyarrow.field(c.name, types[c.type], nullable=c.nullable) for c in columns(table, regimes, named)],
    )
