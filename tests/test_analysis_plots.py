"""``hpsim plot``: what is drawn is what pandas computes from the tables, labelled, and without overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_runs import FIGURE_3, SAMPLED, STRICT, make_run, ranked, table
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from hpsim.analysis.figure import KINDS, draw
from hpsim.analysis.run import open_run
from hpsim.cli import cli
from hpsim.errors import HpsimError, RunFolderError

RUNS: dict[str, dict[str, Any]] = {
    "small": SAMPLED,
    "figure-3": FIGURE_3,
    "strict": STRICT,
    "hand-crafted": {"name": "hand-crafted", "pipelines": "hand_crafted", "microbatches": [1, 8, 100]},
    "one-M": SAMPLED | {"name": "one-M", "microbatches": [8]},
    "many-M": SAMPLED | {"name": "many-M", "configs": 20, "microbatches": list(range(1, 60))},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: make_run(root / name, data) for name, data in RUNS.items()}


def line(ax: Axes, label: str) -> tuple[list[float], list[float]]:
    (found,) = (drawn for drawn in ax.lines if drawn.get_label() == label)
    return list(map(float, found.get_xdata())), list(map(float, found.get_ydata()))


def texts(ax: Axes) -> Iterator[Text]:
    """Every text that shows; tick labels beyond the ends of an axis do not."""
    assert isinstance(ax.figure, Figure)
    ax.figure.draw_without_rendering()
    for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
        yield axis.label
        yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
    yield from (ax.title, ax._left_title, *ax.texts)  # type: ignore[attr-defined]
    if ax.get_legend() is not None:
        yield from ax.get_legend().get_texts()


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(RUNS))
def test_labels_fit_and_do_not_overlap(folders: dict[str, Path], name: str, kind: str) -> None:
    """Both axes are labelled, every text lies inside the figure, and no two texts touch."""
    if (name, kind) == ("one-M", "slope"):
        pytest.skip("a slope needs two numbers of micro-batches")
    ax = draw(open_run(folders[name]), kind)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    shown = [text for text in texts(ax) if text.get_text() and text.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    assert isinstance(ax.figure, Figure)
    frame = ax.figure.bbox
    for said, box in boxes:
        assert frame.x0 - 1 <= box.x0 < box.x1 <= frame.x1 + 1, said
        assert frame.y0 - 1 <= box.y0 < box.y1 <= frame.y1 + 1, said
    touching = [(a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2) if one.overlaps(other)]
    assert touching == []


def test_figure_3_shows_the_phase_transition(folders: dict[str, Path]) -> None:
    """The blocking slope is 5 up to d = 4 and d + 1 beyond; async stays at 5; the dotted line stands at the slack 4."""
    ax = draw(open_run(folders["figure-3"]), "slope")
    transfers = [k / 8 for k in range(65)]
    assert line(ax, "async") == (transfers, [5.0] * 65)
    assert line(ax, "blocking") == (transfers, [max(5.0, d + 1) for d in transfers])
    assert 4.0 in [drawn.get_xdata()[0] for drawn in ax.lines if drawn.get_label().startswith("_")]


def test_slopes_of_different_pipelines(folders: dict[str, Path]) -> None:
    """Against the largest tau + d over links, in tau_max, slopes are 1 up to 1; bins and means as with pandas."""
    configs, points = table(folders["small"], "configs"), table(folders["small"], "points")
    configs = configs[configs["S"] > 1].set_index("config_id")
    reach = np.array([np.max(row.tau[:-1] + row.d) / row.tau_max for row in configs.itertuples()])
    bins = np.round(16 * np.log2(reach))
    ax = draw(open_run(folders["small"]), "slope")
    for regime in SAMPLED["regimes"]:
        at = {M: points[points["M"] == M].set_index("config_id")[f"T_{regime}"].loc[configs.index] for M in (2, 9)}
        slope = ((at[9] - at[2]) / 7 / configs["tau_max"]).to_numpy()
        x, y = line(ax, regime)
        places = sorted(set(bins))
        np.testing.assert_allclose(x, [reach[bins == place].mean() for place in places], rtol=1e-12)
        np.testing.assert_allclose(y, [slope[bins == place].mean() for place in places], rtol=1e-12)
        flat = [value for at_x, value in zip(x, y, strict=True) if at_x < 2 ** (-1 / 32)]
        np.testing.assert_allclose(flat, 1.0, rtol=1e-12)
    assert "$" in ax.get_xlabel()


def test_overlap_gains(folders: dict[str, Path]) -> None:
    """The median and the largest gain at each M are the ranked values."""
    points = table(folders["small"], "points")
    gains = {M: ranked((group["T_blocking"] / group["T_async"]).tolist()) for M, group in points.groupby("M")}
    ax = draw(open_run(folders["small"]), "overlap")
    assert line(ax, "median") == ([1, 2, 9], [gains[M]["median"] for M in (1, 2, 9)])
    assert line(ax, "max") == ([1, 2, 9], [gains[M]["max"] for M in (1, 2, 9)])


def test_shares_in_phase_transition(folders: dict[str, Path]) -> None:
    """One bar for each S, as high as the share in per cent."""
    configs = table(folders["small"], "configs")
    ax = draw(open_run(folders["small"]), "phase")
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    assert heights == pytest.approx((100 * configs.groupby("S")["phase"].mean()).to_dict())


def test_biases(folders: dict[str, Path]) -> None:
    """Medians and largest values are those of the bias computed from tau; the label has the unit."""
    configs = table(folders["small"], "configs")
    bias = [float(sum(max(map(Fraction, tau)) - Fraction(t) for t in tau)) for tau in configs["tau"]]
    expected = {S: ranked(group.tolist()) for S, group in configs.assign(exact=bias).groupby("S")["exact"]}
    ax = draw(open_run(folders["small"]), "bias")
    flat = [drawn for drawn in ax.lines if len(set(drawn.get_ydata())) == 1 and len(drawn.get_xdata()) == 2]
    medians = {float(drawn.get_ydata()[0]) for drawn in flat}
    assert {values["median"] for values in expected.values()} <= medians
    largest = [float(drawn.get_ydata()[0]) for drawn in ax.lines if drawn.get_marker() == "x"]
    assert largest == [values["max"] for values in expected.values()]
    assert ax.get_ylabel() == "homogeneity bias [ms]"


def test_errors(folders: dict[str, Path]) -> None:
    """The worst error of each regime at each M; the tolerance is drawn; exact runs are told in words."""
    points = table(folders["strict"], "points")
    ax = draw(open_run(folders["strict"]), "error")
    for regime in SAMPLED["regimes"]:
        assert line(ax, regime)[1] == points.groupby("M")[f"rel_err_{regime}"].max().tolist()
    assert "tolerance" in [text.get_text() for text in ax.texts]
    exact = draw(open_run(folders["small"]), "error")
    assert exact.texts[0].get_text().startswith("0 at every point")


def test_axes_of_the_caller(folders: dict[str, Path]) -> None:
    """A plot draws into the axes that it is given, and returns them."""
    own = Figure().subplots()
    for kind in KINDS:
        own.clear()
        assert draw(open_run(folders["small"]), kind, own) is own
        assert own.has_data()


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files(folders: dict[str, Path], tmp_path: Path, ending: str, magic: bytes) -> None:
    """The ending chooses the format, the command prints the name, and the same figure is the same file."""
    names = [tmp_path / f"{k}.{ending}" for k in (1, 2)]
    for name in names:
        result = CliRunner().invoke(cli, ["plot", str(folders["small"]), "--kind", "phase", "--out", str(name)])
        assert (result.exit_code, result.stdout) == (0, f"{name}\n")
    assert names[0].read_bytes().startswith(magic)
    assert names[0].read_bytes() == names[1].read_bytes()


def test_a_picture_is_as_wide_as_a_column(folders: dict[str, Path], tmp_path: Path) -> None:
    """3.5 inches at 300 dots an inch."""
    from matplotlib.image import imread

    CliRunner().invoke(cli, ["plot", str(folders["small"]), "--kind", "bias", "--out", str(tmp_path / "a.png")])
    assert imread(tmp_path / "a.png").shape[:2] == (math.floor(2.6 * 300), math.floor(3.5 * 300))


@pytest.mark.parametrize("out", ["figure.gif", "figure", "nowhere/figure.png"])
def test_files_that_cannot_be(folders: dict[str, Path], tmp_path: Path, out: str) -> None:
    """Another ending or a missing folder is one line."""
    result = CliRunner().invoke(cli, ["plot", str(folders["small"]), "--kind", "bias", "--out", str(tmp_path / out)])
    assert isinstance(result.exception, HpsimError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", list(KINDS))
def test_violations_only(tmp_path: Path, kind: str) -> None:
    """A run that kept violations only is told which key keeps the rest."""
    folder = make_run(tmp_path / "run", SAMPLED | {"record": "violations"})
    with pytest.raises(RunFolderError, match="record: points"):
        draw(open_run(folder), kind)


def test_runs_that_lack_something(folders: dict[str, Path], tmp_path: Path) -> None:
    """One M has no slope, single stages have no link, and one regime has no overlap gain."""
    with pytest.raises(RunFolderError, match="two numbers of micro-batches"):
        draw(open_run(folders["one-M"]), "slope")
    alone = {key: value for key, value in SAMPLED.items() if key != "rho"} | {"stages": 1, "regimes": ["async"]}
    folder = make_run(tmp_path / "alone", alone)
    with pytest.raises(RunFolderError, match="no pipeline with a link"):
        draw(open_run(folder), "slope")
    with pytest.raises(RunFolderError, match="no regime blocking"):
        draw(open_run(folder), "overlap")


def test_an_unknown_kind(folders: dict[str, Path]) -> None:
    """The library names the kinds that there are."""
    with pytest.raises(HpsimError, match="error, bias, phase, overlap, slope"):
        draw(open_run(folders["small"]), "pie")
