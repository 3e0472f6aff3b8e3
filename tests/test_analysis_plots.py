"""``hpsim plot``: what is drawn is what pandas computes from the tables, labelled, and without overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from analysis_runs import FIGURE_3, SAMPLED, STRICT, make_run, ranked, table
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from hpsim.analysis.figure import FORMS, KINDS, draw, save_pipelines
from hpsim.analysis.plots.gpipe import plot_pipelines
from hpsim.analysis.plots.style import DARK, LIGHT, MOST_LINES, THEMES, Theme, folded, look, plain, spread
from hpsim.analysis.run import open_run
from hpsim.cli import cli
from hpsim.errors import HpsimError, RunFolderError
from hpsim.pipeline import Pipeline
from hpsim.regime import Regime

RUNS: dict[str, dict[str, Any]] = {
    "small": SAMPLED,
    "figure-3": FIGURE_3,
    "strict": STRICT,
    "hand-crafted": {"name": "hand-crafted", "pipelines": "hand_crafted", "microbatches": [1, 8, 100]},
    "one-M": SAMPLED | {"name": "one-M", "microbatches": [8]},
    "many-M": SAMPLED | {"name": "many-M", "configs": 20, "microbatches": list(range(1, 60))},
    "six": SAMPLED
    | {
        "name": "six",
        "regimes": [
            *("async", "blocking", "partial"),
            {"name": "a_b_c", "buffers": 1},
            {"name": "w", "window": 2},
            {"name": "a_rather_long_name_of_forty_characters_x", "channels": 1},
        ],
    },
    "free": SAMPLED | {"name": "free", "regimes": ["free"], "d": {"constant": 0}},
}
RUNS["free"].pop("rho")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {name: make_run(root / name, data) for name, data in RUNS.items()}


def line(ax: Axes, label: str) -> tuple[list[float], list[float]]:
    (found,) = (drawn for drawn in ax.lines if drawn.get_label() == label)
    return list(map(float, found.get_xdata())), list(map(float, found.get_ydata()))


def whole(ax: Axes) -> Figure:
    """The figure that ``ax`` is in, laid out."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return figure


def panel(ax: Axes, title: str) -> Axes:
    """The small axes of this title, however it is folded."""
    (found,) = (small for small in whole(ax).axes if small.get_title(loc="left").replace("\n", "") == title)
    return found


def texts(ax: Axes) -> Iterator[Text]:
    """Every text that shows; tick labels beyond the ends of an axis do not."""
    figure = whole(ax)
    for part in (figure, *figure.subfigs):
        yield from part.texts
    for axes in figure.axes:
        if not axes.axison:
            continue
        for axis, (low, high) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
            yield axis.label
            yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
        yield from (axes.title, axes._left_title, *axes.texts)  # type: ignore[attr-defined]


def labels(ax: Axes) -> tuple[str, str]:
    """What stands below and beside the axes, or the panels."""
    if ax.axison:
        return ax.get_xlabel(), ax.get_ylabel()
    (part,) = whole(ax).subfigs
    (below,) = {part.get_supxlabel(), *(small.get_xlabel() for small in part.axes)} - {""}
    return below, part.get_supylabel()


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(RUNS))
def test_labels_fit_and_do_not_overlap(folders: dict[str, Path], name: str, kind: str) -> None:
    """Both axes are labelled, every text lies inside the figure, and no two texts touch."""
    try:
        ax = draw(open_run(folders[name]), kind)
    except RunFolderError:
        assert (name, kind) in {("one-M", "slope"), ("free", "overlap")}
        return
    assert all(labels(ax))
    boxes = [(t.get_text(), Text.get_window_extent(t)) for t in texts(ax) if t.get_text() and t.get_visible()]
    frame = whole(ax).bbox
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
    """The median and the largest T / T_async at each M are the ranked values, in a panel for each other regime."""
    for run in ("small", "six"):
        points = table(folders[run], "points")
        ax = draw(open_run(folders[run]), "overlap")
        others = [name.removeprefix("T_") for name in points.columns if name.startswith("T_")]
        others = [name for name in others if name not in ("gpipe", "async")]
        assert len(others) == {"small": 2, "six": 5}[run]
        for regime in others:
            gains = {M: ranked((group[f"T_{regime}"] / group["T_async"]).tolist()) for M, group in points.groupby("M")}
            small = panel(ax, regime)
            assert line(small, "median") == ([1, 2, 9], [gains[M]["median"] for M in (1, 2, 9)])
            assert line(small, "max") == ([1, 2, 9], [gains[M]["max"] for M in (1, 2, 9)])
    assert labels(ax) == ("micro-batches M", "makespan / T_async")


def test_one_overlap_gain_has_no_panels(folders: dict[str, Path]) -> None:
    """Blocking alone beside async is drawn in the axes themselves."""
    ax = draw(open_run(folders["figure-3"]), "overlap")
    assert line(ax, "max")[1][0] == 1
    assert ax.get_ylabel() == "T_blocking / T_async (overlap gain)"


def test_more_than_five_regimes_have_panels(folders: dict[str, Path]) -> None:
    """Each of six has its own line over those of the others in grey; up to five stand together with their names."""
    ax = draw(open_run(folders["six"]), "slope")
    small = panel(ax, "a_b_c")
    own = [drawn for drawn in small.lines if drawn.get_label() == "a_b_c"]
    assert [drawn.get_color() for drawn in own] == [LIGHT.quiet, LIGHT.blue]
    assert sorted({drawn.get_color() for drawn in small.lines}) == sorted([LIGHT.quiet, LIGHT.blue, LIGHT.ink])
    assert len([axes for axes in whole(ax).axes if axes.axison]) == 6
    together = draw(open_run(folders["small"]), "slope")
    named = {text.get_text(): text.get_color() for text in together.texts}
    assert named == {"async": LIGHT.blue, "blocking": LIGHT.rust, "partial": LIGHT.green}
    assert together.get_legend() is None


def heterogeneity(tau: Any) -> int:
    """The class of a configuration: balanced, below 2, 5, 20, or more."""
    ratio = max(tau) / min(tau) if min(tau) > 0 else math.inf
    return int(ratio > 1) + sum(ratio >= edge for edge in (2, 5, 20))


def test_errors_of_gpipe(folders: dict[str, Path]) -> None:
    """The median of T_gpipe / T - 1 by class of heterogeneity and M, with transfers and, by Theorem 1, without."""
    configs, points = (table(folders["small"], name) for name in ("configs", "points"))
    configs["class"] = [heterogeneity(tau) for tau in configs["tau"]]
    joined = points.merge(configs[["config_id", "class", "tau_max", "tau_sum"]], on="config_id")
    joined["free"] = joined["tau_sum"] + (joined["M"] - 1) * joined["tau_max"]
    ax = draw(open_run(folders["small"]), "gpipe")
    names = ["1×", "1–2×", "2–5×", "5–20×", "≥ 20×"]
    assert len(set(joined["class"])) == 5
    for title, makespan in (("without transfers", "free"), ("against T_async, with transfers", "T_async")):
        joined["error"] = 100 * (joined["T_gpipe"] / joined[makespan] - 1)
        for k, name in enumerate(names):
            rows = joined[joined["class"] == k].groupby("M")["error"]
            x, y = line(panel(ax, title), name)
            assert x == [1, 2, 9]
            assert y == pytest.approx([ranked(errors.tolist())["median"] for _, errors in rows], rel=1e-12, abs=1e-12)
    assert max(line(panel(ax, "without transfers"), "≥ 20×")[1]) > 100


def test_few_ratios_are_classes_of_their_own(folders: dict[str, Path]) -> None:
    """The pipeline [0.5, 1, 1, 5] is one line, 10 to 1: at M = 1 the formula says 20 instead of 7.5."""
    ax = draw(open_run(folders["figure-3"]), "gpipe")
    assert line(panel(ax, "without transfers"), "10×")[1][0] == pytest.approx(100 * (20 / 7.5 - 1))
    assert [text.get_text() for text in panel(ax, "without transfers").texts] == ["10×"]


def test_without_transfers_there_is_one_panel(folders: dict[str, Path], tmp_path: Path) -> None:
    """Where transfers change nothing the error is drawn once, and says against which makespan."""
    ax = draw(open_run(folders["free"]), "gpipe")
    assert ax.axison
    assert ax.get_title(loc="left") == "median by slowest / fastest stage; against T_free"
    both = {
        **RUNS["free"],
        "regimes": ["free", "async"],
        "arithmetic": "float64",
        "d": {"constant": 3},
        "edge_cases": 0,
    }
    ax = draw(open_run(make_run(tmp_path / "both", both)), "gpipe")
    assert panel(ax, "against T_async, with transfers").has_data()
    ax = draw(open_run(make_run(tmp_path / "none", {**both, "d": {"constant": 0}})), "gpipe")
    assert ax.get_title(loc="left") == "median by slowest / fastest stage; against T_async"


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
    for kind in KINDS:
        own = Figure().subplots()
        assert draw(open_run(folders["small"]), kind, own) is own
        assert any(axes.has_data() for axes in whole(own).axes)
    with pytest.raises(HpsimError, match="axes that stand in no grid"):
        draw(open_run(folders["six"]), "slope", Figure().add_axes((0, 0, 1, 1)))


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
    with pytest.raises(RunFolderError, match="no regime beside async"):
        draw(open_run(folder), "overlap")


def test_an_unknown_kind(folders: dict[str, Path]) -> None:
    """The library names the kinds that there are."""
    with pytest.raises(HpsimError, match="error, bias, phase, overlap, slope, gpipe"):
        draw(open_run(folders["small"]), "pie")


def linear(color: str) -> np.ndarray[Any, Any]:
    """``#rrggbb`` in linear light."""
    channels = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
# Machado, Oliveira and Fernandes 2009, severity 1: what is left of linear RGB
SEEN_BY = {
    "everybody": np.eye(3),
    "deuteranopes": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopes": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopes": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(light: Any) -> Any:
    """CIE L*a*b* of linear RGB under D65."""
    x = XYZ @ light / np.array([0.95047, 1, 1.08883])
    f = np.where(x > 216 / 24389, np.cbrt(np.maximum(x, 0)), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colors: list[str], eyes: str) -> float:
    """The smallest distance of two colours in L*a*b*, as these eyes see them."""
    seen = [lab(np.clip(np.array(SEEN_BY[eyes]) @ linear(color), 0, 1)) for color in colors]
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG."""
    low, high = sorted(float(XYZ[1] @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_the_palette_is_told_apart_by_everybody(theme: Theme) -> None:
    """Lines differ in grey by 10 of 100 steps of lightness, and by 15 and more for every kind of colour vision."""
    lines = list(theme.lines.values())
    assert len(lines) == MOST_LINES == 5
    for colors in (lines, list(theme.shades)):
        lightness = sorted(float(lab(linear(color))[0]) for color in colors)
        assert min(np.diff(lightness)) > 10
        assert min(contrast(color, theme.paper) for color in colors) > 3
    assert nearest(lines, "everybody") > 30
    assert nearest(lines, "deuteranopes") > 24
    assert nearest(lines, "protanopes") > 24
    assert nearest(lines, "tritanopes") > 15
    bars = [theme.blue, theme.amber, theme.rust, theme.pale]
    assert min(nearest(bars, eyes) for eyes in SEEN_BY) > 18
    assert contrast(theme.quiet, theme.paper) > 4.5
    shades = [float(contrast(color, theme.paper)) for color in theme.shades]
    assert shades == sorted(shades)


@pytest.mark.parametrize("kind", list(KINDS))
def test_dark_figures(folders: dict[str, Path], kind: str) -> None:
    """The dark form has the dark paper and none of the colours of the light one; axes say which form they want."""
    for name in ("small", "six"):
        ax = draw(open_run(folders[name]), kind, form="dark")
        assert to_hex(whole(ax).get_facecolor()) == DARK.paper
        used = {to_hex(c) for axes in whole(ax).axes for drawn in axes.lines for c in [drawn.get_color()]}
        used |= {to_hex(text.get_color()) for text in texts(ax) if text.get_text()}
        light = {LIGHT.ink, LIGHT.quiet, *LIGHT.lines.values(), *LIGHT.shades}
        assert not used & light
        own = Figure(facecolor=DARK.paper).subplots()
        own.set_facecolor("none")
        drawn = draw(open_run(folders[name]), kind, own)
        assert not {to_hex(line.get_color()) for axes in whole(drawn).axes for line in axes.lines} & light


def test_the_command_draws_dark(folders: dict[str, Path], tmp_path: Path) -> None:
    """``--style dark`` is another file than ``--style light``, which is the default."""
    images = []
    for flags in ([], ["--style", "light"], ["--style", "dark"]):
        out = tmp_path / "a.svg"
        CliRunner().invoke(cli, ["plot", str(folders["small"]), "--kind", "phase", "--out", str(out), *flags])
        images.append(out.read_text(encoding="utf-8"))
    assert images[0] == images[1]
    assert DARK.paper in images[2]
    assert DARK.paper not in images[0]
    assert tuple(THEMES) == FORMS


HOSTILE = {
    "formula": r"$\frac{a}$",
    "dollar": "$",
    "two dollars": "a $x$ b_{",
    "backslash": "\\$ \\",
    "return": "a\rb",
    "newline": "a\nb\n\nc",
    "escape": "\x1b[31mred",
    "right to left": "\u202eabc\u200f",
    "long": "m" * 1000,
    "wide": "W" * 1000,
    "no glyph": "毫秒\U0010ffff\U000e0041𓀀",
    "comment": "--> <b>&",
    "combining": "a" + "\u0301" * 300,
    "blank": " \t\n",
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_texts_of_users_are_shown_as_they_are(text: str) -> None:
    """A unit or a name is never a formula, moves nothing, warns of nothing, and takes little room; in each format."""
    with matplotlib.rc_context(look("light")):
        shown, lines = plain(text), folded(text).split("\n")
        assert plain(text, 30).endswith("…") or len(text) < 20
        assert len(lines) <= 3
        assert all(character.isprintable() for line in [shown, *lines] for character in line)
        ax = Figure(figsize=(3.5, 2.6), layout="constrained").subplots()
        ax.set(xlabel=shown, title="\n".join(lines))
        whole(ax)
        assert ax.title.get_window_extent().width <= 64 / 72 * ax.figure.dpi
        assert ax.xaxis.label.get_window_extent().width <= 62 / 72 * ax.figure.dpi
    named = [(text or "x", Pipeline([1, 2])), ("plain", Pipeline([1, 3]))]
    with matplotlib.rc_context(look("light")):
        for many in (named, named * 4):
            whole(plot_pipelines(many, 8))


def test_what_is_literal_in_a_text() -> None:
    """Dollars stand for themselves, control characters are blanks, and what is too long ends with three dots."""
    with matplotlib.rc_context(look("light")):
        assert plain("$x$") == r"\$x\$"
        assert plain("a\r\n\x1b[31mb") == "a [31mb"
        assert plain("milliseconds") == "milliseconds"
        assert plain("m" * 1000, 20) == "m" + "…"
        assert plain("\U0010ffff") == ""
        assert plain("𓀀") == "□"
        assert folded("24-20-16 layers of a model") == "24-20-16\nlayers of a\nmodel"
        assert folded("abc") == "abc"


@pytest.mark.parametrize("unit", [r"$\frac{a}$", "m" * 200, "毫秒", "_{^$", "a\u202eb"])
def test_hostile_units_of_runs(tmp_path: Path, unit: str) -> None:
    """Every kind of figure, and each format, is drawn for a run whose unit is no plain word."""
    folder = make_run(tmp_path / "run", SAMPLED | {"unit": unit, "configs": 10})
    figure_3 = make_run(tmp_path / "figure", FIGURE_3 | {"unit": unit})
    drawn = [(folder, kind, "svg") for kind in KINDS if kind != "slope"]
    drawn += [(figure_3, "slope", ending) for ending in ("svg", "png", "pdf")]
    for run, kind, ending in drawn:
        result = CliRunner().invoke(cli, ["plot", str(run), "--kind", kind, "--out", str(tmp_path / f"a.{ending}")])
        assert (result.exit_code, result.exception) == (0, None)


def test_names_keep_apart() -> None:
    """Names of the same height are stacked around their mean, inside the axes; those with room stay where they are."""
    assert spread([0.5], [0.1]) == [0.5]
    assert spread([0.2, 0.8], [0.1, 0.1]) == pytest.approx([0.2, 0.8])
    assert spread([0.5, 0.5, 0.5], [0.1, 0.1, 0.1]) == pytest.approx([0.4, 0.5, 0.6])
    assert spread([0, 0], [0.1, 0.3]) == pytest.approx([0.05, 0.25])
    assert spread([1, 0.99, 0.1], [0.1, 0.1, 0.1]) == pytest.approx([0.95, 0.85, 0.1])
    assert spread([0.3, 0.3], [0.8, 0.8]) == pytest.approx([0.4, 1.2])


def test_errors_of_named_pipelines() -> None:
    """Each curve is T_gpipe / T - 1 of its pipeline; up to five stand together, more have panels; M is told."""
    five = [(f"p{k}", Pipeline([1, k + 1], d=[k])) for k in range(5)]
    ax = plot_pipelines(five, 8)
    values = {name: 100 * (float(p.gpipe(8)) / float(p.async_(8)) - 1) for name, p in five}
    assert [text.get_text() for text in ax.texts] == [f"{name}\n{value:+z.1f} %" for name, value in values.items()]
    curves = [dict(zip(*map(list, drawn.get_data()), strict=True)) for drawn in ax.lines if len(drawn.get_xdata()) > 2]
    assert [curve[8] for curve in curves] == pytest.approx(list(values.values()))
    assert [curve[1] for curve in curves] == pytest.approx(
        [100 * (2 * (k + 1) / (k + 2 + k) - 1) for k in range(5)], abs=1e-12
    )
    six = plot_pipelines([*five, ("p5", Pipeline([1, 1]))], 8)
    assert [text.get_text() for text in panel(six, "p2").texts] == [f"{values['p2']:+z.1f} %"]
    blocking = plot_pipelines(five[1:2], 8, Regime(overlap=0))
    p = five[1][1]
    assert blocking.texts[0].get_text() == f"p1\n{100 * (float(p.gpipe(8)) / float(p.block(8)) - 1):+.1f} %"


@pytest.mark.parametrize("M", [1, 7, 10**6, 10**30])
def test_pipelines_at_any_number_of_micro_batches(M: int, tmp_path: Path) -> None:
    """One micro-batch and very many are drawn, the same bytes each time, and all texts fit."""
    named = [("", Pipeline([1, 2, 4], d=[1, 2]))]
    for name in ("a.svg", "b.svg"):
        save_pipelines(named, M, None, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with matplotlib.rc_context(look("light")):
        ax = plot_pipelines(named, M)
    frame = whole(ax).bbox
    assert all(frame.x0 <= t.get_window_extent().x0 <= t.get_window_extent().x1 <= frame.x1 for t in ax.texts)


def test_more_pipelines_than_panels() -> None:
    """A figure has thirty panels at most, and says so."""
    with pytest.raises(HpsimError, match="31 pipelines; at most 30 pipelines in one figure"):
        plot_pipelines([("p", Pipeline([1, 2]))] * 31, 8)


def test_calc_draws(tmp_path: Path) -> None:
    """``calc --plot`` prints its page as always, and tells the figure's name apart from it."""
    out = tmp_path / "clusters.svg"
    plain_page = CliRunner().invoke(cli, ["calc", "paper_clusters"])
    result = CliRunner().invoke(cli, ["calc", "paper_clusters", "--plot", str(out)])
    assert (result.exit_code, result.stdout, result.stderr) == (0, plain_page.stdout, f"{out}\n")
    assert "table1-50x" in out.read_text(encoding="utf-8")
    wrong = CliRunner().invoke(cli, ["calc", "paper_clusters", "--plot", str(tmp_path / "a.gif")])
    assert isinstance(wrong.exception, HpsimError)
    assert wrong.stdout == ""
