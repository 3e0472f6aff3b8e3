"""``hpsim paper``: every number that the paper reports comes out again, and the report says so, the same each time."""

from __future__ import annotations

import base64
import csv
import html
import itertools
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import children
import pytest
from click.testing import CliRunner, Result
from conftest import SIZE

from hpsim.analysis.plots.style import DARK, LIGHT, THEMES, look
from hpsim.cli import cli, main
from hpsim.errors import HpsimError, MissingExtraError
from hpsim.paper import quantities
from hpsim.paper.numbers import entries
from hpsim.paper.report import powers
from hpsim.paper.run import reproduce
from hpsim.paper.verdict import Printed, read

ROOT = Path(__file__).parents[1]
FULL = SIZE == 1  # with the JIT off the random searches are cut short
COUNTS = (1, 2, 4, 8, 16, 32, 64, 100)


def paper(*arguments: object) -> Result:
    """The command, as called from a shell."""
    return CliRunner().invoke(cli, ["paper", *map(str, arguments)])


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one full run without a log."""
    folder = tmp_path_factory.mktemp("paper")
    result = paper("--out", folder, *([] if FULL else ["--quick"]))
    assert result.exit_code == 0, result.output
    assert str(folder / "report.html") in result.stdout
    return folder


@pytest.fixture(scope="module")
def numbers(reproduced: Path) -> list[dict[str, str]]:
    return table(reproduced / "numbers.csv")


def makespan(tau: list[Fraction], M: int, d: list[Fraction] | None = None, blocking: bool = False) -> Fraction:
    """A pipeline run micro-batch by micro-batch: ``free[s]`` is when stage ``s`` can take the next one."""
    d = [*(d or [Fraction(0)] * (len(tau) - 1)), Fraction(0)]
    free = [Fraction(0)] * len(tau)
    end = Fraction(0)
    for _ in range(M):
        here = Fraction(0)
        for s, time in enumerate(tau):
            end = max(here, free[s]) + time
            here = end + d[s]
            free[s] = here if blocking else end
    return end


def over(text: str, M: int) -> float:
    """The classic formula's over-estimate in per cent."""
    tau = [Fraction(time) for time in text.split()]
    return float(100 * ((len(tau) + M - 1) * max(tau) / makespan(tau, M) - 1))


def bias(text: str, M: int = 5) -> float:
    tau = [Fraction(time) for time in text.split()]
    return float((len(tau) + M - 1) * max(tau) - makespan(tau, M))


TABLE_1 = {
    "1 1 1 1": ("1.0×", "0.0", "0.0 %", "0.0 %"),
    "0.8 1 1 1.2": ("1.5×", "0.8", "20.0 %", "6.5 %"),
    "0.5 1 1 2": ("4.0×", "3.5", "77.8 %", "18.9 %"),
    "0.5 1 1 5": ("10.0×", "12.5", "166.7 %", "29.4 %"),
    "0.1 0.2 0.3 5": ("50.0×", "14.4", "257.1 %", "35.5 %"),
}
MUST: list[tuple[str, str, str, float]] = [
    ("3.1", "T(1) of [0.5, 1, 1, 5]", "7.5", 7.5),
    ("7.1", "over-estimate, [0.5, 1, 1, 5], M = 1", "166.7 %", over("0.5 1 1 5", 1)),
    ("7.1", "over-estimate, [0.5, 1, 1, 5], M = 8", "29.4 %", over("0.5 1 1 5", 8)),
    ("7.2", "bias of (1.13, 2.90, 2.62)", "2.05 s", bias("1.13 2.90 2.62")),
    ("7.2", "over-estimate, (1.13, 2.90, 2.62), M = 1", "30.8 %", over("1.13 2.90 2.62", 1)),
    ("7.2", "over-estimate, (1.13, 2.90, 2.62), M = 100", "0.7 %", over("1.13 2.90 2.62", 100)),
    ("7.2", "bias of five stages with tau_max = 30.1 s", "119.8 s", bias("0.3 0.1 30.1 0.1 0.1")),
    ("7.1", "hand-crafted configurations", "11", 11),
]
for stages, (ratio, shortfall, one, eight) in TABLE_1.items():
    listed = f"[{stages.replace(' ', ', ')}]"
    times = [float(time) for time in stages.split()]
    MUST += [
        ("Table 1", f"max/min, {listed}", ratio, max(times) / min(times)),
        ("Table 1", f"shortfall, {listed}", shortfall, bias(stages)),
        ("Table 1", f"over-estimate, {listed}, M = 1", one, over(stages, 1)),
        ("Table 1", f"over-estimate, {listed}, M = 8", eight, over(stages, 8)),
    ]


@pytest.mark.parametrize(("section", "what", "printed", "value"), MUST)
def test_a_number_comes_out(section: str, what: str, printed: str, value: float, numbers: list[dict[str, str]]) -> None:
    """The number stands in numbers.csv as printed, agrees, and ours is what a simulation in the test gives."""
    (row,) = (row for row in numbers if (row["section"], row["what"]) == (section, what))
    assert (row["paper"], row["verdict"]) == (printed, "agree")
    assert float(row["ours"].rstrip(" %s×")) == pytest.approx(value, abs=6e-4)


@pytest.mark.skipif(not FULL, reason="the random searches are cut short without compiled kernels")
@pytest.mark.parametrize(
    ("what", "printed", "ours"),
    [
        ("random configurations", "2×10^4", "20,000"),
        ("fewest stages, random configurations", "2", "2"),
        ("most stages, random configurations", "8", "8"),
        ("points of the random search", "1.6×10^5", "160,000"),
        ("violations of Theorems 2 and 3, double precision", "0", "0"),
        ("violations of the sandwich, double precision", "0", "0"),
        ("violations of all of them, exact arithmetic", "0", "0"),
    ],
)
def test_the_random_search_comes_out(what, printed, ours, numbers) -> None:
    """20,000 configurations of 2 to 8 stages at 8 values of M, without a violation."""
    (row,) = (row for row in numbers if (row["section"], row["what"]) == ("7.1", what))
    assert (row["paper"], row["ours"], row["verdict"]) == (printed, ours, "agree")


@pytest.mark.skipif(not FULL, reason="the random searches are cut short without compiled kernels")
def test_the_largest_error_comes_out(numbers) -> None:
    """Double precision errs by less than 1e-9, and not by nothing."""
    (row,) = (row for row in numbers if row["what"] == "maximum relative error over all configurations")
    assert row["verdict"] == "agree"
    assert 0 < float(row["ours"]) < 1e-9


def test_verdicts(numbers) -> None:
    """Nothing disagrees, and the paper contradicts itself where it is known to, by numbers that it prints."""
    assert [row["what"] for row in numbers if row["verdict"] == "disagree"] == []
    found = {(row["section"], row["paper"], row["ours"]) for row in numbers if "contradicts" in row["verdict"]}
    assert found == {
        ("Abstract", "1.6×10^5", "20,011"),
        ("7.1", "8", "7"),
        ("7.1", "25.0 %", "13.336 %"),
        ("7.2", "3", "2"),
        ("9", "4,981", "5,049"),
        ("9", "2.3×", "2.566×"),
        ("9", "8.57 s", "8.59 s"),
    }
    assert all(row["note"] for row in numbers if "contradicts" in row["verdict"])


@pytest.mark.skipif(not FULL, reason="the random searches are cut short without compiled kernels")
def test_the_readme_counts_the_verdicts(numbers) -> None:
    """What the README says about the numbers is what comes out."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    verdicts = [row["verdict"] for row in numbers]
    agree, own, no_log = map(verdicts.count, ("agree", "the paper contradicts itself", "no log given"))
    assert f"compares {len(verdicts)} printed numbers with ours" in readme
    assert f"{agree} agree, none disagrees, at {own} *the paper contradicts itself*, and {no_log} come" in readme


def test_without_a_log_its_numbers_are_empty(numbers, reproduced: Path) -> None:
    """Numbers from the request log are never invented: no value, "no log given", and no right half of Figure 5."""
    missing = [row for row in numbers if row["verdict"] == "no log given"]
    assert {row["what"] for row in missing} >= {"completed requests", "requests that waited", "longest wait"}
    assert all(not row["ours"] for row in missing)
    report = (reproduced / "report.md").read_text(encoding="utf-8")
    assert "Figure 5, right, and the statistics of Section 7.2: no log given." in report
    assert not (reproduced / "figures" / "figure5-right.png").exists()


def test_each_claim_has_its_counterexample(reproduced: Path) -> None:
    """The sentences that exact search refutes stand in claims.csv with the numbers worked out by hand."""
    found = table(reproduced / "claims.csv")
    assert {row["verdict"] for row in found} == {"refuted"}
    text = [row["counterexample"] for row in found]
    for numbers, place in (("from 1 to 2", 0), ("12 and 12", 1), ("2/7 for", 2), ("1/2 for", 2), ("are 7.5", 3)):
        assert numbers in text[place]
    assert "M = 2: 7 where a transfer holds both ends, T_block = 6" in text[4]
    assert "gives 7, rho = 1/2 means 15/2" in text[5]


def test_table_2_is_what_a_simulation_gives(reproduced: Path) -> None:
    """All eleven configurations in both regimes at every M: recurrence, closed form and ratio, exactly."""
    found = table(reproduced / "table2.csv")
    assert len(found) == 11 * 2 * len(COUNTS)
    assert len({row["configuration"] for row in found}) == 11
    for row in found:
        tau, d = ([Fraction(time) for time in row[name].split()] for name in ("tau", "d"))
        exact = float(makespan(tau, int(row["M"]), d, row["regime"] == "blocking"))
        assert float(row["recurrence"]) == float(row["closed_form"]) == exact
        assert (row["ratio"], row["relative_error"]) == ("1.0", "0.0")
    assert [int(row["M"]) for row in found[: len(COUNTS)]] == list(COUNTS)


def test_table_1_as_data(reproduced: Path) -> None:
    """table1.csv holds the five partitions with more digits than the paper prints."""
    found = {row["tau"]: row for row in table(reproduced / "table1.csv")}
    assert list(found) == list(TABLE_1)
    for stages, row in found.items():
        assert float(row["overestimate_M8"]) == pytest.approx(over(stages, 8) / 100, rel=1e-12)


SECTIONS = (
    "Where the paper contradicts itself",
    "Claims with a counterexample",
    "Table 1: over-estimate against heterogeneity",
    "Figures 1 to 4",
    "Table 2: hand-crafted configurations (a reconstruction)",
    "Random search for counterexamples",
    "Comparison with Graham's bound",
    "Production logs and Figure 5",
    "Every number",
)


def test_the_report_has_every_section(reproduced: Path) -> None:
    """Markdown and HTML hold the same sections, the figures and every number."""
    markdown, page = ((reproduced / f"report.{form}").read_text(encoding="utf-8") for form in ("md", "html"))
    assert [line[3:] for line in markdown.splitlines() if line.startswith("## ")] == list(SECTIONS)
    assert [re.sub("&#x27;", "'", text) for text in re.findall(r"<h2 [^>]*>(.*?)</h2>", page)] == list(SECTIONS)
    for name in ("figure1", "figure2", "figure3", "figure4", "figure5-left"):
        assert f"(figures/{name}.png)" in markdown
        assert (reproduced / "figures" / f"{name}.svg").stat().st_size > 5000
        assert (reproduced / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_loads_nothing(reproduced: Path) -> None:
    """Every picture is inlined, with words for who cannot see it; nothing points to the network or to another file."""
    page = (reproduced / "report.html").read_text(encoding="utf-8")
    assert "://" not in page
    assert set(re.findall(r'src="([^:,]*:[^;,]*)', page)) == {"data:image/svg+xml"}
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', page))
    assert len(re.findall(r'<img alt="Figure [^"]{40,}"', page)) == 5


def test_the_page_has_dark_figures_for_dark_screens(reproduced: Path) -> None:
    """Each picture has a source for dark screens, whose paper is that of the page in dark; files hold the same."""
    page = (reproduced / "report.html").read_text(encoding="utf-8")
    found = re.findall(
        r'<source media="screen and \(prefers-color-scheme: dark\)" srcset="data:image/svg\+xml;base64,([^"]*)">'
        r'<img alt="[^"]*" src="data:image/svg\+xml;base64,([^"]*)">',
        page,
    )
    names = ("figure1", "figure2", "figure3", "figure4", "figure5-left")
    for name, pair in zip(names, found, strict=True):
        dark, light = (base64.b64decode(data) for data in pair)
        assert dark == (reproduced / "figures" / f"{name}-dark.svg").read_bytes()
        assert light == (reproduced / "figures" / f"{name}.svg").read_bytes()
        assert DARK.paper.encode() in dark
        assert DARK.paper.encode() not in light
        assert LIGHT.paper.encode() not in dark
    assert f"--paper: {DARK.paper}" in page
    assert f"--paper: {LIGHT.paper}" in page


def test_powers_of_ten_are_written_by_hand(reproduced: Path) -> None:
    """10⁵ and 10⁻⁹ stand in the report as such; names are left as they are, and so is the table for machines."""
    page, markdown = ((reproduced / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    words = re.sub(r'base64,[^"]*', "", page).split("</style>")[1]
    for text in (html.unescape(words), markdown.replace("\\", "")):
        for written in ("1.6×10⁵", "< 10⁻⁹", "~10³×", "2×10⁴", "8.57×10³", "within 10⁻⁹"):
            assert written in text
        assert re.findall(r"\d\^|\d[eE][-+]?\d", text) == []
        assert "$" not in text
    assert any(row["paper"] == "1.6×10^5" for row in table(reproduced / "numbers.csv"))
    for plain, by_hand in (
        ("2.2e-16", "2.2×10⁻¹⁶"),
        ("1e+05", "1×10⁵"),
        ("< 10^-9", "< 10⁻⁹"),
        ("10^120 points", "10¹²⁰ points"),
    ):
        assert powers(plain) == by_hand
    for name in ("llama-2e5", "2e5-instruct", "x^2", "1e", "110^2", "a10^2"):
        assert powers(name) == name


def test_the_same_bytes_again(tmp_path: Path) -> None:
    """A second run, on one thread, writes the same bytes; a quick run says that it is one and decides less."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert (
        paper("--quick", "--out", first).exit_code == paper("--quick", "--out", second, "--workers", 1).exit_code == 0
    )
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) == 6 + 3 * 5
    assert [name for name in files if (first / name).read_bytes() != (second / name).read_bytes()] == []
    report = (first / "report.md").read_text(encoding="utf-8")
    assert "quick run (--quick)" in report
    (row,) = (row for row in table(first / "numbers.csv") if row["what"] == "points of the random search")
    assert (row["ours"], row["verdict"]) == ("", "not run in full (--quick)")
    assert row["note"] == "200 configurations, 1,600 points, 0 violations"


def write_log(file: Path) -> None:
    """Seven requests whose statistics are worked out by hand below; the last has a total below its duration."""
    requests = [
        ("RTX5090", "legalone:8b", 1.13, 0),
        ("RTX5090", "legalone:8b", 9, 1),
        ("RTX5090", "legalone:8b", 8.57, 0.02),
        ("RTX-3090-97", "legalone:8b", 2.9, 0),
        ("RTX-3090-98", "legalone:8b", 2.62, 273.6),
        ("RTX-3090-97", "bge-m3", 0.05, 0),
        ("RTX-3090-98", "bge-m3", 1, -0.5),
    ]
    lines = [f"{host},{model},{duration},{duration + wait}" for host, model, duration, wait in requests]
    file.write_text("host,model,duration_s,total_s\n" + "\n".join(lines) + "\n", encoding="utf-8")


def test_with_a_log(tmp_path: Path) -> None:
    """A log fills the numbers of §7.2: what is in it is compared, what is not is said."""
    log = tmp_path / "gateway.csv"
    write_log(log)
    result = paper("--quick", "--out", tmp_path, "--log", log)
    assert result.exit_code == 1
    assert "disagree" in result.stdout
    found = {(row["section"], row["what"]): (row["ours"], row["verdict"]) for row in table(tmp_path / "numbers.csv")}
    assert found["7.2", "completed requests"] == ("6", "disagree")
    assert found["7.2", "smallest duration of legalone:8b, RTX 5090"] == ("1.13 s", "agree")
    assert found["7.2", "smallest duration of legalone:8b, RTX 3090-97"] == ("2.9 s", "agree")
    assert found["7.2", "smallest duration of legalone:8b, RTX 3090-98"] == ("2.62 s", "agree")
    assert found["7.2", "requests that waited"] == ("50 %", "disagree")
    assert found["7.2", "longest wait"] == ("273.6 s", "agree")
    assert found["7.2", "median time from end to end, legalone:8b, RTX 5090"] == ("8.59 s", "agree")
    assert found["7.2", "requests with total_s ≥ duration_s"] == ("6", "disagree")
    assert found["9", "median of bge-m3, RTX 3090, the larger"] == ("0.05 s", "agree")
    assert found["7.2", "bias of the qwen2.5:7b hosts"] == ("", "not in this log")
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Of 7 requests in the log 6 are used, 1 are left out." in report
    assert "## Where we disagree" in report
    assert (tmp_path / "figures" / "figure5-right.svg").exists()
    assert paper("--quick", "--out", tmp_path).exit_code == 0
    assert not (tmp_path / "figures" / "figure5-right.svg").exists()


def test_a_wrong_number_of_ours_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one number came out otherwise, it would disagree, stand at the top of the report, and end with exit code 1."""
    monkeypatch.setitem(quantities.QUANTITIES, "makespan", lambda evidence, tau, M: Fraction("7.56"))
    result = paper("--quick", "--out", tmp_path)
    assert result.exit_code == 1
    assert "1 disagree" in result.stdout
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| 3.1 | T(1) of [0.5, 1, 1, 5] | 7.5 | 7.56 |" in report.split("## Where the paper contradicts")[0]


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("7.5", ["7.45", "7.5", "7.55"], ["7.44", "7.551"]),
        ("166.7 %", ["5/3", "1.66749"], ["1.6676"]),
        ("2.05 s", ["2.05", "2.045"], ["2.056"]),
        ("8,571", ["8571"], ["8570", "8572"]),
        ("0", ["0"], ["1"]),
        ("1.6×10^5", ["160000", "155000"], ["20011", "165001"]),
        ("2.3×", ["2.62/1.13"], ["2.90/1.13"]),
        ("~20", ["15", "20", "25"], ["14", "26"]),
        ("~10^3×", ["1420", "320"], ["310", "3170"]),
        ("< 10^-9", ["0", "1e-10"], ["2e-9"]),
        ("1.0000", ["1.00004"], ["0.9999"]),
    ],
)
def test_what_agrees_with_a_printed_number(text: str, same: list[str], other: list[str]) -> None:
    """A number agrees if rounding gives what is printed; ``~`` has one digit, or names a power of ten."""

    def value(words: str) -> Fraction:
        top, _, bottom = words.partition("/")
        return Fraction(top) / Fraction(bottom or 1)

    assert [words for words in same if not read(text).holds(value(words))] == []
    assert [words for words in other if read(text).holds(value(words))] == []


def test_what_is_no_printed_number() -> None:
    """A text of another form is an error, not a silent agreement."""
    for text in ("", "many", "1.2.3", "12 h", "-3"):
        with pytest.raises(ValueError, match="no printed number"):
            read(text)


def test_every_entry_can_be_read() -> None:
    """Each number of the list is printed in a known form and names a quantity; no quantity lies idle."""
    assert all(isinstance(read(entry["paper"]), Printed) for entry in entries())
    assert {entry["ours"] for entry in entries()} == set(quantities.QUANTITIES)


def test_graham_on_rationals() -> None:
    """The counts beside Graham's bound are those of a comparison on Fractions, configuration by configuration."""
    from hpsim.paper.fuzz import search
    from hpsim.paper.graham import compare

    found = search("paper_fuzz", 1, 60)
    below = equal = special = 0
    for tau in found.configs.column("tau").to_pylist():
        stages = [Fraction(time) for time in tau]
        for M in COUNTS:
            T, W, CP = makespan(stages, M), M * sum(stages), sum(stages)
            bound = W / len(stages) + (1 - Fraction(1, len(stages))) * CP
            below += bound > T
            equal += bound == T
            special += M == 1 or len(set(stages)) == 1
            assert T <= W
    counts = compare(found)
    assert (counts.points, counts.below, counts.above) == (60 * len(COUNTS), below, 0)
    assert (counts.equal, counts.balanced_or_single, counts.equal_otherwise) == (equal, special, 0)
    assert below == 0


def drawn() -> Iterator[tuple[str, object]]:
    """Each plot in axes that the caller brings."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from hpsim.paper import figures
    from hpsim.paper.pictures import HEIGHT, WIDTH

    names = ("makespans", "overestimate", "parallel_lines", "phase_transition", "band", "constant_bias")
    for name, form in itertools.product(names, THEMES):
        with rc_context(look(form)):
            ax = Figure(figsize=(WIDTH, HEIGHT), layout="constrained").subplots()
            assert getattr(figures, name)(ax=ax) is ax
            yield name, ax


def test_plots_are_labelled_and_nothing_overlaps() -> None:
    """At 8.5 cm each plot has labels with units; no text covers another or a mark, or leaves the figure."""
    from matplotlib.text import Text

    for name, ax in drawn():
        assert re.search(r"micro-batches|\[.+\]", ax.get_xlabel()), name
        assert re.search(r"\[.+\]$", ax.get_ylabel()), name
        ax.figure.draw_without_rendering()
        texts = [text for text in ax.texts if text.get_text()]
        frames = [Text.get_window_extent(text) for text in texts]  # of the words, without the arrow
        labels = [
            label.get_window_extent() for label in (*ax.get_xticklabels(), *ax.get_yticklabels()) if label.get_text()
        ]
        for first, second in itertools.combinations([*frames, ax.xaxis.label.get_window_extent()], 2):
            assert not first.overlaps(second), name
        for text, frame in zip(texts, frames, strict=True):
            whole = ax.figure.bbox
            inside = whole.x0 <= frame.x0 < frame.x1 <= whole.x1 and whole.y0 <= frame.y0 < frame.y1 <= whole.y1
            assert inside, (name, text.get_text())
            assert not any(frame.overlaps(label) for label in labels), (name, text.get_text())
            for line in ax.lines:
                if line.get_marker() not in (None, "None", ""):
                    marks = ax.transData.transform(line.get_xydata())
                    assert not any(frame.contains(*mark) for mark in marks), (name, text.get_text())


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra is one line with the installation, before anything is written."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hpsim-pipelines\[plot\]"'):
        reproduce(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "place"),
    [(["--out", "file"], "file"), (["--log", "none.csv"], "none.csv"), (["--workers", "0"], "workers")],
)
def test_wrong_input(arguments, place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """A folder that is a file, a log that is missing, no threads: one line that names it, and exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["hpsim", "paper", "--quick", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert err.startswith("error: ")
    assert place in err
    assert err.count("\n") == 1


def test_a_crashed_chunk_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a chunk fails, its error comes out, and no number is computed from the rest."""
    from hpsim.paper import fuzz
    from hpsim.sweep import chunk

    def broken(sweep: object, index: int) -> object:
        raise HpsimError("chunk", "broken", "whole")

    monkeypatch.setattr(chunk, "run_chunk", broken)
    with pytest.raises(HpsimError, match="broken"):
        fuzz.search("paper_fuzz", 1, 10)


def test_help_loads_nothing_heavy() -> None:
    """``hpsim paper --help`` needs neither NumPy nor Matplotlib."""
    code = "import sys; sys.argv = ['hpsim', 'paper', '--help']\nfrom hpsim.cli import main\n"
    code += "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    run = children.run([sys.executable, "-c", code], check=True)
    assert "numbers.csv" in run.stdout
    assert not set(run.stderr.split()) & {"numpy", "numba", "pandas", "pyarrow", "matplotlib", "yaml", "pydantic"}
