"""The rooms of the house: data flows one way, and a module imports only from the rooms above its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hpsim

PACKAGE = Path(hpsim.__file__).parent

TABLE = """
errors processors crew exact units vectors formulas pipeline regime event_graph
cycle_ratio throughput_terms throughput_arrays improvements throughput_law long_run
given_times scheduling
reference.chain reference.event_graph reference.sampling
kernels._trust kernels._compiling kernels._code_files kernels._jit kernels.chain kernels.event_graph kernels.sampling
kernels.closed_forms kernels.checking kernels.tables kernels.adder
rows lanes event_lanes simulation
sweep.file.checks sweep.file.fields sweep.file.document sweep.file.validation sweep.file.yaml_file
sweep.file.distribution sweep.file.grid sweep.file.pipelines_file sweep.file.knob_regime sweep.file.exactness
sweep.file.combinations sweep.file.settings sweep.file.values sweep.file.regimes
claims.tree claims.words claims.names claims.check claims.parse claims.evaluate claims.exact_algebra
claims.float_algebra claims.quotients claims.lanes claims.systems claims.regimes claims.catalogue
sweep.claims sweep.spec sweep.estimate sweep.json_schema
sweep.columns sweep.explicit sweep.sample sweep.knobs sweep.statements sweep.evaluate sweep.totals
sweep.point_tables sweep.chunk
sweep.executors sweep.durable sweep.parquet sweep.record sweep.differences sweep.store sweep.run
analysis.extras analysis.interrupt
conjecture.example conjecture.question conjecture.counterexample conjecture.asked conjecture.in_words conjecture.solver
conjecture.prove.unsupported conjecture.prove.poly conjecture.prove.formula conjecture.prove.smt
conjecture.prove.verdict conjecture.prove.problem conjecture.prove.value conjecture.prove.chain_lemma
conjecture.prove.cycles conjecture.prove.every_m conjecture.prove.explicit conjecture.prove.folds
conjecture.prove.candidates conjecture.prove.every_s conjecture.prove.bounded conjecture.prove.ladder
conjecture.prove.prove conjecture.ask_solver
conjecture.space conjecture.probe conjecture.point_rows conjecture.mutate conjecture.small conjecture.passes
conjecture.shrink conjecture.search_result conjecture.hunt conjecture.search conjecture.replay
conjecture.verify conjecture.claims_verify warmup
bench.figures bench.stopwatch bench.sizes bench.machine bench.children bench.numpy_twin bench.adder bench.kernel
bench.violations bench.points bench.search bench.start bench.run
analysis.run analysis.database analysis.quantiles analysis.summary
analysis.export analysis.query analysis.load analysis.plots.style analysis.plots.error analysis.plots.bias
analysis.plots.phase analysis.plots.overlap analysis.plots.slope analysis.plots.gpipe analysis.figure
timeline.moments timeline.terminal timeline.trace timeline.picture
cli.streams cli.exits cli.memory cli.words cli.page
logs.columns logs.source logs.delimited logs.json_lines logs.parquet logs.opening logs.cells logs.period logs.clean
logs.gather logs.read logs.bootstrap logs.statistics logs.assemble logs
calculator.build
paper.fuzz paper.graham paper.verdict paper.measured paper.evidence paper.quantities paper.numbers paper.claims
paper.tables paper.figures paper.pictures paper.document paper.report paper.run
cli cli.announce cli.completion cli.options cli.pipeline_options cli.violations cli.progress
cli.calc_table cli.calc_regime_table cli.calc_regime cli.calc cli.sweep cli.sweep_run
cli.summary cli.query cli.plot cli.timeline_page cli.timeline
cli.statement_options cli.claims cli.search_progress cli.search cli.replay cli.prove
cli.verify_progress cli.verify_report cli.verify cli.warmup cli.bench_table cli.bench cli.log_table cli.log
cli.calculator cli.paper
"""
ROOMS = TABLE.split()

HEAVY = {"numba", "pandas", "pyarrow", "matplotlib", "duckdb", "z3", "dask"}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def modules() -> dict[str, Path]:
    names = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    # the doors of rooms hold no code
    doors = {"__init__", "kernels", "reference", "sweep", "sweep.file", "conjecture", "bench", "calculator"}
    doors |= {"analysis", "analysis.plots", "claims", "conjecture.prove", "paper", "timeline"}
    return {name: path for name, path in names.items() if name not in doors}


def imports(path: Path, *, at_load: bool = False) -> set[str]:
    """Modules named by import statements; with ``at_load`` only those outside functions and type-checking blocks."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if at_load and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return found


def test_every_module_has_a_room() -> None:
    """The list of rooms and the files of the package are the same."""
    assert sorted(modules()) == sorted(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_a_module_imports_only_from_the_rooms_above(name: str) -> None:
    """No module reaches back up, and the twins and the kernels share nothing."""
    above = ROOMS[: ROOMS.index(name)]
    if name.startswith("kernels."):
        above = [room for room in above if room.startswith("kernels.")]
    own = {imported.removeprefix("hpsim.") for imported in imports(modules()[name]) if imported.startswith("hpsim.")}
    reached = {imported for imported in own if imported in ROOMS}
    assert reached <= set(above)


def loaded_with(name: str) -> set[str]:
    """Everything that importing ``name`` imports at once, our own modules followed."""
    waiting, seen, found = [name], set(), set()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        for imported in imports(modules()[module], at_load=True):
            own = imported.removeprefix("hpsim.")
            if own in ROOMS and own not in seen:
                waiting.append(own)
            found.add(imported.split(".")[0])
    return found


@pytest.mark.parametrize("name", [room for room in ROOMS if room.startswith("cli")])
def test_the_command_line_loads_nothing_heavy_by_itself(name: str) -> None:
    """numba, pandas, pyarrow and the like are imported where they are used, not when a command is looked up."""
    assert not loaded_with(name) & HEAVY


def test_only_one_file_holds_jit_flags() -> None:
    """Kernels are compiled by ``kernels/_jit.py`` and nowhere else; a neighbour only keeps what it compiled."""
    using = {name for name, path in modules().items() if any(m.split(".")[0] == "numba" for m in imports(path))}
    assert using == {"kernels._jit", "kernels._code_files"}


TESTS = Path(__file__).parent
STARTERS = {"subprocess", "multiprocessing", "pty", "concurrent.futures.ProcessPoolExecutor", "selenium.webdriver"}
OF_OS = re.compile(r"fork|forkpty|posix_spawnp?|spawn[lv]p?e?|exec[lv]p?e?|system|popen")


def starts_processes(path: Path) -> bool:
    """Whether a file imports or calls something that starts processes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    called = any(ast.unparse(node.value) == "os" and OF_OS.fullmatch(node.attr) for node in attributes)
    return called or bool(imports(path) & STARTERS)


def test_tests_start_processes_in_one_way() -> None:
    """All go through ``children.py``, which gives them a terminal's signals and ends them whatever happens.

    Beside it there are only a browser, which it ends too, and the script of a child that has children of its own.
    """
    starting = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py") if starts_processes(path)}
    assert starting == {"children.py", "calculator/browser.py", "faults/callers.py"}
