"""``hpsim sweep show``, ``config`` and ``schema``: what is printed, and that a mistake is one line and exit code 2."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import children
import jsonschema
import pytest

from hpsim.sweep.file.yaml_file import load
from hpsim.sweep.json_schema import sweep_json_schema
from hpsim.sweep.spec import load_sweep

FILES = Path(__file__).parent / "sweep_files"
ROOT = Path(__file__).parent.parent
STRUCTURAL = [
    "unknown_key",
    "regime_buffers_negative",
    "regime_buffers_fractional",
    "regime_buffers_fractional_in_list",
    "regime_buffers_drawn_in_list",
    "regime_buffers_too_many",
    "regime_buffers_unknown_word",
    "regime_channels_zero",
    "regime_feedback_negative",
    "regime_is_a_list",
    "regime_is_a_number",
    "regime_knob_unknown",
    "regime_mapping_empty",
    "regime_mapping_nested",
    "regime_mapping_twice",
    "regime_name_is_a_number",
    "regime_name_missing",
    "regime_name_with_space",
    "regime_overlap_above_one",
    "regime_overlap_above_one_in_list",
    "regime_window_list",
    "regime_window_zero",
    "unknown_key_in_distribution",
    "unknown_key_in_grid",
    "unknown_key_in_axis",
    "unknown_key_in_pipeline",
    "two_sources",
    "no_source",
    "M_fractional",
    "M_many",
    "M_zero",
    "M_twice",
    "M_empty",
    "arithmetic_unknown",
    "boolean_for_number",
    "empty_choice",
    "grid_tau_missing",
    "grid_tau_not_nested",
    "list_for_distribution",
    "name_with_slash",
    "negative_tau",
    "number_for_name",
    "pipelines_empty",
    "pipeline_name_missing",
    "range_with_three_values",
    "record_unknown",
    "regime_unknown",
    "resolution_too_fine",
    "text_for_distribution",
    "text_for_mapping",
    "times_unknown",
    "two_distributions",
    "zero_configs",
]

SCHEMA = jsonschema.Draft202012Validator(sweep_json_schema())


def hpsim(*arguments: str) -> children.Ended:
    """The command line as a user runs it, in a fresh process."""
    code = "import sys; from hpsim.cli import main; sys.argv[0] = 'hpsim'; main()"
    return children.run([sys.executable, "-c", code, *arguments], cwd=ROOT)


def as_json(data: Any) -> Any:
    """Plain data as an editor's YAML reader would have it."""
    if isinstance(data, dict):
        return {key: as_json(value) for key, value in data.items()}
    if isinstance(data, list):
        return [as_json(value) for value in data]
    return float(data) if isinstance(data, Fraction) else data


def test_show_prints_the_resolved_sweep_and_its_size() -> None:
    shown = hpsim("sweep", "show", "paper_fuzz", "--set", "configs=10", "--set", "chunk=4")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == (
        "name: paper-fuzz\n"
        "seed: 20261015\n"
        "configs: 10\n"
        "stages:\n"
        "  integers: [2, 8]\n"
        "tau:\n"
        "  loguniform: [0.1, 10]\n"
        "d:\n"
        "  loguniform: [0.01, 20]\n"
        "  times: mean_tau\n"
        "latency: 0\n"
        "rho:\n"
        "  uniform: [0, 1]\n"
        "edge_cases: 0.1\n"
        "microbatches: [1, 2, 4, 8, 16, 32, 64, 100]\n"
        "regimes: [async, blocking, partial]\n"
        "arithmetic: exact\n"
        "resolution: 20\n"
        "claims: [thm2, thm3, partial, cor5]\n"
        "record: points\n"
        "chunk: 4\n"
        "# 10 configurations in 3 chunks\n"
        "# 80 points (configuration and number of micro-batches)\n"
        "# about 15,000 cells (micro-batch, stage and regime)\n"
        "# about 30.1 kB of Parquet\n"
    )


@pytest.mark.parametrize("name", ["hand_crafted", "phase_transition"])
def test_what_show_prints_is_itself_a_sweep_file(name: str, tmp_path: Path) -> None:
    again = tmp_path / "again.yaml"
    again.write_text(hpsim("sweep", "show", name).stdout, encoding="utf-8")
    assert load_sweep(again) == load_sweep(name)


def test_show_tells_which_fixed_times_are_rounded(tmp_path: Path) -> None:
    """0.1 in quarters is 0, 0.75 needs no rounding, and 0.4 is nearest to 0.5."""
    file = tmp_path / "coarse.yaml"
    file.write_text("configs: 1\nstages: 2\ntau: {choice: [0.75, 0.4, 2]}\nd: {choice: [0.1, 1]}\nresolution: 2\n")
    notes = [line for line in hpsim("sweep", "show", str(file)).stdout.splitlines() if line.startswith("# note")]
    assert notes == [
        "# note: tau 0.4 is rounded to 0.5, a multiple of 1/4",
        "# note: d 0.1 is rounded to 0, a multiple of 1/4",
    ]


def test_show_as_json_has_the_sweep_and_its_size() -> None:
    shown = json.loads(hpsim("sweep", "show", "billion", "--json").stdout)
    assert shown["sweep"] == load_sweep("billion").resolved()
    assert shown["size"] == {
        "configs": 125_000_000,
        "points": 1_000_000_000,
        "chunks": 477,
        "cells": 187_500_000_000,
        "bytes": 0,
    }
    assert shown["notes"] == []


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["show", "nowhere.yaml"], "error: nowhere.yaml: no such file; "),
        (["show", "paper_fuzz", "--set", "tua=1"], "error: --set tua: unknown key 'tua'; did you mean 'tau'? "),
        (["config", "hand_crafted", "--id", "11"], "error: --id: 11; configurations of this sweep are 0 to 10"),
        (["config", "hand_crafted", "--id", "-1"], "error: --id: -1; "),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: Sequence[str], start: str) -> None:
    done = hpsim("sweep", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(start)
    assert done.stderr.count("\n") == 1


def test_config_prints_one_configuration() -> None:
    """The fifth hand-crafted pipeline, whose common denominator is 1000."""
    done = hpsim("sweep", "config", "hand_crafted", "--id", "4", "--json")
    assert json.loads(done.stdout) == {
        "config_id": 4,
        "name": "communication-near-slack",
        "S": 3,
        "tau": [2, 3, 5],
        "d": [2.999, 2],
        "latency": [0, 0],
        "rho": None,
        "scale": 1000,
    }
    lines = hpsim("sweep", "config", "hand_crafted", "--id", "4").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["config_id", "name", "S", "tau", "d", "latency", "scale"]
    assert lines[3].split() == ["tau", "2.0,", "3.0,", "5.0"]


def test_config_of_a_sampled_sweep_has_no_name_and_a_share() -> None:
    """What is drawn has no name; where partial is a regime, it has a share of overlap."""
    values = json.loads(hpsim("sweep", "config", "paper_fuzz", "--id", "0", "--json").stdout)
    assert "name" not in values
    assert 0 <= values["rho"] <= 1


@pytest.mark.parametrize("digits", ["٣", "1_0", "3.0", ""])
def test_numbers_on_the_command_line_are_plain_digits(digits: str) -> None:
    """Digits of other scripts and underscores, which Python's int takes, are refused."""
    done = hpsim("sweep", "config", "hand_crafted", "--id", digits)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Invalid value for '--id': {digits!r} is not a valid integer." in done.stderr


def test_show_and_schema_load_nothing_heavy() -> None:
    code = (
        "import sys; from hpsim.cli import cli\n"
        "for command in (['show', 'hand_crafted'], ['schema']): cli(['sweep', *command], standalone_mode=False)\n"
        "print([name for name in ('numba', 'pandas', 'pyarrow') if name in sys.modules])"
    )
    done = children.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_schema_is_a_json_schema_that_describes_every_key() -> None:
    schema = json.loads(hpsim("sweep", "schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(entry.get("description") for entry in schema["properties"].values())


@pytest.mark.parametrize(
    "file", sorted([*FILES.glob("valid/*.yaml"), *ROOT.glob("sweeps/*.yaml")]), ids=lambda f: f.stem
)
def test_the_schema_accepts_valid_files_and_their_resolved_form(file: Path) -> None:
    SCHEMA.validate(as_json(load(file).data))
    SCHEMA.validate(load_sweep(file).resolved())


@pytest.mark.parametrize("name", STRUCTURAL)
def test_the_schema_rejects_structural_mistakes(name: str) -> None:
    data = as_json(load(FILES / "invalid" / f"{name}.yaml").data)
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(data)
