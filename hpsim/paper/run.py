"""``hpsim paper``: everything the paper reports, run and written into one folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpsim.analysis.extras import require
from hpsim.errors import HpsimError
from hpsim.paper import claims as claim_table
from hpsim.paper import numbers as number_table
from hpsim.paper.claims import REFUTED, Claim, claims
from hpsim.paper.document import markdown, page
from hpsim.paper.evidence import gather
from hpsim.paper.numbers import Row, rows
from hpsim.paper.pictures import WITH_LOG, pictures
from hpsim.paper.report import report
from hpsim.paper.tables import TABLE_1_M, Partition, Validated, table_1, table_2
from hpsim.paper.verdict import DISAGREE

FIGURES = "figures"


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    folder : Path
    numbers : tuple of Row
    claims : tuple of Claim
    """

    folder: Path
    numbers: tuple[Row, ...]
    claims: tuple[Claim, ...]

    @property
    def stands(self) -> bool:
        """Whether no number disagrees, and every counterexample is one."""
        agreed = all(row.verdict != DISAGREE for row in self.numbers)
        return agreed and all(claim.verdict == REFUTED for claim in self.claims)


def reproduce(
    out: Path, logs: Sequence[Path | str] = (), workers: int | None = None, quick: bool = False
) -> Reproduction:
    """Run what the paper reports; write ``report.md``, ``report.html``, figures and tables into ``out``.

    The same versions of everything write the same bytes.

    Parameters
    ----------
    out : Path
        A folder, made if need be; files of the same names are replaced.
    logs : files, optional
        Request logs for §7.2, §9 and Figure 5, as :func:`hpsim.logs.read_log` takes them.
    workers : int, optional
        Threads; by default as many as this process may use processors. The result does not depend on it.
    quick : bool
        Cut the random searches short, and leave their numbers undecided.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    HpsimError
        When ``out`` cannot be written to, ``workers`` makes no sense, or a log cannot be read.
    hpsim.sweep.executors.Interrupted
        After SIGINT or SIGTERM, before anything is written.
    """
    require("matplotlib", "plot")
    with _refusing(out):
        (out / FIGURES).mkdir(parents=True, exist_ok=True)
    evidence = gather(logs, workers, quick)
    found, refuted = tuple(rows(evidence)), tuple(claims(evidence))
    partitions, points = table_1(), table_2(evidence)
    images = dict(pictures(evidence.measured))
    blocks = report(evidence, found, refuted, partitions, points)
    texts = {
        "numbers.csv": _csv(number_table.COLUMNS, _cells(found, number_table.COLUMNS)),
        "claims.csv": _csv(claim_table.COLUMNS, _cells(refuted, claim_table.COLUMNS)),
        "table1.csv": _table_1(partitions),
        "table2.csv": _table_2(points),
        "report.md": markdown(blocks, FIGURES),
        "report.html": page(blocks, lambda name: images[f"{name}.svg"]),
    }
    with _refusing(out):
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8", newline="\n")
        for name in WITH_LOG:  # an earlier report may have had a log
            (out / FIGURES / name).unlink(missing_ok=True)
        for name, image in images.items():
            (out / FIGURES / name).write_bytes(image)
    return Reproduction(out, found, refuted)


@contextmanager
def _refusing(out: Path) -> Iterator[None]:
    """What goes wrong with files below ``out``, in words."""
    try:
        yield
    except OSError as error:
        found = f"cannot be written to ({error.strerror or error})"
        raise HpsimError(str(out), found, "choose another folder with --out") from None


def _table_1(partitions: Sequence[Partition]) -> str:
    columns = ["tau", "heterogeneity", "shortfall", *(f"overestimate_M{M}" for M in TABLE_1_M)]
    numbers = ((one.heterogeneity, one.shortfall, *one.overestimate) for one in partitions)
    lines = zip((_vector(one.tau) for one in partitions), numbers, strict=True)
    return _csv(columns, ([tau, *(repr(float(number)) for number in row)] for tau, row in lines))


def _table_2(points: Sequence[Validated]) -> str:
    columns = ["configuration", "tau", "d", "regime", "M", "recurrence", "closed_form", "ratio", "relative_error"]
    numbers = ((one.M, one.recurrence, one.closed_form, one.ratio, one.relative_error) for one in points)
    places = ((one.name, _vector(one.tau), _vector(one.d), one.regime) for one in points)
    return _csv(columns, ([*place, *row] for place, row in zip(places, numbers, strict=True)))


def _vector(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)


def _cells(items: Iterable[Row | Claim], columns: Sequence[str]) -> Iterator[list[str]]:
    return ([getattr(item, column) for column in columns] for item in items)


def _csv(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return target.getvalue()
