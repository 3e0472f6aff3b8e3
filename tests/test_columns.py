"""The result columns: what is declared, what Arrow gets, and what results/README.md says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import children
import pyarrow as pa
import pytest

from hpsim.sweep import columns

README = Path(__file__).resolve().parents[1] / "results" / "README.md"

PER_REGIME = ["T_async", "closed_async", "rel_err_async", "T_partial", "closed_partial", "rel_err_partial"]


def test_names_and_order_are_those_of_the_design() -> None:
    """The three tables have the documented columns in the documented order, those of a regime together."""
    names = {table: columns.schema(table, ["async", "partial"]).names for table in columns.TABLES}
    point = ["config_id", "S", "M", "T_gpipe", *PER_REGIME]
    assert names == {
        "configs": [
            "config_id",
            "S",
            "tau",
            "d",
            "latency",
            "rho",
            "scale",
            "tau_max",
            "tau_sum",
            "d_sum",
            "sigma_max",
            "bias",
            "phase",
        ],
        "points": point,
        "violations": [*point, "tau", "d", "latency", "rho", "scale", "claim"],
    }


def test_names_are_a_column_of_named_configurations_only() -> None:
    """Sweeps over pipelines have one more column in ``configs``, behind the number, and no other table has it."""
    plain, named = (columns.schema("configs", ["async"], told).names for told in (False, True))
    assert named == [plain[0], "name", *plain[1:]]
    assert columns.schema("configs", [], named=True).field("name").nullable
    for table in ("points", "violations"):
        assert columns.columns(table, ["async"], named=True) == columns.columns(table, ["async"])


@pytest.mark.parametrize(
    ("name", "arrow", "nullable"),
    [
        ("config_id", pa.int64(), False),
        ("S", pa.int32(), False),
        ("M", pa.int64(), False),
        ("T_blocking", pa.float64(), False),
        ("tau", pa.list_(pa.float64()), False),
        ("rho", pa.float64(), True),
        ("scale", pa.int64(), False),
        ("claim", pa.string(), False),
    ],
)
def test_types(name: str, arrow: pa.DataType, nullable: bool) -> None:
    """M holds 2**40, and only rho may be missing."""
    field = columns.schema("violations", ["blocking"]).field(name)
    assert field.type == arrow
    assert field.nullable is nullable


def test_phase_is_a_truth_value() -> None:
    """The phase transition is a boolean."""
    assert columns.schema("configs", []).field("phase").type == pa.bool_()


def test_readme_documents_every_column_and_no_other() -> None:
    """The tables of results/README.md and the declared columns agree in both directions: order, type, unit, meaning."""
    text = README.read_text(encoding="utf-8")
    documented = {}
    for table in columns.TABLES:
        section = re.split(r"^##+ ", text.split(f"\n### {table}\n")[1], flags=re.MULTILINE)[0]
        rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in section.splitlines() if "|" in line]
        documented[table] = [tuple(row) for row in rows[2:]]
    declared = {
        table: [
            (f"`{c.name}`", f"`{c.type}`" + ", may be missing" * c.nullable, c.unit, c.meaning) for c in table_columns
        ]
        for table, table_columns in columns.TABLES.items()
    }
    assert documented == declared


def test_every_column_has_a_unit_and_one_sentence() -> None:
    """A unit is the user's time unit or none, and a meaning is one sentence."""
    for declared in columns.TABLES.values():
        for column in declared:
            assert column.unit in (columns.TIME, columns.NONE)
            assert re.fullmatch(r"[A-Z0-9][^.]*(\.[0-9][^.]*)*\.", column.meaning), column.meaning


def test_columns_load_no_pyarrow() -> None:
    """Reading the declarations does not import pyarrow."""
    check = "import sys, hpsim.sweep.columns as c; c.columns('points', ['async']); sys.exit('pyarrow' in sys.modules)"
    assert children.run([sys.executable, "-c", check]).returncode == 0
