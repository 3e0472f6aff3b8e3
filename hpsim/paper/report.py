"""What the report says, section by section, from the evidence, the numbers and the claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from hpsim import __version__
from hpsim.paper import claims as claim_table
from hpsim.paper.claims import Claim
from hpsim.paper.document import Block, Heading, Paragraph, Picture, Table
from hpsim.paper.evidence import Evidence
from hpsim.paper.fuzz import Search
from hpsim.paper.numbers import COLUMNS, Row
from hpsim.paper.tables import TABLE_1_M, Partition, Validated
from hpsim.paper.verdict import AGREE, CONTRADICTION, DISAGREE, NO_LOG, NOT_IN_FULL, VERDICTS

TITLE = "The numbers of “Exact Makespan Bounds and the GPipe Homogeneity Bias”, computed again"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_WITHOUT_VERDICT = [name for name in COLUMNS if name != "verdict"]

CAPTIONS = {
    "figure1": (
        "Figure 1 (Theorem 1). Above: makespan of [0.5, 1, 1, 5] and the classic formula. Below: by how much that "
        "formula "
        "exceeds it."
    ),
    "figure2": (
        "Figure 2 (Theorem 2). Asynchronous makespans of [0.5, 1, 1, 5] for three levels of communication, 0, 2 and "
        "5 on every "
        "link (the paper does not print its own): parallel lines."
    ),
    "figure3": (
        "Figure 3 (Theorem 3, Corollary 4). Time per micro-batch of [0.5, 1, 1, 5] against a transfer time common to "
        "all links: "
        "blocking leaves the slope of the bottleneck where a transfer exceeds the smallest slack."
    ),
    "figure4": (
        "Figure 4 (Corollary 5). Asynchronous and blocking makespan of [0.5, 1, 1, 5] with transfers of 6 on every "
        "link, and the "
        "overlap gain between them."
    ),
    "figure5-left": (
        "Figure 5, left (Corollary 1). The classic formula and Theorem 1 for tau = (1.13, 2.90, 2.62) s, the "
        "smallest durations "
        "of legalone:8b that the paper prints."
    ),
    "figure5-right": (
        "Figure 5, right. Each model on each host of the log: median time from end to end against median service "
        "time. A single "
        "request cannot lie below the diagonal."
    ),
}


def report(
    evidence: Evidence,
    numbers: Sequence[Row],
    claims: Sequence[Claim],
    table_1: Sequence[Partition],
    table_2: Sequence[Validated],
) -> list[Block]:
    """The whole document."""
    return [
        Heading(TITLE, 1),
        *_summary(evidence, numbers),
        *_contradictions(numbers),
        *_claims(claims),
        *_table_1(table_1),
        *_figures(),
        *_table_2(table_2),
        *_searches(evidence),
        *_graham(evidence),
        *_log(evidence),
        *_all_numbers(numbers),
    ]


def verdicts(numbers: Sequence[Row]) -> str:
    """How many numbers there are of each verdict, in words."""
    counts = Counter(row.verdict for row in numbers)
    told = [verdict for verdict in VERDICTS if counts[verdict] or verdict in (AGREE, DISAGREE)]
    return f"{len(numbers)} numbers: {', '.join(f'{counts[verdict]} {verdict}' for verdict in told)}"


def _summary(evidence: Evidence, numbers: Sequence[Row]) -> Iterator[Block]:
    yield Paragraph(
        f"hpsim {__version__} ran everything that arXiv 2610.21815 reports, by its recurrences, and compared the "
        "results with the "
        "printed numbers: one that is printed alike after rounding is “agree”. The files numbers.csv, claims.csv, "
        "table1.csv and "
        "table2.csv "
        "beside this report hold the same in full."
    )
    yield Paragraph(f"{verdicts(numbers)}.")
    if evidence.quick:
        yield Paragraph(
            "This was a quick run (--quick): the random searches were cut short, and their numbers are therefore not "
            "compared."
        )
    if evidence.measured is None:
        missing = sum(row.verdict == NO_LOG for row in numbers)
        yield Paragraph(
            f"No log given: {missing} numbers of the paper come from its request logs, which are not public. They "
            "are left empty; "
            "--log FILE fills them from a log."
        )
    else:
        yield Paragraph("Numbers from the request log can agree only if it is the one that the paper was written from.")
    disagreeing = [row for row in numbers if row.verdict == DISAGREE]
    if disagreeing:
        yield Heading("Where we disagree")
        yield _rows(disagreeing, _WITHOUT_VERDICT)


def _contradictions(numbers: Sequence[Row]) -> Iterator[Block]:
    yield Heading("Where the paper contradicts itself")
    yield Paragraph("“Ours” is what other numbers of the paper give for the same thing.")
    contradictory = [row for row in numbers if row.verdict == CONTRADICTION]
    yield _rows(contradictory, _WITHOUT_VERDICT)


def _claims(claims: Sequence[Claim]) -> Iterator[Block]:
    yield Heading("Claims with a counterexample")
    yield Paragraph(
        "Sentences of the paper that are too strong as they stand. Theorems 1 to 3 and the corollaries' formulas are "
        "not among "
        "them; they held at every point."
    )
    columns = [name.capitalize() for name in claim_table.COLUMNS]
    yield Table(columns, [[getattr(claim, name) for name in claim_table.COLUMNS] for claim in claims])


def _table_1(partitions: Sequence[Partition]) -> Iterator[Block]:
    yield Heading("Table 1: over-estimate against heterogeneity")
    yield Paragraph("The classic formula beside the simulated makespan, on exact numbers.")
    columns = ["max/min", "tau (S = 4)", "shortfall", *(f"over-estimate, M = {M}" for M in TABLE_1_M)]
    rows = [
        [
            f"{float(one.heterogeneity):.1f}×",
            _vector(one.tau),
            f"{float(one.shortfall):.1f}",
            *(f"{100 * float(share):.1f} %" for share in one.overestimate),
        ]
        for one in partitions
    ]
    yield Table(columns, rows, frozenset({0, 2, 3, 4}))


def _figures() -> Iterator[Block]:
    yield Heading("Figures 1 to 4")
    yield Paragraph("One pipeline, tau = [0.5, 1, 1, 5]. Lines are closed forms, marks are simulated.")
    for name in ("figure1", "figure2", "figure3", "figure4"):
        yield Picture(name, CAPTIONS[name])


def _table_2(points: Sequence[Validated]) -> Iterator[Block]:
    yield Heading("Table 2: hand-crafted configurations (a reconstruction)")
    yield Paragraph(
        "The paper describes eleven configurations, but its table is not in the text available to us: these are "
        "ours, made from "
        "that description. Makespans by recurrence in exact arithmetic; the ratio is recurrence over closed form at "
        "the M where "
        "it is farthest from 1. Closed forms at every point are in table2.csv."
    )
    lines: dict[tuple[str, str], list[Validated]] = {}
    for point in points:
        lines.setdefault((point.name, point.regime), []).append(point)
    configurations = {name: [name, _vector(line[0].tau), _vector(line[0].d)] for (name, _), line in lines.items()}
    yield Table(["configuration", "tau", "d"], list(configurations.values()))
    columns = ["configuration", "regime", *(f"T({M})" for M in sorted({point.M for point in points})), "ratio"]
    rows = [
        [
            name,
            regime,
            *(f"{point.recurrence:g}" for point in line),
            f"{max((point.ratio for point in line), key=lambda ratio: abs(ratio - 1)):.4f}",
        ]
        for (name, regime), line in lines.items()
    ]
    yield Table(columns, rows, frozenset(range(2, len(columns))))


def _searches(evidence: Evidence) -> Iterator[Block]:
    yield Heading("Random search for counterexamples")
    yield Paragraph(
        "Recurrence against closed form. In double precision they must agree within 10⁻⁹, as in the paper; in exact "
        "arithmetic "
        "they must be equal. A tenth of the random configurations is forced onto ties and boundaries."
    )
    if evidence.quick:
        yield Paragraph(f"Quick run: {NOT_IN_FULL}.")
    columns = ["search", "checks", "arithmetic", "configurations", "points", "violations", "largest relative error"]
    names = {"hand_crafted": "hand-crafted", "theorems": "random", "sandwich": "random", "exact": "random"}
    rows = [_search(names[key], found) for key, found in evidence.searches.items()]
    yield Table(columns, rows, frozenset({3, 4, 5, 6}))


def _search(name: str, found: Search) -> list[str]:
    totals = found.totals
    counts = [f"{count:,}" for count in (totals.configs, totals.points, totals.violations)]
    worst = powers(f"{found.worst:.1e}") if found.worst else "0"
    return [name, ", ".join(found.sweep.claims), found.sweep.arithmetic, *counts, worst]


def _graham(evidence: Evidence) -> Iterator[Block]:
    found = evidence.graham
    yield Heading("Comparison with Graham's bound")
    yield Paragraph(
        "Read as the interval from W/S + (1−1/S)·CP to W, with the work W = M·sum(tau) and the critical path CP = "
        "sum(tau), beside "
        "simulated makespans without communication, in whole numbers."
    )
    rows = [
        ["points compared", f"{found.points:,}"],
        ["below the interval", f"{found.below:,}"],
        ["above it", f"{found.above:,}"],
        ["equal to its lower endpoint", f"{found.equal:,}"],
        ["balanced, or M = 1", f"{found.balanced_or_single:,}"],
        ["equal, though unbalanced and M > 1", f"{found.equal_otherwise:,}"],
    ]
    yield Table(["", "points"], rows, frozenset({1}))


def _log(evidence: Evidence) -> Iterator[Block]:
    yield Heading("Production logs and Figure 5")
    yield Picture("figure5-left", CAPTIONS["figure5-left"])
    measured = evidence.measured
    if measured is None:
        yield Paragraph("Figure 5, right, and the statistics of Section 7.2: no log given.")
        return
    yield Picture("figure5-right", CAPTIONS["figure5-right"])
    log = measured.log
    yield Paragraph(f"Of {log.read:,} requests in the log {log.kept:,} are used, {log.read - log.kept:,} are left out.")
    dropped = [[f"{drop.column} {drop.reason}", f"{drop.count:,}", drop.place] for drop in log.dropped]
    if dropped:
        yield Table(["left out", "requests", "first"], dropped, frozenset({1}))
    columns = [
        "model",
        "host",
        "requests",
        "min [s]",
        "median [s]",
        "median, end to end [s]",
        "waited",
        "longest wait [s]",
    ]
    rows = [
        [
            group.model,
            group.host,
            f"{group.count:,}",
            f"{group.minimum.value:.3f}",
            f"{group.median.value:.3f}",
            f"{group.median_total:.3f}",
            f"{100 * group.waited:.1f} %",
            f"{group.longest_wait:.3f}",
        ]
        for group in measured.summary.groups
    ]
    yield Table(columns, rows, frozenset(range(2, len(columns))))


def _all_numbers(numbers: Sequence[Row]) -> Iterator[Block]:
    yield Heading("Every number")
    yield _rows(numbers)


def _rows(numbers: Sequence[Row], columns: Sequence[str] = COLUMNS) -> Table:
    cells = [[powers(getattr(row, name)) for name in columns] for row in numbers]
    return Table([name.capitalize() for name in columns], cells, frozenset({2, 3}))


def powers(text: str) -> str:
    """Powers of ten as they are written by hand: 10⁵ for ``10^5``, 2.2×10⁻¹⁶ for a whole text ``2.2e-16``."""
    text = re.sub(r"^(\d+(?:\.\d+)?)e(?=[-+]?\d+$)", r"\1×10^", text)
    return re.sub(r"\b10\^([-+]?)0*(\d+)", lambda m: f"10{(m[1].strip('+') + m[2]).translate(_RAISED)}", text)


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{value:g}' for value in values)}]"
