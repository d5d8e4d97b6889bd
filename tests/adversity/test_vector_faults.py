"""Environments whose processes die or are silent, whose battles break, whose opponents fail."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from poke_env.battle import AbstractBattle
from poke_env.battle import Battle as SinglesModel
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder

from bridge import BridgeConfig
from bridge.errors import BattlePoisoned, ControllerDied
from maple.env import OpponentFailed, SerialVectorEnv, StepTimeout, VectorEnv
from tests.bridge.poke_env.cast import StringOrder
from tests.conftest import controllers
from tests.maple.env.hands import Observation, Tape, choose, step

FAULTS = Path(__file__).parent / "faults"
FORMAT = "gen1randombattle"


@pytest.fixture
def processes() -> Callable[[], list[psutil.Process]]:
    """Finds the controllers that this test has started and that are there now."""
    before = controllers()
    return lambda: [process for process in controllers() - before if process.is_running()]


def deaths(env: VectorEnv) -> int:
    return int(env.stats(round_trips=False)["counters"]["deaths"])


# Processes that die


@pytest.mark.parametrize("opponent", ["random", "self", "heuristics"])
def test_battles_go_on_unchanged_while_their_processes_are_killed(
    settings: BridgeConfig, processes: Callable[[], list[psutil.Process]], opponent: str
) -> None:
    config = settings.replace(pool=2)
    agents = range(6 if opponent == "self" else 3)
    rows = 90
    with VectorEnv(FORMAT, 3, seed=4, opponent=opponent, bridge=config) as env:
        calm = step(env, rows, agents)
    with VectorEnv(FORMAT, 3, 2, seed=4, opponent=opponent, bridge=config) as env:
        tape = Tape(rows)
        env.async_reset()
        struck: set[int] = set()
        batches = 0
        while not tape.is_full(agents):
            result = env.recv()
            tape.note(result[0], result, result[4])
            env.send(choose(result[0]), result[4]["env_id"])
            batches += 1
            victims = [process for process in processes() if process.pid not in struck]
            if batches % 20 == 10 and len(struck) < 4 and victims:
                struck.add(victims[0].pid)
                os.kill(victims[0].pid, signal.SIGKILL)
        assert len(struck) == 4
        assert deaths(env) == 4
        assert tape.digests(agents) == calm


# Battles that break the simulator


class Poisoner(RandomPlayer):
    """Makes a choice that breaks the simulator, in the third turn of certain battles."""

    def __init__(self, fault: str, *tags: str) -> None:
        super().__init__(battle_format=FORMAT, start_listening=False)
        self.fault = fault
        self.tags = tags

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        if battle.battle_tag in self.tags and battle.turn == 3:
            return StringOrder(f"fault {self.fault}")
        return super().choose_move(battle)


@pytest.fixture
def poisonable(settings: BridgeConfig) -> BridgeConfig:
    faults = ("--require", str(FAULTS / "poison.js"))
    return settings.replace(pool=2, node_arguments=faults, response_timeout=20.0)


@pytest.mark.parametrize(
    ("kind", "fault"), [(VectorEnv, "throw"), (VectorEnv, "exit"), (SerialVectorEnv, "throw")]
)
def test_a_poisoned_battle_is_a_truncated_episode_and_its_environment_goes_on(
    poisonable: BridgeConfig, fault: str, kind: type[VectorEnv]
) -> None:
    poisoner = Poisoner(fault, f"battle-{FORMAT}-1-0")
    with kind(FORMAT, 3, seed=4, opponent=poisoner, bridge=poisonable) as env:
        observation, _ = env.reset()
        truncated_rows: list[tuple[int, int, str]] = []
        ends = 0
        for number in range(100):
            observation, reward, terminated, truncated, info = env.step(choose(observation))
            ends += int(terminated.sum())
            for row in np.flatnonzero(truncated):
                truncated_rows.append((number, int(row), info["reason"][row]))
                assert reward[row] == 0
                assert info["final_obs"][row]["features"].any()
                assert info["final_info"]["reason"][row] == info["reason"][row]
                assert info["winner"][row] is None
        ((when, where, reason),) = truncated_rows
        assert (when, where) == (2, 1)
        assert reason.startswith("BattlePoisoned: the battle failed 2 times; `python -m bridge")
        assert ends >= 2


class Spoiler(RandomPlayer):
    """Has a name, in its first battle, that breaks the simulator as it starts, for its Pokémon."""

    brought = 0

    @property
    def username(self) -> str:
        return "fault exit" if self.brought == 0 else "Blue"

    @property
    def next_team(self) -> str:
        self.brought += 1
        return "fault exit (Tauros)\nEVs: 4 HP\n- Body Slam\n"


def test_a_battle_that_cannot_begin_is_left_out(poisonable: BridgeConfig) -> None:
    spoiler = Spoiler(battle_format="gen1ou", start_listening=False)
    teams = {"p1": spoiler.next_team}
    spoiler.brought = 0
    with VectorEnv("gen1ou", 1, opponent=spoiler, teams=teams, bridge=poisonable) as env:
        observation, _ = env.reset()
        assert env.stats(round_trips=False)["counters"]["battles_poisoned"] == 1
        assert spoiler.brought == 2
        play_on(env, observation)


def test_an_environment_whose_battles_never_begin_says_why(
    poisonable: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maple.env.opening._FALSE_STARTS", 1)
    spoiler = Spoiler(battle_format="gen1ou", start_listening=False)
    teams = {"p1": spoiler.next_team}
    spoiler.brought = 0
    env = VectorEnv("gen1ou", 1, opponent=spoiler, teams=teams, bridge=poisonable)
    with env, pytest.raises(BattlePoisoned, match="the last words of a test"):
        env.reset()


# Processes that do not answer


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_nothing_is_waited_for_longer_than_the_step_timeout(
    settings: BridgeConfig, processes: Callable[[], list[psutil.Process]], kind: type[VectorEnv]
) -> None:
    config = settings.replace(response_timeout=60.0)
    with kind(FORMAT, 2, seed=1, bridge=config, step_timeout=20.0) as env:
        observation, _ = env.reset()
        env._stage.battles.timeout = 0.3
        (node,) = processes()
        node.suspend()
        with pytest.raises(StepTimeout, match=r"within 0\.3 s from environments? 0") as timeout:
            env.step(choose(observation))
        assert timeout.value.environments == ((0, 1) if kind is VectorEnv else (0,))
        node.resume()
        env._stage.battles.timeout = 20.0
        with pytest.raises(RuntimeError, match="still under way"):
            env.step(choose(observation))
        observation, *_, info = env.recv()
        assert info["env_id"].tolist() == [0, 1]
        for _ in range(3):
            observation, _, _, truncated, _ = env.step(choose(observation))
            assert not truncated.any()
        assert deaths(env) == 0


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_waiting_in_vain_changes_no_battle(
    settings: BridgeConfig, processes: Callable[[], list[psutil.Process]], kind: type[VectorEnv]
) -> None:
    rows, agents = 30, range(2)
    config = settings.replace(response_timeout=60.0)
    with kind(FORMAT, 2, seed=1, bridge=config, step_timeout=20.0) as env:
        calm = step(env, rows, agents)
    with kind(FORMAT, 2, seed=1, bridge=config, step_timeout=20.0) as env:
        tape = Tape(rows)
        env.async_reset()
        result = env.recv()
        (node,) = processes()

        def send_in_vain() -> None:
            node.suspend()
            env.send(choose(result[0]), result[4]["env_id"])
            env._stage.battles.timeout = 0.01
            with pytest.raises(StepTimeout):
                env.recv()
            env._stage.battles.timeout = 20.0
            node.resume()

        while not tape.is_full(agents):
            tape.note(result[0], result, result[4])
            send_in_vain()
            result = env.recv()
        assert tape.digests(agents) == calm
        # What was answered late belongs to battles that are not played any more.
        send_in_vain()
        assert step(env, rows, agents, seed=1) == calm


def test_a_learner_may_rest_for_longer_than_node_may_be_silent(settings: BridgeConfig) -> None:
    config = settings.replace(response_timeout=4.0, heartbeat=2.0)
    with VectorEnv(FORMAT, 4, 2, seed=1, bridge=config) as env:
        env.async_reset()
        # In the hands of the learner, in the hands of Node, and short of the time it has.
        for before, after in ((0, 5), (5, 0), (1.5, 1.5)):
            observation, *_, info = env.recv()
            rest(before)
            env.send(choose(observation), info["env_id"])
            rest(after)
            env.recv()
            env.async_reset()
        assert deaths(env) == 0


def rest(seconds: float) -> None:
    """Computes something that has nothing to do with the environment."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))


def test_a_pool_that_cannot_be_kept_up_is_an_error_of_whoever_waits(
    settings: BridgeConfig,
    processes: Callable[[], list[psutil.Process]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flag = tmp_path / "flag"
    monkeypatch.setenv("FLAG", str(flag))
    config = settings.replace(
        node_arguments=("--require", str(FAULTS / "refuse.js")), start_attempts=2, backoff_cap=0.1
    )
    with VectorEnv(FORMAT, 2, seed=1, bridge=config) as env:
        observation, _ = env.reset()
        flag.write_text("always")
        (node,) = processes()
        node.kill()
        with pytest.raises(ControllerDied, match="was told not to come up"):
            env.step(choose(observation))
        with pytest.raises(ControllerDied):
            env.recv()


# Opponents that fail


class Raiser:
    """Decides for a while, and then raises."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def act(self, rows: np.ndarray, masks: np.ndarray, keys: np.ndarray) -> np.ndarray:
        self.rows -= len(rows)
        if self.rows < 0:
            raise LookupError("nothing left")
        first: np.ndarray = masks.argmax(axis=1)
        return first


class Confused(RandomPlayer):
    """Says what nobody understands, every other time."""

    def __init__(self) -> None:
        super().__init__(battle_format=FORMAT, start_listening=False)
        self.said = 0

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        self.said += 1
        return StringOrder("abracadabra") if self.said % 2 else super().choose_move(battle)


def play_on(env: VectorEnv, observation: Observation, steps: int = 20) -> None:
    for _ in range(steps):
        observation, *_ = env.step(choose(observation))


def too_few(features: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.zeros((len(features), 3))


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_an_opponent_that_raises_is_an_error_of_whoever_waits_and_a_reset_begins_anew(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    opponent = Raiser(rows=8)
    with kind(FORMAT, 2, seed=1, opponent=opponent, bridge=settings) as env:
        observation, _ = env.reset()
        with pytest.raises(OpponentFailed, match="LookupError: nothing left") as failed:
            play_on(env, observation)
        assert isinstance(failed.value.__cause__, LookupError)
        opponent.rows = 1000
        observation, _ = env.reset()
        env.step(choose(observation))


def test_a_policy_with_the_wrong_logits_is_named(settings: BridgeConfig) -> None:
    env = VectorEnv(FORMAT, 2, seed=1, opponent=too_few, bridge=settings)
    with env, pytest.raises(OpponentFailed, match="a mask of"):
        play_on(env, env.reset()[0])


def test_a_player_that_is_not_understood_goes_on_with_the_default(settings: BridgeConfig) -> None:
    confused = Confused()
    with VectorEnv(FORMAT, 2, seed=1, opponent=confused, bridge=settings) as env:
        observation, _ = env.reset()
        for _ in range(40):
            observation, _, _, truncated, _ = env.step(choose(observation))
            assert not truncated.any()
    assert confused.said > 40


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
@pytest.mark.parametrize("line", ["turn", "player"])
def test_a_battle_that_the_model_of_a_player_cannot_follow_is_given_up_and_no_other(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch, kind: type[VectorEnv], line: str
) -> None:
    class Forgetful(SinglesModel):
        def parse_message(self, split_message: list[str]) -> None:
            is_third = split_message[1] != "turn" or split_message[2] == "3"
            if self.battle_tag.endswith("-1-0") and split_message[1] == line and is_third:
                raise KeyError("never heard of it")
            super().parse_message(split_message)

    monkeypatch.setattr("maple.env.players.SinglesModel", Forgetful)
    with kind(FORMAT, 2, seed=1, opponent="heuristics", bridge=settings) as env:
        observation, _ = env.reset()
        reasons: list[tuple[int, str]] = []
        for _ in range(12):
            observation, reward, _, truncated, info = env.step(choose(observation))
            for row in np.flatnonzero(truncated):
                reasons.append((int(row), info["reason"][row]))
                assert reward[row] == 0
        rooms = env.stats(round_trips=False)["pool"]["rooms"]
    words = "OpponentFailed: Heuristics cannot follow the battle: KeyError: 'never heard of it'"
    # One that cannot be followed from the beginning is left out.
    assert reasons == ([(1, words)] if line == "turn" else [])
    assert rooms <= 4


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_battles_that_did_not_begin_count_no_more_after_a_reset(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch, kind: type[VectorEnv]
) -> None:
    class Forgetful(SinglesModel):
        forgotten = 5

        def parse_message(self, split_message: list[str]) -> None:
            number = int(self.battle_tag.rpartition("-")[2])
            if split_message[1] == "player" and number < self.forgotten:
                raise KeyError("never heard of it")
            super().parse_message(split_message)

    monkeypatch.setattr("maple.env.players.SinglesModel", Forgetful)
    with kind(FORMAT, 1, seed=1, opponent="heuristics", bridge=settings) as env:
        with pytest.raises(OpponentFailed, match="never heard of it"):
            env.reset()
        Forgetful.forgotten = 4
        play_on(env, env.reset(seed=1)[0])


def test_a_battle_to_which_the_opponent_cannot_sit_down_keeps_no_place(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unborn(SinglesModel):
        def __init__(self, *values: object, **named: object) -> None:
            raise KeyError("no model today")

    with VectorEnv(FORMAT, 2, seed=1, opponent="heuristics", bridge=settings) as env:
        with monkeypatch.context() as patch:
            patch.setattr("maple.env.players.SinglesModel", Unborn)
            for _ in range(3):
                with pytest.raises(KeyError, match="no model today"):
                    env.reset()
        play_on(env, env.reset()[0], steps=1)
        assert env.stats(round_trips=False)["pool"]["rooms"] == 2


class Grudge(RandomPlayer):
    """Raises in its first battle, once it is asked in another one."""

    def __init__(self) -> None:
        super().__init__(battle_format=FORMAT, start_listening=False)
        self.asked = 0
        self.raised = 0
        self.again = asyncio.Event()

    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:  # type: ignore[override]
        self.asked += 1
        if self.asked == 1:
            await self.again.wait()
            self.raised += 1
            raise LookupError("too late")
        self.again.set()
        return self.choose_random_move(battle)


@pytest.mark.parametrize("kind", [VectorEnv, SerialVectorEnv])
def test_whoever_fails_in_a_battle_that_was_given_up_stops_nobody(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    grudge = Grudge()
    with kind(FORMAT, 1, seed=1, opponent=grudge, bridge=settings, step_timeout=0.5) as env:
        env._stage.battles.timeout = 0.5 if kind is SerialVectorEnv else 20.0
        env.async_reset()
        if kind is VectorEnv:
            env.recv()
        else:
            with pytest.raises(StepTimeout):
                env.recv()
        env._stage.battles.timeout = 20.0
        play_on(env, env.reset()[0])
    assert grudge.raised == 1


class Sleeper(Player):
    """Never comes to a decision."""

    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        await asyncio.Event().wait()
        raise AssertionError("it was woken")


def test_an_opponent_that_never_decides_is_waited_for_no_longer_than_a_step(
    settings: BridgeConfig,
) -> None:
    before = threading.active_count()
    sleeper = Sleeper(battle_format=FORMAT, start_listening=False)
    with VectorEnv(FORMAT, 2, opponent=sleeper, bridge=settings, step_timeout=0.5) as env:
        env._stage.battles.timeout = 20.0
        observation, _ = env.reset()
        env._stage.battles.timeout = 0.5
        with pytest.raises(StepTimeout, match="environments 0, 1"):
            env.step(choose(observation))
    assert threading.active_count() == before


def test_an_environment_closes_though_its_policy_does_not_return(
    settings: BridgeConfig, processes: Callable[[], list[psutil.Process]]
) -> None:
    held = threading.Event()

    def policy(features: np.ndarray, ids: np.ndarray) -> np.ndarray:
        held.wait()
        return np.zeros((len(features), 10))

    env = VectorEnv(FORMAT, 2, seed=1, opponent=policy, bridge=settings)
    try:
        observation, _ = env.reset()
        env._stage.battles.timeout = 0.5
        with pytest.raises(StepTimeout):
            env.step(choose(observation))
        env.close()
        assert not processes()
    finally:
        held.set()
