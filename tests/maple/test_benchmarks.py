"""The rows that train: what they play, what they count, and how they are shown."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from poke_env import AccountConfiguration
from poke_env.battle import AbstractBattle, Battle
from poke_env.player import BattleOrder, RandomPlayer
from rich.console import Console

from bridge.benchmarks.child import Child, RowFailed
from bridge.benchmarks.poke_env_players import Venue
from bridge.benchmarks.render import render
from bridge.benchmarks.rows import QUICK, Plan, RowSpec
from bridge.benchmarks.rows import ROWS as BRIDGE_ROWS
from bridge.benchmarks.run import Outcome, run
from bridge.benchmarks.sample import Sample
from bridge.machine import cpu_count
from bridge.poke_env import LocalServerConfiguration, local_server
from bridge.runtime import Runtime, find_runtime
from maple.agents import judge, weights_of
from maple.benchmarks import embedding
from maple.benchmarks.curve import CURVE, curve_row, curve_table, draw_curve
from maple.benchmarks.rows import (
    OPEN_ROOMS,
    ROWS,
    rooms_row,
    settings_to_try,
    start_open_rooms,
    start_training,
    start_training_on_showdown,
    training_config,
)
from maple.benchmarks.showdown_envs import ShowdownEnv
from maple.benchmarks.targets import TARGETS
from maple.benchmarks.trainer import FamilyMeter
from maple.benchmarks.trainer_showdown import Trainee
from maple.benchmarks.training_table import explain_training, training_table

ROOT = Path(__file__).parents[2]
MACHINE = {"cores": 2, "cpu": "a processor"}
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
    env_counts=(3,),
    training_updates=1,
    training_decisions=64,
    simulator_repeats=2,
    simulator_battles=2,
    simulator_warmup=1,
    cold_samples=2,
    pool=1,
)
SMALL: dict[str, Any] = {
    "parallel": 4,
    "batch": 64,
    "network": {"hidden": [16]},
    "learning": {"minibatch": 32},
}


def sample(**changes: Any) -> Sample:
    figures = {
        "battles": 10,
        "decisions": 1000,
        "turns": 500,
        "wall": 2.0,
        "python_cpu": 0.05,
        "node_cpu": 0.1,
        "python_memory": 100 * 1024,
        "node_memory": 200 * 1024,
    }
    return Sample(**figures | changes)


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    return find_runtime()


def measure(names: list[str], runtime: Runtime) -> Outcome:
    outcome = Outcome(MACHINE, TINY, {name: ROWS[name] for name in names}, TARGETS)
    run(outcome, runtime, progress=lambda _line: None)
    assert outcome.failures == []
    assert outcome.samples.keys() == set(names)
    for samples in outcome.samples.values():
        assert len(samples) == TINY.repeats
        assert all(min(s.decisions, s.wall, s.node_cpu, s.node_memory) > 0 for s in samples)
    return outcome


# Rows, at the smallest scale


def test_the_vector_environment_is_measured_at_its_best_settings(runtime: Runtime) -> None:
    row = "vector_env_self_vanilla"
    outcome = measure([row], runtime)
    assert all(taken.python_cpu > 0 for taken in outcome.samples[row])
    best = outcome.notes[row]
    assert (best["pool"], best["num_envs"]) == (1, 3)
    assert best["batches"] in (1, 2, 4)


def test_an_agent_in_both_seats_counts_a_battle_once(runtime: Runtime) -> None:
    settings = {"format": "gen1randombattle", "num_envs": 2, "pool": 1}
    command = [sys.executable, "-m", "maple.benchmarks.vector_env"]
    for opponent, seats in (("random", 1), ("self", 2)):
        arguments = json.dumps(settings | {"opponent": opponent})
        with Child([*command, arguments]) as child:
            child.read()
            [answer] = child.order(battles=4)
        taken = Sample(**answer)
        assert 4 <= taken.battles <= 6
        # Each turn has a decision of every agent, and those after a Pokémon has fainted besides.
        assert seats * taken.turns * 0.9 < taken.decisions < seats * taken.turns * 2.5


def test_settings_are_tried_that_may_be_the_best() -> None:
    plan = replace(QUICK, pool=2, env_counts=(64, 128))
    assert len(settings_to_try(plan, turbo=True, num_envs=None)) == 2 * 2 * 3
    assert {tried.pool for tried in settings_to_try(plan, turbo=False, num_envs=None)} == {2}
    assert settings_to_try(plan, turbo=True, num_envs=2) == [(2, 2, 1), (2, 2, 2)]
    assert settings_to_try(plan, turbo=True, num_envs=1) == [(1, 1, 1)]


@pytest.mark.serial
def test_an_environment_of_poke_env_is_measured_at_its_best_settings(runtime: Runtime) -> None:
    row = "singles_env_showdown"
    outcome = measure([row], runtime)
    assert outcome.notes == {row: {"simulator_processes": 1, "times_hung": 0}}
    for taken in outcome.samples[row]:
        assert taken.battles == TINY.env_battles
        assert taken.turns * 0.5 < taken.decisions < taken.turns * 2
        assert 0 < taken.reset_wall < taken.wall


WORKER = """
import sys
from pathlib import Path
file = Path(sys.argv[1])
lives = len(file.read_text())
file.write_text("x" * (lives + 1))
for line in sys.stdin:
    if lives >= int(sys.argv[2]):
        print(sys.argv[3], flush=True)
"""


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Callable[[int], ShowdownEnv]]:
    """Makes workers of which the first so many never answer."""
    file = tmp_path / "lives"
    file.write_text("")
    answer = json.dumps([asdict(sample())])
    with ExitStack() as stack:

        def make(times: int) -> ShowdownEnv:
            command = [sys.executable, "-c", WORKER, str(file), str(times), answer]
            return ShowdownEnv(lambda: stack.enter_context(Child(command)), patience=0.5)

        yield make


def test_an_environment_of_poke_env_that_hangs_is_replaced_and_counted(
    hanging: Callable[[int], ShowdownEnv],
) -> None:
    envs = hanging(2)
    assert envs.play(0) == sample()
    assert envs.hung == 2
    assert envs.play(0) == sample()
    assert envs.hung == 2


def test_an_environment_of_poke_env_that_always_hangs_fails_its_row(
    hanging: Callable[[int], ShowdownEnv],
) -> None:
    with pytest.raises(RowFailed, match="hung 3 times in a row"):
        hanging(9).play(0)


def test_the_same_battles_are_played_with_observers_and_without(runtime: Runtime) -> None:
    names = ["observation", "observation_off"]
    outcome = measure(names, runtime)
    observed, plain = (outcome.samples[name] for name in names)
    for one, other in zip(observed, plain, strict=True):
        assert (one.battles, one.decisions, one.turns) == (3, other.decisions, other.turns)
    [comparison] = outcome.comparisons()
    assert "to track and encode" in comparison.target.text


def test_open_rooms_are_as_many_as_are_asked_for(runtime: Runtime) -> None:
    with start_open_rooms(runtime, TINY, rooms=3) as source:
        taken = source.sample(0)[rooms_row(3)]
    assert taken.decisions > 0
    assert min(taken.python_memory, taken.node_memory) > 1e7


def test_the_curve_is_measured_and_drawn(runtime: Runtime, tmp_path: Path) -> None:
    outcome = measure([curve_row(1)], runtime)
    assert outcome.notes == {curve_row(1): {"pool": 1, "num_envs": 1, "batches": 1}}
    table = curve_table(outcome)
    assert table is not None
    assert list(table.columns[0].cells) == ["1"]
    file = tmp_path / "curve.png"
    draw_curve(outcome, file)
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.serial
def test_training_is_measured_beside_what_it_replaces(runtime: Runtime) -> None:
    trained, replaced = (
        replace(ROWS[name], start=partial(start, **SMALL))
        for name, start in (
            ("training", start_training),
            ("training_showdown", start_training_on_showdown),
        )
    )
    rows = {"training": trained, "training_showdown": replaced}
    outcome = Outcome(MACHINE, replace(TINY, repeats=1), rows, TARGETS)
    run(outcome, runtime, progress=lambda _line: None)

    assert outcome.failures == []
    [ours], [theirs] = outcome.samples["training"], outcome.samples["training_showdown"]
    # An update, whose last round may be a whole one.
    assert SMALL["batch"] <= ours.decisions < SMALL["batch"] + 2 * SMALL["parallel"]
    assert theirs.decisions == TINY.training_decisions
    assert min(ours.python_cpu, ours.node_cpu, theirs.python_cpu, theirs.node_cpu) > 0
    assert outcome.notes["training_showdown"]["times_hung"] == 0
    assert "1 process plays" in outcome.notes["training"]["processes"]
    assert {c.target.text for c in outcome.comparisons()} == {
        "decisions/s, training / training_showdown",
        "share of all cores that the trainer keeps busy, training",
    }


BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint()\ninput()"
PARENT = "import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv[1:]])"


@pytest.mark.parametrize(("name", "is_node"), [("controller.js", True), ("worker", False)])
def test_what_children_of_children_take_is_counted(name: str, is_node: bool) -> None:
    meter = FamilyMeter()
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "-c", BUSY, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        taken = meter.sample(1, 2, 3)
        process.communicate(b"\n")
    assert (taken.battles, taken.decisions, taken.turns) == (1, 2, 3)
    assert (taken.node_cpu > 0.25) == is_node
    assert (taken.python_cpu > 0.25) == (not is_node)
    assert (taken.node_memory > 0) == is_node


@pytest.fixture(scope="module")
def trainee() -> Iterator[Trainee]:
    """The baseline of training, on our own server, which is faster."""
    venue = Venue({"pool": 1, "turbo": True})
    trainee = Trainee(venue, training_config(TINY, **SMALL))
    # Whoever comes first starts the pool, which is not to be the doing of one test.
    trainee.collect(2)
    yield trainee
    assert isinstance(venue.server, LocalServerConfiguration)
    venue.server.close()


def test_the_baseline_learns_from_what_its_network_decided(trainee: Trainee) -> None:
    weights = weights_of(trainee.network)
    rollout, battles, turns, resetting = trainee.collect(150)
    assert len(rollout.known) == 150
    assert rollout.is_last.sum() == battles >= 1
    assert turns > 10
    assert resetting > 0

    seen = trainee.observations.expand(rollout.raw[:150])
    assert seen["features"].shape[1] == trainee.observations.feature_count > embedding.SIZE
    assert seen["features"][:, : embedding.SIZE].any(axis=0).sum() > 100
    masks, actions = torch.from_numpy(seen["action_mask"]), rollout.actions[:150, 0]
    logits, values = trainee.network(
        torch.from_numpy(seen["features"]), torch.from_numpy(seen["ids"])
    )
    chances, _ = judge(logits, masks, torch.from_numpy(actions))
    assert seen["action_mask"][np.arange(150), actions].all()
    np.testing.assert_allclose(rollout.chances[:150], chances.detach(), atol=1e-4)
    np.testing.assert_allclose(rollout.values[:150], values.detach(), atol=1e-4)
    # An end is a win or a loss; on the way HP and fainted Pokémon count.
    ends = rollout.rewards[rollout.is_last]
    assert (np.abs(ends) > 0.5).all()
    assert rollout.rewards.any()
    assert (weights_of(trainee.network) == weights).all()

    taken = trainee.train(20)
    assert taken.decisions == 20
    assert (weights_of(trainee.network) != weights).any()


# What a battle of poke-env is embedded as


def test_an_embedding_has_as_many_numbers_as_it_says_from_the_first_turn_to_the_last() -> None:
    seen: list[npt.NDArray[np.float32]] = []

    class Watcher(RandomPlayer):
        def choose_move(self, battle: AbstractBattle) -> BattleOrder:
            assert isinstance(battle, Battle)
            seen.append(embedding.embed(battle))
            return self.choose_random_move(battle)

    server = local_server(pool=1, warmup_battles=0)
    one, other = (
        player(AccountConfiguration.generate("maple", rand=True), server_configuration=server)
        for player in (Watcher, RandomPlayer)
    )
    try:
        asyncio.run(one.battle_against(other, n_battles=2))
    finally:
        server.close()
    assert len(seen) > 20
    assert {row.shape for row in seen} == {(embedding.SIZE,)}
    assert 900 < embedding.SIZE < 1100
    numbers = np.array(seen)
    assert -1 <= numbers.min() < numbers.max() <= 1
    # Opponents are seen one after another: what is zero at first fills up.
    shown = (numbers != 0).sum(axis=1)
    assert shown[:5].mean() < shown.max()


# What is compared and shown


def test_the_rows_have_names_of_their_own() -> None:
    assert not ROWS.keys() & BRIDGE_ROWS.keys()
    twins = {f"{row}_vanilla" for row in ("vector_env", "vector_env_self")}
    assert {"singles_env_showdown", "vector_env", "vector_env_self"} | twins <= ROWS.keys()


def compared(samples: dict[str, list[Sample]]) -> dict[str, tuple[Any, bool | None]]:
    rows = {name: RowSpec("", ROWS["vector_env"].start) for name in samples}
    outcome = Outcome(MACHINE, QUICK, rows, TARGETS, samples=samples)
    return {c.target.text: (c.measured.median, c.is_reached) for c in outcome.comparisons()}


def test_the_vector_environment_is_to_be_so_many_times_faster() -> None:
    slow, fast = [sample(wall=13.0)], [sample(wall=1.0)]
    assert compared({"vector_env": fast, "singles_env_showdown": slow}) == {
        "steps/s, vector_env / singles_env_showdown": (pytest.approx(13.0), True)
    }
    found = compared({"vector_env_self": fast, "showdown_websocket": [sample(wall=5.0)]})
    assert found["decisions/s, vector_env_self / showdown_websocket"] == (5.0, False)
    text = "Python CPU µs per decision, inference included, vector_env_self"
    assert found[text] == (pytest.approx(50.0), True)


def test_the_trainer_is_to_be_ten_times_faster_and_to_keep_all_cores_busy() -> None:
    cores = cpu_count()
    busy = sample(python_cpu=0.4 * cores, node_cpu=0.55 * cores, wall=1.0)
    found = compared({"training": [busy], "training_showdown": [sample(wall=9.0)]})
    assert found == {
        "decisions/s, training / training_showdown": (pytest.approx(9.0), False),
        "share of all cores that the trainer keeps busy, training": (pytest.approx(0.95), True),
    }


def test_what_observing_takes_is_a_difference() -> None:
    found = compared(
        {"observation": [sample(node_cpu=0.15)], "observation_off": [sample(node_cpu=0.1)]}
    )
    assert list(found.values()) == [(pytest.approx(50.0), True)]


def test_what_settings_were_best_is_told_above_the_rows() -> None:
    outcome = Outcome(
        MACHINE,
        QUICK,
        ROWS,
        samples={"singles_env_showdown": [sample(reset_wall=0.2)], "vector_env": [sample()]},
        notes={"vector_env": {"pool": 2, "num_envs": 64, "batches": 2}},
    )
    console = Console(width=200, file=io.StringIO())
    render(outcome, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "vector_env: of all settings tried the best; pool 2, num envs 64, batches 2" in text
    assert "singles_env_showdown: a reset takes 20.0 ms" in text
    assert "vector_env: a reset" not in text


def test_the_memory_of_a_room_is_that_of_many_less_that_of_one() -> None:
    few, many = OPEN_ROOMS[0], OPEN_ROOMS[-1]
    grown = sample(node_memory=200 * 1024 + 3 * 1024 * (many - few))
    found = compared({rooms_row(few): [sample()], rooms_row(many): [grown]})
    assert found == {
        f"KiB of Python an open room that observes, of {many:,}": (0.0, None),
        f"KiB of Node an open room that observes, of {many:,}": (pytest.approx(3.0), None),
    }


def curve(samples: dict[str, list[Sample]], notes: dict[str, Any] | None = None) -> Outcome:
    return Outcome(MACHINE, QUICK, ROWS, samples=samples, notes=notes or {})


def test_a_curve_is_a_row_for_each_number_of_environments() -> None:
    points = {curve_row(count): [sample(wall=1 / count)] * 3 for count in CURVE}
    table = curve_table(curve(points, {curve_row(256): {"batches": 4}}))
    console = Console(width=200, file=io.StringIO())
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = [line.split("|")[1:-1] for line in console.file.getvalue().splitlines() if "|" in line]
    cells = [[cell.strip() for cell in line] for line in lines]
    assert cells[2] == ["1", "2", "3", "1000", "1000 to 1000", "50", "100", "0"]
    assert cells[-1][:2] == ["256", "128"]
    assert [row[0] for row in cells[2:]] == [str(count) for count in CURVE]
    assert curve_table(curve({})) is None


def test_training_has_a_table_that_says_what_was_measured() -> None:
    slow, fast = [sample(wall=8.0)], [sample(wall=wall) for wall in (1.0, 0.5, 0.8)]
    outcome = Outcome(
        MACHINE,
        QUICK,
        ROWS,
        samples={"training": fast, "training_showdown": slow},
        notes={"training": {"network": "mlp", "battles_at_a_time": 128}},
    )
    table = training_table(outcome)
    assert table is not None
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["training", "training_showdown"]
    assert cells[2:5] == [["3", "1"], ["1250", "125"], ["1000 to 2000", "125 to 125"]]
    assert cells[7] == ["0.19", "0.02"]
    assert next(explain_training(outcome)) == "training: network mlp, battles at a time 128"
    assert training_table(curve({})) is None


def test_a_curve_is_drawn_with_what_it_replaces(tmp_path: Path) -> None:
    points = {curve_row(count): [sample(wall=1 / count)] * 3 for count in CURVE}
    alone, beside = tmp_path / "alone.png", tmp_path / "beside.png"
    draw_curve(curve(points), alone)
    draw_curve(curve(points | {"showdown_websocket": [sample()]}), beside)
    assert alone.read_bytes() != beside.read_bytes()
    with pytest.raises(ValueError, match="no curve to draw"):
        draw_curve(curve({}), alone)


# The command line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--only", "rows", "--chart", "a.png"], "--chart draws the curve, which --only leaves"),
        (["--only", "curve", "--chart", "a.svg"], "--chart draws a PNG, which a.svg is not"),
        (["--only", "vector_envs"], "no row 'vector_envs'; there are"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], reason: str) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/benchmark.py", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert reason in done.stderr


def test_importing_the_rows_imports_neither_torch_nor_poke_env() -> None:
    program = (
        "import sys, maple.benchmarks.rows, maple.benchmarks.targets;"
        "sys.exit(bool({'torch', 'poke_env', 'matplotlib'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_bridge_measures_without_maple() -> None:
    program = (
        "import sys, bridge.benchmarks.run, bridge.benchmarks.workers, bridge.sampling;"
        "sys.exit('maple' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
