"""The benchmark measures the same battles in every row, and says what it found as plain data."""

from __future__ import annotations

import io
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from bridge.benchmarks.child import Child, RowFailed
from bridge.benchmarks.cold import ColdStarts, measure_cold
from bridge.benchmarks.machine import find_patches
from bridge.benchmarks.render import render
from bridge.benchmarks.rows import (
    QUICK,
    ROWS,
    Plan,
    RowSpec,
    Source,
    fastest,
    patch_row,
    patch_rows,
    simulator_rows,
    start_limit,
    steady_row,
    vanilla_row,
)
from bridge.benchmarks.rows import start_process_per_battle as start_slow
from bridge.benchmarks.run import Outcome, run
from bridge.benchmarks.sample import Sample, Spread, compare, summarise, together, total
from bridge.benchmarks.showdown_server import BaselineFailed
from bridge.runtime import Runtime, find_runtime

ROOT = Path(__file__).parents[2]
FIGURES = (
    "battles_per_s",
    "decisions_per_s",
    "python_cpu_ms_per_decision",
    "node_cpu_ms_per_decision",
    "memory",
)


def sample(**changes: Any) -> Sample:
    figures = {
        "battles": 10,
        "decisions": 1000,
        "turns": 500,
        "wall": 2.0,
        "python_cpu": 0.5,
        "node_cpu": 1.5,
        "python_memory": 100,
        "node_memory": 200,
    }
    return Sample(**figures | changes)


def test_a_sample_divides_what_it_counted() -> None:
    measured = sample()
    assert measured.battles_per_s == 5
    assert measured.decisions_per_s == 500
    assert measured.python_cpu_ms_per_decision == 0.5
    assert measured.node_cpu_ms_per_decision == 1.5
    assert measured.cpu_ms_per_decision == 2
    assert measured.memory == 300


def test_a_summary_has_the_median_of_each_figure_and_its_spread() -> None:
    summary = summarise([sample(wall=1.0), sample(wall=2.0), sample(wall=4.0)])
    assert summary["battles_per_s"] == 5
    assert summary["spread"]["battles_per_s"] == [2.5, 10]


def test_a_ratio_compares_neighbours_so_that_drift_cancels_out() -> None:
    drift = [1.0, 2.0, 4.0]
    fast = [sample(wall=wall) for wall in drift]
    slow = [sample(wall=2 * wall) for wall in drift]
    assert compare(fast, slow, lambda s: s.battles_per_s) == Spread(2.0, 2.0, 2.0)


def test_samples_one_after_another_add_up_and_those_at_the_same_time_share_the_clock() -> None:
    samples = [sample(wall=1.0, node_memory=5), sample(wall=2.0, node_memory=7)]
    one_by_one, at_once = total(samples), together(samples)
    for both in (one_by_one, at_once):
        assert (both.battles, both.decisions, both.turns) == (20, 2000, 1000)
        assert (both.python_cpu, both.node_cpu) == (1.0, 3.0)
    assert (one_by_one.wall, one_by_one.node_memory) == (3.0, 7)
    assert (at_once.wall, at_once.node_memory) == (2.0, 12)


def test_a_comparison_without_a_limit_has_nothing_to_reach() -> None:
    outcome = Outcome({}, QUICK, ROWS)
    outcome.samples = {"limit_per_core": [sample()], "pool": [sample()]}
    [comparison] = outcome.comparisons()
    assert comparison.is_reached is None


def test_a_comparison_reaches_its_target_only_within_its_limit() -> None:
    outcome = Outcome({}, QUICK, ROWS)
    outcome.samples = {
        "limit_vanilla": [sample(python_cpu=0.0)],
        "pool_vanilla": [sample(python_cpu=0.7)],
    }
    [comparison] = outcome.comparisons()
    assert comparison.measured.median == pytest.approx(2.2 / 1.5)
    assert not comparison.is_reached
    outcome.samples["pool_vanilla"] = [sample(python_cpu=0.3)]
    assert outcome.comparisons()[0].is_reached


def test_what_the_bridge_costs_beside_turbo_is_told_and_has_no_target() -> None:
    outcome = Outcome({}, QUICK, ROWS)
    outcome.samples = {"limit": [sample()], "pool": [sample()], "limit_per_core": [sample()]}
    assert [comparison.is_reached for comparison in outcome.comparisons()] == [None, None]


def test_the_pool_is_to_gain_from_turbo_and_not_to_grow() -> None:
    outcome = Outcome({}, QUICK, ROWS)
    slow, fast = sample(python_cpu=1.0, node_cpu=11.0), sample(python_cpu=1.0, node_cpu=2.0)
    outcome.samples = {"pool": [fast], "pool_vanilla": [slow]}
    found = {comparison.target.text: comparison for comparison in outcome.comparisons()}
    assert found["CPU per decision, pool_vanilla / pool"].measured.median == 4
    assert found["CPU per decision, pool_vanilla / pool"].is_reached
    assert found["memory of Node, pool / pool_vanilla"].is_reached


def test_turbo_is_to_gain_more_in_the_format_that_matters_most() -> None:
    outcome = Outcome({}, QUICK, ROWS)
    for name in ("gen9randombattle", "gen1randombattle"):
        outcome.samples |= {
            name: [sample(node_cpu=1.0, node_memory=110)],
            f"{name}_vanilla": [sample(node_cpu=4.0, node_memory=100)],
        }
    first, ninth = outcome.duels()
    assert (first.format, first.cpu.is_reached) == ("gen1randombattle", True)
    assert (ninth.format, ninth.cpu.is_reached) == ("gen9randombattle", False)
    assert not first.memory.is_reached
    shared = ["400.0", "100.0", "4.00", "4.00 to 4.00"]
    assert cells(outcome)[2:] == [
        ["gen1randombattle", *shared, "at least 3", "0", "0", "missed: memory"],
        ["gen9randombattle", *shared, "at least 4.5", "0", "0", "missed: CPU, memory"],
    ]


def cells(outcome: Outcome) -> list[list[str]]:
    """What is printed in tables, line by line."""
    console = Console(width=200, file=io.StringIO())
    render(outcome, console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.split("|")[1:-1] for line in console.file.getvalue().splitlines() if "|" in line]
    return [[cell.strip() for cell in line] for line in lines]


def test_a_patch_is_compared_with_the_vanilla_that_was_measured_beside_it() -> None:
    rows = patch_rows(["first", "second"])
    outcome = Outcome({}, QUICK, rows)
    for patch, vanilla in (("first", 2.0), ("second", 3.0)):
        row = patch_row("gen9randombattle", patch)
        outcome.samples |= {
            row: [sample(node_cpu=1.0)],
            vanilla_row(row): [sample(node_cpu=vanilla)],
        }
    assert cells(outcome)[2:] == [["first", "2.00"], ["second", "3.00"]]


def test_a_patch_whose_vanilla_was_not_measured_has_no_figure() -> None:
    row = patch_row("gen9randombattle", "first")
    outcome = Outcome({}, QUICK, patch_rows(["first"]), samples={row: [sample()]})
    assert cells(outcome)[2:] == [["first", ""]]


def test_cold_starts_compare_neighbours() -> None:
    times = {"hello": [300.0, 600.0], "answer": [400.0, 900.0], "cpu": [300.0, 300.0]}
    half = {name: [value / 2 for value in values] for name, values in times.items()}
    cold = ColdStarts(vanilla=times, turbo=half)
    assert cold.gain("answer") == Spread(2.0, 2.0, 2.0)
    [comparison] = Outcome({}, QUICK, ROWS, cold=cold).comparisons()
    assert comparison.is_reached


def test_settings_are_compared_by_their_medians() -> None:
    tried = [((1, 20), 50.0), ((2, 20), 90.0), ((1, 20), 52.0), ((2, 20), 40.0), ((2, 20), 41.0)]
    assert fastest(tried) == (1, 20)


def test_the_rows_have_the_names_that_others_rely_on() -> None:
    assert {"limit", "process_per_battle", "pool", "showdown_websocket"} <= set(ROWS)
    assert {"poke_env_local", "poke_env_serve", "resets_showdown", "resets_local"} <= set(ROWS)


# Processes that are measured


ECHO = """
import sys
for line in sys.stdin:
    print(f"[{line.strip()}]", flush=True)
"""


def test_a_child_answers_an_order_and_ends_with_its_input() -> None:
    with Child([sys.executable, "-c", ECHO]) as child:
        assert child.order(battles=3) == [{"battles": 3}]
    assert not psutil.pid_exists(child.pid)


def test_a_child_that_was_killed_fails_its_row_with_its_exit_status() -> None:
    with Child([sys.executable, "-c", ECHO]) as child:
        os.kill(child.pid, signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(RowFailed) as failed:
            child.order(battles=3)
    assert (failed.value.pid, failed.value.exit_status) == (child.pid, -signal.SIGKILL)


def test_a_child_that_ends_in_the_middle_of_an_answer_fails_its_row() -> None:
    command = [sys.executable, "-c", "input(); print('[{', end='', flush=True); exit(3)"]
    with pytest.raises(RowFailed) as failed, Child(command) as child:
        child.order()
    assert failed.value.exit_status == 3


BUSY = """
import os, signal, subprocess
stopped = subprocess.Popen(["sleep", "600"], start_new_session=True)
os.kill(stopped.pid, signal.SIGSTOP)
print(stopped.pid, flush=True)
while True:
    pass
"""


def test_a_benchmark_that_fails_does_not_wait_for_a_child_and_leaves_none_of_its_own() -> None:
    child = Child([sys.executable, "-c", BUSY])
    stopped = psutil.Process(int(child.read()))
    with pytest.raises(KeyboardInterrupt), child:
        raise KeyboardInterrupt
    assert not psutil.pid_exists(child.pid)
    assert psutil.wait_procs([stopped], timeout=5)[1] == []


# Rows, at the smallest scale


TINY = Plan(
    repeats=2,
    fine_repeats=2,
    battles=3,
    fine_battles=3,
    slow_battles=2,
    warmup=1,
    lead_in=1,
    seconds=0.3,
    simulator_processes=(1,),
    concurrencies=(2,),
    search_battles=1,
    search_rounds=1,
    resets=50,
    env_battles=1,
    env_counts=(2,),
    training_updates=1,
    training_decisions=32,
    simulator_repeats=2,
    simulator_battles=2,
    simulator_warmup=1,
    cold_samples=2,
    format="gen1randombattle",
    pool=1,
    rooms=2,
)


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return find_runtime()


def measure(rows: dict[str, RowSpec], runtime: Runtime) -> Outcome:
    outcome = Outcome({}, TINY, rows)
    run(outcome, runtime, progress=lambda _line: None)
    return outcome


def assert_complete(outcome: Outcome) -> None:
    assert outcome.failures == []
    assert outcome.samples.keys() == outcome.rows.keys()
    for samples in outcome.samples.values():
        assert len(samples) == 2
        for taken in samples:
            assert min(taken.decisions, taken.wall, taken.python_cpu, taken.node_cpu) > 0
            assert min(taken.python_memory, taken.node_memory) > 1e6


def test_rows_with_timing_on_and_off_are_measured_together(runtime: Runtime) -> None:
    rows = {name: ROWS[name] for name in ("pool_timed", "pool_untimed")}
    outcome = measure(rows, runtime)
    assert_complete(outcome)
    for timed, untimed in zip(*outcome.samples.values(), strict=True):
        assert timed.battles == untimed.battles >= TINY.battles
        assert timed.decisions == untimed.decisions


def test_the_simulator_is_measured_with_turbo_and_without_on_the_same_battles(
    runtime: Runtime,
) -> None:
    outcome = measure(simulator_rows("gen1randombattle"), runtime)
    assert outcome.failures == []
    vanilla, turbo = (
        outcome.samples[name] for name in ("gen1randombattle_vanilla", "gen1randombattle")
    )
    assert len(vanilla) == len(turbo) == TINY.simulator_repeats
    for one, other in zip(vanilla, turbo, strict=True):
        assert one.battles == TINY.simulator_battles
        assert (one.decisions, one.turns) == (other.decisions, other.turns)
    [duel] = outcome.duels()
    assert duel.cpu.measured.median > 0


def test_patches_are_switched_on_one_by_one(runtime: Runtime) -> None:
    names = [patch.name for patch in find_patches(runtime) if patch.on]
    every = patch_rows(names)
    assert len(every) == 2 * 2 * len(names)
    few = [patch_row("gen1randombattle", patch) for patch in (names[0], names[-1])]
    rows = {name: every[name] for row in few for name in (vanilla_row(row), row)}
    outcome = measure(rows, runtime)
    assert outcome.failures == []
    assert outcome.samples.keys() == rows.keys()


def test_rows_that_are_alike_must_not_differ(runtime: Runtime) -> None:
    def starting(name: str, turns: int) -> RowSpec:
        @contextmanager
        def start(_runtime: Runtime, _plan: Plan) -> Iterator[Source]:
            yield Source(lambda _number: {name: sample(turns=turns)})

        return RowSpec("", start, alike=True)

    outcome = measure({"one": starting("one", 5), "other": starting("other", 6)}, runtime)
    assert "battles that are to be the same are not" in outcome.failures[0]
    assert (
        measure({"one": starting("one", 5), "other": starting("other", 5)}, runtime).failures == []
    )


def test_rows_with_few_and_many_open_rooms_are_measured_in_turns(runtime: Runtime) -> None:
    assert_complete(measure({f"rooms_{rooms}": steady_row(rooms) for rooms in (2, 6)}, runtime))


@pytest.mark.serial
def test_poke_env_on_a_showdown_server_is_measured_at_its_best_settings(runtime: Runtime) -> None:
    row = "showdown_websocket"
    outcome = measure({row: ROWS[row]}, runtime)
    assert_complete(outcome)
    concurrency = 2
    assert [taken.battles for taken in outcome.samples[row]] == [2 * concurrency] * 2
    assert outcome.notes == {row: {"simulator_processes": 1, "concurrency": concurrency}}


@pytest.mark.parametrize("row", ["poke_env_local", "poke_env_serve"])
def test_poke_env_on_the_pool_is_measured_at_its_best_settings(row: str, runtime: Runtime) -> None:
    outcome = measure({row: ROWS[row]}, runtime)
    assert_complete(outcome)
    assert [taken.battles for taken in outcome.samples[row]] == [4] * 2
    assert outcome.notes == {row: {"pool": 1, "concurrency": 2}}


@pytest.mark.serial
def test_resets_are_measured_in_turns_with_those_on_a_showdown_server(runtime: Runtime) -> None:
    outcome = measure({row: ROWS[row] for row in ("resets_showdown", "resets_local")}, runtime)
    assert_complete(outcome)
    for samples in outcome.samples.values():
        assert [taken.battles for taken in samples] == [TINY.resets] * 2


def test_a_slow_row_plays_the_first_of_the_battles_that_the_others_play(runtime: Runtime) -> None:
    single = replace(TINY, battles=1)
    with start_slow(runtime, TINY) as slow, start_limit(runtime, single) as limit:
        for number in (0, 1):
            first = number * TINY.battles
            expected = [limit.sample(seed)["limit"] for seed in (first, first + 1)]
            played = slow.sample(number)["process_per_battle"]
            assert played.battles == TINY.slow_battles
            assert played.decisions == sum(battle.decisions for battle in expected)
            assert played.turns == sum(battle.turns for battle in expected)


def test_a_group_that_fails_is_noted_and_the_others_are_measured(runtime: Runtime) -> None:
    ended = []

    @contextmanager
    def fail(_runtime: Runtime, _plan: Plan) -> Iterator[Source]:
        raise BaselineFailed("no luck", exit_status=3)
        yield

    @contextmanager
    def succeed(_runtime: Runtime, _plan: Plan) -> Iterator[Source]:
        yield Source(lambda _number: {"pool": sample(), "rooms_64": sample()})
        ended.append(True)

    rows = {
        "limit": RowSpec("", fail),
        "pool": RowSpec("", succeed),
        "rooms_64": RowSpec("", succeed, "rooms"),
    }
    outcome = measure(rows, runtime)
    assert outcome.failures == ["throughput: no luck [exit_status=3]"]
    assert list(outcome.samples) == ["rooms_64"]
    assert outcome.as_data()["failures"] == outcome.failures
    assert ended == [True]


def test_starts_from_cold_are_measured_with_turbo_and_without(runtime: Runtime) -> None:
    cold = measure_cold(runtime, samples=2)
    for times in (cold.vanilla, cold.turbo):
        for greeted, answered, used in zip(
            times["hello"], times["answer"], times["cpu"], strict=True
        ):
            assert 0 < greeted < answered
            assert used > 0


# The command line


SMALL = ("--quick", "--warmup", "1", "--pool", "1")
QUICKER = ("--format", "gen1randombattle")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "scripts/benchmark.py", *arguments]


def run_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )


def test_every_seeded_row_plays_the_very_same_battles(tmp_path: Path) -> None:
    file = tmp_path / "benchmark.json"
    rows = ["limit_per_core", "limit", "pool", "pool_vanilla", "limit_vanilla"]
    rows += ["limit_per_core_vanilla", "process_per_battle"]
    few = ("--repeats", "1", "--battles", str(QUICK.slow_battles))
    done = run_script("--only", ",".join(rows), *SMALL, *few, "--json", str(file))
    assert done.returncode == 0, done.stderr
    data = json.loads(file.read_text())
    assert list(data["rows"]) == rows
    for row in data["rows"].values():
        assert all(row[figure] >= 0 for figure in FIGURES)
        assert set(FIGURES) <= set(row["spread"])
    played = {
        (s["battles"], s["decisions"], s["turns"])
        for row in data["rows"].values()
        for s in row["samples"]
    }
    assert len(played) == 1
    assert data["machine"]["pokemon-showdown"] == "0.11.11"


def test_an_interrupted_benchmark_keeps_what_it_measured(tmp_path: Path) -> None:
    file = tmp_path / "benchmark.json"
    endless = ("--only", "limit,pool", "--repeats", "100000", "--battles", "2", *QUICKER)
    with subprocess.Popen(
        command(*SMALL, *endless, "--json", str(file)),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "2 of 100000" in line)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) == 3
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert "| limit " in text
    assert "| CPU per decision, pool / limit " in text
    assert "turbo but for rows that say otherwise" in text
    assert json.loads(file.read_text())["rows"].keys() == {"limit", "pool"}
    _, left = psutil.wait_procs(children, timeout=5)
    assert left == []


def test_a_table_is_printed_even_if_the_json_cannot_be_written() -> None:
    # A device that is full: it can be opened, but not written to.
    few = ("--repeats", "1", "--battles", "1")
    done = run_script("--only", "limit", *SMALL, *QUICKER, *few, "--json", "/dev/full")
    assert done.returncode == 1
    assert "| limit " in done.stdout
    assert "cannot write /dev/full: No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--only", "limits"], "no row 'limits'; there are rows, simulator, "),
        (["--pool", "0"], "--pool: 0 is too few"),
        (["--battles", "-3"], "--battles: -3 is too few"),
        (["--repeats", "0"], "--repeats: 0 is too few"),
        (["--rooms", "0"], "--rooms: 0 is too few"),
        (["--json", "no/such/folder/bench.json"], "there is no folder no/such/folder"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_measured(
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "benchmark.py"), run_name="__main__")
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert reason in " ".join(said.err.split())
    assert said.out == ""


def test_scripts_can_be_run_as_their_help_shows() -> None:
    for script in (ROOT / "scripts").glob("*.py"):
        assert os.access(script, os.X_OK), script


@pytest.mark.parametrize("row", ["limit", "pool"])
@pytest.mark.parametrize(
    ("format", "reason"), [("gen9nope", 'Unrecognized format "gen9nope"'), ("gen9ou", "OU")]
)
def test_a_format_that_cannot_be_measured_fails_its_row(row: str, format: str, reason: str) -> None:
    few = ("--repeats", "1", "--battles", "1")
    done = run_script("--only", row, "--format", format, *SMALL, *few)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
