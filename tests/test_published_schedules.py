"""Schedules published by others come out of the plain event-graph twin, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hpsim.exact import exact
from hpsim.reference.event_graph import makespan, schedule

Case = Callable[[str], Any]


def in_order(instance: dict[str, Any], sequence: list[int]) -> list[list[int]]:
    """Rows of service times in the order in which the jobs go through."""
    assert sorted(sequence) == list(range(instance["n"]))
    return [instance["p_jobs_by_machines"][job] for job in sequence]


def test_permutation_flow_shops(shared_case: Case) -> None:
    """Taillard's instances with the sequences of a published search: stated makespans and total flow times."""
    checked = 0
    for instance in shared_case("flowshop/taillard_dev.json")["instances"]:
        for solution in instance["makespan_solutions"]:
            tau = in_order(instance, solution["sequence"])
            assert makespan(tau, None, instance["n"]) == solution["stated_makespan"], instance["name"]
            checked += 1
        for solution in instance["flowtime_solutions"]:
            tau = in_order(instance, solution["sequence"])
            total = sum(row[-1] for row in schedule(tau, None, instance["n"]).finish)
            assert total == solution["stated_total_flowtime"], instance["name"]
            checked += 1
    assert checked >= 40


def test_small_flow_shops_with_an_optimal_sequence(shared_case: Case) -> None:
    """An optimal sequence of a small instance takes the optimum that two others state."""
    for instance in shared_case("flowshop/vrf_small_optimum_dev.json")["instances"]:
        tau = in_order(instance, instance["an_optimal_sequence_own"])
        assert makespan(tau, None, instance["n"]) == instance["stated_optimum_pbb"] == instance["stated_best_fontanf"]
    for case in shared_case("flowshop/small_optimal_dev.json")["cases"]:
        assert makespan(in_order(case, case["sequence"]), None, case["n"]) == case["stated_makespan"], case["source"]


def test_blocking_flow_shops(shared_case: Case) -> None:
    """Without any place between machines Taillard's instances take the stated makespan; with room, the other one."""
    for instance in shared_case("blocking/taillard_blocking_dev.json")["instances"]:
        tau, n = in_order(instance, instance["sequence"]), instance["n"]
        assert makespan(tau, None, n, buffers=0) == instance["stated_blocking_makespan"], instance["name"]
        assert makespan(tau, None, n) == instance["same_sequence_unblocked_makespan_own"], instance["name"]


def test_bounded_lines_run_through_ciw(shared_case: Case) -> None:
    """Every service start, departure and blocked time that Ciw recorded on 40 lines with 0 to 20 places."""
    cases = shared_case("blocking/ciw_buffers_dev.json")["cases"]
    for case in cases:
        tau = case["p_jobs_by_stages"]
        line = schedule(tau, None, len(tau), buffers=[None, *case["buffers_between"]], release=case["arrivals"])
        assert line.start == case["ciw_service_start"], case["name"]
        assert line.depart == line.release == case["ciw_departure_times"], case["name"]
        blocked = [
            [departs - finishes for departs, finishes in zip(*rows, strict=True)]
            for rows in zip(line.depart, line.finish, strict=True)
        ]
        assert blocked == case["ciw_time_blocked"], case["name"]
        assert line.makespan == case["ciw_makespan"], case["name"]
    assert len(cases) == 40


def test_links_as_stations_are_links_with_one_channel(shared_case: Case) -> None:
    """A link that Ciw ran as a station with room before it is our link that carries one transfer at a time."""
    cases = {case["name"]: case for case in shared_case("blocking/ciw_buffers_dev.json")["cases"]}
    rows = cases["linked_S4_link2-7-2_b1"]["p_jobs_by_stages"]
    tau, d = [row[0::2] for row in rows], [row[1::2] for row in rows]
    roomy = schedule(rows, None, len(rows))
    linked = schedule(tau, d, len(rows), channels=1)
    assert [row[0::2] for row in roomy.start] == linked.start
    assert [row[1::2] for row in roomy.start] == linked.sent


def test_parts_through_manufacturing_lines(shared_case: Case) -> None:
    """As many parts leave each line within the given time as a manufacturing simulator counted."""
    for case in shared_case("blocking/nist_simprocesd_lines.json")["cases"]:
        tau, duration = case["cycle_times"], case["duration"]
        M = duration // max(tau) + 1  # more cannot leave
        leaves = [row[-1] for row in schedule(tau, None, M, buffers=[None, *case["buffers_between"]]).finish]
        assert sum(time <= duration for time in leaves) == case["simprocesd_parts"], case


def test_pipelines_whose_transfers_hold_both_ends(shared_case: Case) -> None:
    """Stated completions of LLM forward pipelines; with zero transfers there they need no place, so async."""
    checked = 0
    for case in shared_case("pipeline/forward_blocking_dev.json")["cases"]:
        if "completion" not in case["stated"]:
            continue
        tau = [batch["compute"] for batch in case["microbatches"]]
        d = [batch["comm"] for batch in case["microbatches"]]
        times = [time for row in d for time in row]
        if any(times) and not all(times):
            continue
        knobs = {"overlap": 0, "buffers": 0} if any(times) else {}
        completion = [row[-1] for row in schedule(tau, d, len(tau), **knobs).finish]
        assert completion == case["stated"]["completion"], case["id"]
        checked += 1
    assert checked == 5


def test_waves_and_decode_feedback(shared_case: Case) -> None:
    """Two waves without draining are one window of a wave's size; a lone micro-batch comes round after 2.1."""
    cases = {case["id"]: case for case in shared_case("pipeline/forward_blocking_dev.json")["cases"]}
    for name in ("repeated-wave-pp1", "repeated-wave-pp2"):
        case = cases[name]
        S, W, stated = case["stages"], case["microbatches_per_wave"], case["stated"]
        waves = schedule([case["compute"]] * S, [case["comm"]] * (S - 1), 2 * W, window=W)
        assert waves.makespan == stated["repeated_makespan"]
        assert [row[-1] for row in waves.finish[W:]] == stated["steady_wave_completions"]
        assert waves.start[W][0] == stated["steady_wave_start"]
        assert waves.start[W][0] - waves.start[0][0] == stated["feedback_period"]
    lone = cases["feedback-single-microbatch"]
    tau, d = ([exact(x) for x in lone["microbatches"][0][key]] for key in ("compute", "comm"))
    start = [row[0] for row in schedule(tau, d, 3, window=1).start]
    assert [start[1] - start[0], start[2] - start[1]] == [exact(lone["stated"]["period"])] * 2


def test_published_small_pipelines_in_every_regime(shared_case: Case) -> None:
    """The right answers of the small pipelines, rendezvous among them, and the throughput with a window of 4."""
    knobs: dict[str, dict[str, Any]] = {
        "T_async": {},
        "T_blocking": {"overlap": 0},
        "T_rendezvous": {"overlap": 0, "buffers": 0},
        "T_partial": {"overlap": Fraction(1, 2)},
    }
    checked = 0
    for case in shared_case("pipelines.json")["cases"]:
        tau, d = ([exact(x) for x in case[key] or ()] for key in ("tau", "d"))
        for name in knobs.keys() & case["expect"].keys():
            assert makespan(tau, d, case["M"], **knobs[name]) == exact(case["expect"][name]), case["id"]
            checked += 1
        if "window_4_throughput_ratio_to_full" in case["expect"]:
            rounds = (41, 81)  # differences over whole windows are the steady slope
            open_, tight = ([makespan(tau, d, M, window=W) for M in rounds] for W in (None, 4))
            ratio = (open_[1] - open_[0]) / (tight[1] - tight[0])
            assert round(float(ratio), 4) == case["expect"]["window_4_throughput_ratio_to_full"]
            checked += 1
    assert checked >= 12
