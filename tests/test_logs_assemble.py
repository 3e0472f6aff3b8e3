"""Pipelines made from request logs: the paper's example, and each number a second way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from request_logs import requests, write_csv, write_json_lines

from hpsim.errors import HpsimError
from hpsim.logs import assemble, read_log
from hpsim.logs.bootstrap import Bootstrap


def log_with(path, times):
    """A log of the given service times, ``{(host, model): durations}``, without waits."""
    rows = [
        {"host": host, "model": model, "duration_s": duration, "queue_wait_s": 0}
        for (host, model), durations in times.items()
        for duration in durations
    ]
    return read_log(write_json_lines(path, rows))


@pytest.fixture
def paper_like(tmp_path):
    """A made-up log whose minima are the paper's three service times."""
    minima = {"5090": 1.13, "3090-97": 2.90, "3090-98": 2.62}
    return log_with(
        tmp_path / "log",
        {(host, "legalone:8b"): [least, least + 1, least + 3] for host, least in minima.items()},
    )


def test_the_papers_pipeline(paper_like):
    """Service times 1.13, 2.90, 2.62: bias 2.05, the GPipe formula 30.8 % over at M = 1 and 0.7 % at M = 100 (§7.2)."""
    for M, over in ((1, 30.8), (100, 0.7)):
        made = assemble(paper_like, ["5090", "3090-97", "3090-98"], M=M)
        assert made.pipeline.bias() == Fraction(205, 100)
        assert made.homogeneity_bias.value == 2.05
        makespans = {name: found.value for name, found in made.makespans.items()}
        assert makespans["T_free"] == pytest.approx((M - 1) * 2.90 + 6.65)
        assert 100 * (makespans["T_gpipe"] / makespans["T_free"] - 1) == pytest.approx(over, abs=0.05)
        assert (made.bottleneck, made.counts) == ((1,), (3, 3, 3))


def test_the_order_of_hosts_is_the_order_of_stages(paper_like):
    """Transfers belong to the links between neighbours as they were named."""
    made = assemble(paper_like, ["3090-97", "5090"], d=["0.1"], M=4)
    assert made.pipeline.tau == (Fraction("2.9"), Fraction("1.13"))
    assert made.makespans["T_async"].value == pytest.approx(3 * 2.9 + 2.9 + 0.1 + 1.13)
    assert made.makespans["T_block"].value == pytest.approx(3 * 3.0 + 3.0 + 1.13)
    assert made.full_bias.value == pytest.approx(2.9 - 1.13 - 0.1)


@pytest.mark.parametrize(
    ("unit", "d", "expected"),
    [
        ("ms", ["4", "6"], (4, 6)),
        ("ms", [4, "0.006 s"], (4, 6)),
        ("s", ["4", "6 ms"], (4, Fraction(6, 1000))),
        ("us", ["4 ms", 0.5], (4000, Fraction(1, 2))),
    ],
)
def test_transfers_are_in_the_unit_of_the_log_or_in_their_own(tmp_path, unit, d, expected):
    """A bare number is in the log's unit, as the service times are; throughputs are per second."""
    rows = [{"host": host, "model": "m", "duration_s": 31, "queue_wait_s": 0} for host in "abc"]
    log = read_log(write_json_lines(tmp_path / "log", rows), unit=unit)
    made = assemble(log, ["a", "b", "c"], d=d, M=2)
    assert (made.pipeline.tau, made.pipeline.d, made.unit) == ((31, 31, 31), expected, unit)
    assert made.makespans["T_async"].value == pytest.approx(4 * 31 + float(sum(expected)))
    per_second = {"s": 1, "ms": 1000, "us": 10**6}[unit] / 31
    rates, word = made.throughputs()
    assert (rates["async"], word) == (pytest.approx(per_second), "/s")
    assert rates["blocking"] == pytest.approx(per_second * 31 / (31 + float(max(expected))))


def test_quantiles(paper_like):
    """Any quantile of the service times can be taken: here the median and the maximum."""
    hosts = ["5090", "3090-97"]
    assert assemble(paper_like, hosts, quantile=0.5).pipeline.tau == (Fraction("2.13"), Fraction("3.9"))
    assert [tau.value for tau in assemble(paper_like, hosts, quantile=1).tau] == [4.13, 5.9]


@pytest.mark.parametrize("q", [0, 0.05, 0.5])
def test_intervals_against_real_resamples(tmp_path, rng, q):
    """Bias and makespans on resampled requests: the same intervals as from drawing requests again, host by host."""
    log = read_log(write_csv(tmp_path / "log.csv", requests(rng, {"a": (1.0, 60), "b": (1.2, 80), "c": (0.9, 40)})))
    made = assemble(log, ["a", "b", "c"], quantile=q, d=[0.5, 0.1], M=8, bootstrap=Bootstrap(20_000))
    plain = np.random.default_rng(8)
    columns = []
    for stage in log.requests:
        drawn = plain.choice(stage.duration, (20_000, len(stage.duration)))
        columns.append(np.quantile(drawn, q, axis=1))
    tau = np.stack(columns, axis=1)
    slowest = tau.max(axis=1)
    sigma_max = np.maximum.reduce([tau[:, 0] + 0.5, tau[:, 1] + 0.1, tau[:, 2]])
    expected = {
        "T_free": tau.sum(axis=1) + 7 * slowest,
        "T_async": tau.sum(axis=1) + 0.6 + 7 * slowest,
        "T_block": tau.sum(axis=1) + 0.6 + 7 * sigma_max,
        "T_gpipe": 10 * slowest,
    }
    bias = (slowest[:, None] - tau).sum(axis=1)
    pairs = [(made.makespans[name], drawn) for name, drawn in expected.items()]
    for found, drawn in [*pairs, (made.homogeneity_bias, bias), (made.full_bias, bias - 0.6)]:
        low, high = np.quantile(drawn, [0.025, 0.975])
        slack = 0.06 * (high - low) + 1e-9
        assert (found.low, found.high) == (pytest.approx(low, abs=slack), pytest.approx(high, abs=slack))
    assert made.bottleneck_shares == pytest.approx((tau == slowest[:, None]).mean(axis=0), abs=0.02)


def test_without_a_bootstrap_there_are_no_intervals(paper_like):
    """The numbers stay, the intervals are None."""
    made = assemble(paper_like, ["5090"], bootstrap=Bootstrap(0))
    assert (made.tau[0].value, made.tau[0].low, made.bottleneck_shares) == (1.13, None, ())
    assert made.makespans["T_free"].value == pytest.approx(8 * 1.13)


@pytest.fixture
def mixed(tmp_path):
    """Hosts with one model, with two, and with another one."""
    return log_with(
        tmp_path / "log", {("gpu-a", "x"): [1], ("gpu-b", "x"): [2], ("gpu-b", "y"): [3], ("gpu-c", "y"): [4]}
    )


def test_the_model_may_be_named(mixed):
    """A host of several models serves the one that was named."""
    assert [tau.value for tau in assemble(mixed, ["gpu-c", "gpu-b"], model="y").tau] == [4, 3]
    assert assemble(mixed, ["gpu-a"]).model == "x"


@pytest.mark.parametrize(
    ("hosts", "settings", "message"),
    [
        (["gpu-a", "gpu"], {}, "unknown host 'gpu'; did you mean gpu-"),
        (["zzz"], {}, "unknown host 'zzz'; allowed: gpu-a, gpu-b, gpu-c"),
        ([], {}, "no host"),
        ([""], {}, "unknown host ''"),
        (["gpu-a", "gpu-a"], {}, "host 'gpu-a' twice"),
        (["gpu-a", "gpu-b"], {}, "gpu-b serves 2 models; one of them with --model: x, y"),
        (["gpu-a", "gpu-c"], {}, "different models: x, y"),
        (["gpu-a"], {"model": "Z"}, "unknown model 'Z'; allowed: x, y"),
        (["gpu-a", "gpu-b"], {"model": "y"}, "no request for 'y' on gpu-a; hosts that served it: gpu-b, gpu-c"),
        (["gpu-a"], {"quantile": 1.5}, "quantile: 1.5"),
        (["gpu-a"], {"quantile": float("nan")}, "quantile: nan"),
        (["gpu-a"], {"d": [1]}, "1 values for 1 stages"),
        (["gpu-a", "gpu-b"], {"model": "x", "d": ["-1"]}, "-1 is negative"),
        (["gpu-a", "gpu-b"], {"model": "x", "d": ["4 parsec"]}, "d[0]: the unit 'parsec'"),
        (["gpu-a", "gpu-b"], {"model": "x", "d": ["-4 ms"]}, "is negative"),
        (["gpu-a", "gpu-b"], {"model": "x", "d": [float("inf")]}, "not a finite number"),
        (["gpu-a"], {"M": 0}, "M: 0"),
    ],
)
def test_pipelines_that_make_no_sense(mixed, hosts, settings, message):
    """Hosts, model, quantile, transfers and M are checked, and the message says what is allowed."""
    with pytest.raises(HpsimError) as caught:
        assemble(mixed, hosts, **settings)
    assert message in str(caught.value)


def test_service_times_of_zero(tmp_path):
    """A pipeline of zeros is refused as everywhere else."""
    with pytest.raises(HpsimError, match="every service time is 0"):
        assemble(log_with(tmp_path / "log", {("a", "m"): [0, 0]}), ["a"])
