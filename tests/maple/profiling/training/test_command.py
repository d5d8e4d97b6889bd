"""The command that measures where the time of training goes, as it is called."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from maple.profiling import load_session
from maple.profiling.analysis import analyse
from maple.profiling.training import Mode, TrainingTime
from tests.maple.profiling.training.examples import levels

REPOSITORY = Path(__file__).resolve().parents[4]
SCRIPT = REPOSITORY / "scripts" / "profile_training_time.py"
TINY = (
    *("--parallel", "2", "--batch", "24", "--network.hidden", "[8]", "--opponents.mix", "self"),
    *("--pool", "1", "--warmup", "0"),
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=surroundings(),
    )


def surroundings() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}"}


def test_the_command_compares_both_modes_and_keeps_what_it_recorded(tmp_path: Path) -> None:
    file, output = tmp_path / "time.json", tmp_path / "logs"

    done = run(
        *("--compare", "--batches", "2", "--breakdown", "--detailed", *TINY),
        *("--json", file, "--output", output),
    )

    assert done.returncode == 0, done.stderr
    assert "Turbo off and turbo on, side by side" in done.stdout
    assert "Both modes played the same battles" in done.stdout
    assert "too few batches to tell" in done.stdout
    assert "turbo on: batch 2 of 2" in done.stderr
    for name in ("turbo_off", "turbo_on"):
        trace = json.loads((output / f"trace_training_{name}.json").read_bytes())
        drawn = {event["name"] for event in trace["traceEvents"]}
        assert {"loss_calculation", "aten::addmm", "play"} <= drawn
    measured = TrainingTime.from_json(file.read_bytes())
    assert [len(one.batches) for one in measured.modes] == [2, 2]
    for one in measured.modes:
        for each in one.batches:
            for above, together in levels(each.components).items():
                whole = each.components[above] if above else each.wall
                assert together == pytest.approx(whole)
            assert all(time >= 0 for time in each.components.values())
            assert each.trips > 0
        name = f"profile_training_{one.name.replace(' ', '_')}"
        calls = (output / f"{name}.txt").read_text(encoding="utf-8")
        assert "cumulative" in calls
        assert re.search(r"\(update\) +-> ", calls)
        assert (output / f"{name}.prof").exists()
    files = sorted((output / "raw").iterdir())
    assert [one.name.partition("_2")[0] for one in files] == [
        "training_turbo_off",
        "training_turbo_on",
    ]
    assert all(f"--input {one}" in done.stdout for one in files)
    check_session(files[0], measured.modes[0])
    # Both pools are there all the time, and each is told of in its own session only.
    nodes = [{u.pid for u in load_session(one).usages if u.role == "node"} for one in files]
    assert [len(one) for one in nodes] == [1, 1]
    assert nodes[0] != nodes[1]
    assert "takes" in done.stdout.partition("What profiling cost")[2]


def check_session(file: Path, measured: Mode) -> None:
    session = load_session(file)
    analysis = analyse(session)
    assert analysis.main is not None
    (whole,) = analysis.main.level(0)
    assert whole.busy / 1e9 == pytest.approx(sum(one.wall for one in measured.batches))
    assert whole.share <= 1
    assert analysis.count("steps") == sum(one.figures.decisions for one in measured.batches)
    # What the bridge says is there once, with the trips of all batches.
    (fed,) = analysis.fed
    assert fed.feed is not None
    named = {one.name: one.total for one in fed.feed.operations}
    trips = sum(total["count"] for name in ("choose", "play") if (total := named.get(name)))
    assert trips == sum(one.trips for one in measured.batches)
    assert session.settings["turbo"] is False
    sizes = [part.metrics["batch_size"] for part in session.processes]
    assert sum(one.count for one in sizes) == sum(one.figures.rounds for one in measured.batches)
    assert max(one.highest for one in sizes) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--batches", "0"], "0 is too few"),
        (["--compare", "--no-turbo"], "not allowed with"),
        (["--turbo", "--no-turbo"], "not allowed with"),
        (["--warmup", "-1"], "-1 is too few: at least 0"),
        (["--batchs", "3"], "unknown setting --batchs; did you mean"),
        (["--parallel", "0"], "parallel is 0, but must be at least 1"),
        (["--seed", "-1"], "seed is -1, but must be from 0 to"),
        (["--workers", "2"], "--workers changes nothing here"),
        (["--training", "nowhere.yml"], "cannot read nowhere.yml"),
        (["--config", "nowhere.yml"], "cannot read nowhere.yml"),
        (["--output", str(SCRIPT)], "cannot be made: File exists"),
    ],
)
def test_a_wrong_argument_is_told_in_one_line(arguments: list[str], said: str) -> None:
    done = run(*arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "value", "status"), [("format", "gen9nothing", 1), ("opponents.mix", "nobody", 2)]
)
def test_what_is_not_there_is_told_in_one_line(
    tmp_path: Path, name: str, value: str, status: int
) -> None:
    done = run(*TINY, f"--{name}", value, "--output", tmp_path)

    assert done.returncode == status
    assert done.stdout == ""
    assert value in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_settings_of_the_profiler_come_from_a_file(tmp_path: Path) -> None:
    settings = tmp_path / "profiling.yml"
    settings.write_text(f"categories:\n  All of it: ['*']\nsummary_every: 1\nfolder: {tmp_path}\n")

    done = run("--batches", "1", *TINY, "--config", settings)

    assert done.returncode == 0, done.stderr
    assert "live summaries are left out" in done.stderr
    assert "Operations:" not in done.stderr
    (file,) = (tmp_path / "raw").iterdir()
    assert {row.category for row in analyse(load_session(file)).rows} == {"All of it"}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_prints_what_it_has_measured_and_leaves_no_process_behind(
    tmp_path: Path, ending: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "--batches", "100000", *TINY, "--output", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "batch 2 of 100000" in line:
                break
        nodes = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(ending)
        printed, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 130, said
    assert nodes
    assert psutil.wait_procs(nodes, timeout=5)[1] == []
    assert "It was interrupted" in printed
    assert "1. Data Collection" in printed
    assert "Traceback" not in said
