"""Statistics of request logs, against the statistics module and a bootstrap that really resamples."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from request_logs import requests, write_csv, write_json_lines

from hpsim.logs import LogError, read_log, summarize
from hpsim.logs.bootstrap import (
    MANY,
    Bootstrap,
    estimate,
    quantile,
    resampled_mean,
    resampled_quantile,
)

NONE = Bootstrap(0)


def log_of(path, durations, waits=None, host="a"):
    """A log of these service times (text or numbers) on one host."""
    waits = waits or [0] * len(durations)
    rows = [
        {"host": host, "model": "m", "duration_s": duration, "queue_wait_s": wait}
        for duration, wait in zip(durations, waits, strict=True)
    ]
    return read_log(write_json_lines(path, rows))


def test_against_the_statistics_module(tmp_path, rng):
    """Counts, extremes, quantiles, mean, waits and totals, each computed a second way."""
    rows = requests(rng, {"a": (1.1, 101), "b": (2.9, 21)}, "x") + requests(rng, {"a": (0.2, 7)}, "y")
    for number, row in enumerate(rows):
        row["id"] = str(number)
    summary = summarize(read_log(write_csv(tmp_path / "log.csv", rows)), NONE)
    assert [(group.model, group.host, group.count) for group in summary.groups] == [
        ("x", "a", 101),
        ("x", "b", 21),
        ("y", "a", 7),
    ]
    for group in summary.groups:
        mine = [row for row in rows if (row["model"], row["host"]) == (group.model, group.host)]
        durations = [row["duration_s"] for row in mine]
        assert group.minimum.value == min(durations)
        assert group.maximum.value == max(durations)
        assert group.median.value == pytest.approx(statistics.median(durations), rel=1e-14)
        assert group.mean.value == pytest.approx(statistics.fmean(durations), rel=1e-14)
        twentieth = statistics.quantiles(durations, n=20, method="inclusive")[0]
        assert group.p5.value == pytest.approx(twentieth, rel=1e-12)
        assert group.waited == sum(row["queue_wait_s"] > 0 for row in mine) / len(mine)
        assert group.longest_wait == max(row["queue_wait_s"] for row in mine)
        assert group.median_total == pytest.approx(statistics.median(row["total_s"] for row in mine), rel=1e-14)
        assert group.near_minimum == sum(duration <= 1.1 * min(durations) for duration in durations)
        assert (group.minimum.low, group.mean.high) == (None, None)
    totals = summary.totals
    waits = [row["queue_wait_s"] for row in rows]
    assert totals.waited == sum(wait > 0 for wait in waits) / len(rows)
    assert (totals.longest_wait, totals.median_wait) == (max(waits), statistics.median(waits))
    assert totals.mean_wait == pytest.approx(statistics.fmean(waits), rel=1e-14)
    for name, median, longest in (
        ("duration_s", totals.median_duration, totals.longest_duration),
        ("total_s", totals.median_total, totals.longest_total),
    ):
        assert median == pytest.approx(statistics.median(row[name] for row in rows), rel=1e-14)
        assert longest == max(row[name] for row in rows)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values, q):
    """Linear interpolation between neighbours, as NumPy's default."""
    assert quantile(np.sort(values), q) == pytest.approx(np.quantile(values, q), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("q", [0, 0.05, 0.5, 0.9, 1])
@pytest.mark.parametrize("n", [1, 2, 7, 60, 500])
def test_resampled_quantiles_are_distributed_as_those_of_real_resamples(n, q):
    """Drawing order statistics gives what drawing n requests again and sorting them gives, in distribution."""
    ordered = np.sort(np.round(np.random.default_rng(1).lognormal(0, 1, n), 2))
    resamples = 8000
    ours = resampled_quantile(ordered, q, resamples, np.random.default_rng(2))
    plain = np.random.default_rng(3)
    theirs = np.quantile(plain.choice(ordered, (resamples, n)), q, axis=1)
    ours, theirs = ours.round(9), theirs.round(9)  # two ways to interpolate differ in the last bit
    grid = np.unique(np.concatenate([ours, theirs]))
    ranks = [np.searchsorted(np.sort(drawn), grid, side="right") / resamples for drawn in (ours, theirs)]
    assert np.abs(ranks[0] - ranks[1]).max() < 2.2 / np.sqrt(resamples)  # Kolmogorov–Smirnov, one in ten thousand


def test_the_minimum_stays_with_the_known_probability():
    """A resample of n contains the minimum with probability 1 - (1-1/n)^n."""
    drawn = resampled_quantile(np.arange(1.0, 21.0), 0, 100_000, np.random.default_rng(4))
    assert (drawn == 1).mean() == pytest.approx(1 - (1 - 1 / 20) ** 20, abs=0.006)


def test_resampled_means():
    """The means of resamples have the mean and, over √n, the deviation of the values; also in the normal limit."""
    for n in (400, MANY + 1):
        values = np.random.default_rng(5).exponential(2, n)
        means = resampled_mean(values, 20_000 if n == 400 else 5000, np.random.default_rng(6))
        assert means.mean() == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(n * len(means)))
        assert means.std() == pytest.approx(values.std() / np.sqrt(n), rel=0.05)


def test_an_interval_holds_the_middle_of_the_replicates():
    """Percentile method at 95 %: of the replicates 0…1000 the interval is 25…975."""
    found = estimate(3.0, np.arange(1001.0))
    assert (found.value, found.low, found.high) == pytest.approx((3, 25, 975))


def test_intervals_cover(rng):
    """Of the intervals of the mean and the median of many samples about 95 % hold the true value."""
    numbers = np.random.default_rng(7)
    held = {"mean": 0, "median": 0}
    for sample in range(300):
        values = np.sort(numbers.exponential(1, 80))
        random = np.random.default_rng(sample)
        for name, replicates, truth in (
            ("mean", resampled_mean(values, 400, random), 1.0),
            ("median", resampled_quantile(values, 0.5, 400, random), np.log(2)),
        ):
            interval = estimate(0.0, replicates)
            held[name] += interval.low <= truth <= interval.high
    assert all(0.90 <= count / 300 <= 0.98 for count in held.values())


def test_the_interval_of_a_minimum_only_reaches_upward(tmp_path, rng):
    """Nothing drawn again is shorter than the minimum or longer than the maximum."""
    (group,) = summarize(log_of(tmp_path / "log", [rng.uniform(1, 2) for _ in range(50)])).groups
    assert group.minimum.low == group.minimum.value <= group.minimum.high
    assert group.maximum.low <= group.maximum.value == group.maximum.high
    assert group.p5.low <= group.p5.value <= group.p5.high


def test_the_seed_decides(tmp_path, rng):
    """Equal seeds give equal intervals, whatever else is in the log and in whatever order; other seeds do not."""
    rows = requests(rng, {"a": (1, 60), "b": (2, 60)})
    alone = [row for row in rows if row["host"] == "a"]
    both = summarize(read_log(write_csv(tmp_path / "both.csv", rows))).groups[0]
    again = summarize(read_log(write_csv(tmp_path / "alone.csv", alone[::-1])), Bootstrap(1000, 0)).groups[0]
    assert both == again
    other = summarize(read_log(write_csv(tmp_path / "both.csv", rows)), Bootstrap(1000, 1)).groups[0]
    assert both.median.value == other.median.value
    assert both.median != other.median


@pytest.mark.parametrize(("resamples", "seed"), [(99, 0), (-1, 0), (100_001, 0), (100, -1), (100, 2**64)])
def test_settings_of_the_bootstrap(resamples, seed):
    """Too few resamples for a percentile, too many, or no seed: refused."""
    with pytest.raises(LogError):
        Bootstrap(resamples, seed)


def flags(log):
    return [flag for group in summarize(log, NONE).groups for flag in group.flags]


def test_a_sound_minimum_is_not_flagged(tmp_path):
    """Twenty requests, five of them near the minimum, half of them without a wait: no doubt."""
    durations = [1, 1.02, 1.05, 1.08, 1.1, *[2.0] * 15]
    assert flags(log_of(tmp_path / "log", durations, [0] * 10 + [1] * 10)) == []


@pytest.mark.parametrize(
    ("durations", "waits", "said"),
    [
        ([1.0] * 19, [0] * 19, "the minimum rests on 19 requests in all, fewer than 20"),
        ([1.0], [0], "the minimum rests on 1 request in all, fewer than 20"),
        ([1, *[2.0] * 30], [0] * 31, "the minimum rests on one request: no other lies within 10 % of it"),
        ([1, 1.1, 1.1, 1.1, *[2.0] * 30], [0] * 34, "on a handful: only 4 requests lie within 10 % of it"),
        ([1, *[1.01] * 30], [0.25, *[0] * 30], "the shortest request itself waited 0.25 s"),
        ([1.0] * 25, [0] * 12 + [1] * 13, "saturated: 52 % of the requests waited"),
        ([0, *[0.0] * 30], [0] * 31, "the minimum is 0"),
    ],
)
def test_a_doubtful_minimum_is_flagged(tmp_path, durations, waits, said):
    """Each reason for doubt is said in words, and alone when it is alone."""
    (flag,) = flags(log_of(tmp_path / "log", durations, waits))
    assert said in flag


def test_of_several_shortest_requests_one_without_a_wait_is_enough(tmp_path):
    """A tie for the minimum is flagged only when every one of them waited."""
    assert flags(log_of(tmp_path / "log", [1.0] * 30, [1, *[0] * 29])) == []
