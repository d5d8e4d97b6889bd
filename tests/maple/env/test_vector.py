"""Battles as a vector environment, by Gymnasium's rules and by EnvPool's, on real processes."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import psutil
import pytest
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from poke_env.player import RandomPlayer

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.errors import BattleRejected, ConfigError, PoolExhausted
from maple.env import IllegalAction, VectorEnv
from maple.env.battle import Battle, Rival
from maple.env.loop import OwnLoop
from tests.conftest import LOOPS, controllers

from .hands import TEAM, VGC_TEAM, choose, step

QUICK = "gen1randombattle"
SINGLES = [f"gen{generation}randombattle" for generation in range(1, 10)]


def make(settings: BridgeConfig, format: str = QUICK, num_envs: int = 2, **named: Any) -> VectorEnv:
    given: dict[str, Any] = {"seed": 1, "bridge": settings}
    return VectorEnv(format, num_envs, **(given | named))


def play_to_ends(env: VectorEnv, ends: int) -> list[dict[str, Any]]:
    """Steps until so many battles have ended; what `info` said of each end."""
    observation, _ = env.reset()
    seen: list[dict[str, Any]] = []
    while len(seen) < ends:
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        for row in np.flatnonzero(terminated | truncated):
            told = {name: info[name][row] for name in ("winner", "turns", "reason", "final_obs")}
            seen.append(told | {"reward": float(reward[row]), "truncated": truncated[row]})
    return seen


# Gymnasium


def test_spaces_and_steps_are_what_gymnasium_wants(settings: BridgeConfig) -> None:
    with make(settings, num_envs=3) as env:
        assert isinstance(env, gymnasium.vector.VectorEnv)
        assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
        assert env.num_envs == 3
        observation, info = env.reset(seed=3)
        assert env.observation_space.contains(observation)
        assert info["env_id"].tolist() == [0, 1, 2]
        actions = choose(observation)
        assert env.action_space.contains(actions)
        observation, reward, terminated, truncated, info = env.step(actions)
        assert env.observation_space.contains(observation)
        for array in (reward, terminated, truncated):
            assert array.shape == (3,)
        assert terminated.dtype == truncated.dtype == np.bool_
        single = {name: part[0] for name, part in observation.items()}
        assert env.single_observation_space.contains(single)


def test_it_goes_on_with_the_next_battle_in_the_step_that_ends_one(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2) as env:
        observation, _ = env.reset()
        while True:
            observation, reward, terminated, truncated, info = env.step(choose(observation))
            if terminated.any():
                break
        row = int(np.flatnonzero(terminated)[0])
        assert not truncated.any()
        assert info["_final_obs"].tolist() == info["_final_info"].tolist() == terminated.tolist()
        last = info["final_obs"][row]
        assert not last["action_mask"].any()
        assert env.single_observation_space.contains(last)
        assert observation["action_mask"][row].any()
        final = info["final_info"]
        assert final["reason"][row] == "win"
        assert final["turns"][row] > 1
        won = final["winner"][row] == "p1"
        assert reward[row] == (1 if won else -1)
        assert info["reward_parts"]["win"][row] == won
        assert reward[1 - row] == 0
        # A battle of its own: its first turn, with everybody at full health.
        turn = env._observations.feature_names().index("decision.0.asked.turn")
        assert observation["features"][row, turn] <= 1 / 255


def test_wrappers_of_gymnasium_find_what_they_look_for(settings: BridgeConfig) -> None:
    env = RecordEpisodeStatistics(make(settings, num_envs=3))
    observation, _ = env.reset(seed=1)
    episodes = 0
    while episodes < 3:
        observation, _, terminated, _, info = env.step(choose(observation))
        if terminated.any():
            episodes += int(terminated.sum())
            assert set(np.abs(info["episode"]["r"][terminated])) == {1}
            assert (info["episode"]["l"][terminated] > 5).all()
    env.close()

    listed = DictInfoToList(make(settings, num_envs=2))
    observation, infos = listed.reset()
    assert [info["env_id"] for info in infos] == [0, 1]
    terminated = np.zeros(2, np.bool_)
    while not terminated.any():
        observation, _, terminated, _, infos = listed.step(choose(observation))
    for info, end in zip(infos, terminated, strict=True):
        assert ("final_info" in info) == ("winner" in info) == end
        assert not end or info["final_info"]["reason"] == "win"
    listed.close()


def test_actions_that_are_wrong_are_named_and_change_nothing(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2) as env:
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(np.zeros(2, int))
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.keys()
        observation, _ = env.reset()
        actions = choose(observation)
        illegal = actions.copy()
        illegal[1] = int(np.flatnonzero(observation["action_mask"][1] == 0)[0])
        with pytest.raises(IllegalAction, match=r"agent 1: action .* is not legal"):
            env.step(illegal)
        with pytest.raises(ValueError, match=r"must be \(2,\)"):
            env.step(actions[:1])
        observation, *_ = env.step(actions)
        assert observation["action_mask"].any(axis=1).all()


@pytest.mark.parametrize("format", SINGLES)
def test_every_generation_is_played_to_its_ends(settings: BridgeConfig, format: str) -> None:
    with make(settings, format, num_envs=3) as env:
        ends = play_to_ends(env, 3)
    assert not any(end["truncated"] for end in ends)
    assert {end["reason"] for end in ends} <= {"win", "tie"}


@pytest.mark.parametrize(
    ("format", "teams", "slots"),
    [
        ("gen9randomdoublesbattle", None, 2),
        ("gen9nationaldex", TEAM, 1),
        ("gen9vgc2025regi", VGC_TEAM, 2),
        ("gen9bssfactory", None, 1),
        ("gen91v1factory", None, 1),
    ],
)
def test_doubles_and_team_previews_are_played_to_their_ends(
    settings: BridgeConfig, format: str, teams: str | None, slots: int
) -> None:
    with make(settings, format, num_envs=4, teams=teams, opponent="self") as env:
        assert env.single_action_space.shape == ((2,) if slots == 2 else ())
        ends = play_to_ends(env, 4)
    assert not any(end["truncated"] for end in ends)


def test_a_team_preview_is_picked_from_one_after_the_other(settings: BridgeConfig) -> None:
    with make(settings, "gen9vgc2025regi", num_envs=1, teams=VGC_TEAM) as env:
        observation, _ = env.reset()
        mask = observation["action_mask"][0]
        assert [np.flatnonzero(slot).tolist() for slot in mask] == [[1, 2, 3, 4, 5, 6]] * 2
        with pytest.raises(IllegalAction):
            env.step(np.array([[3, 3]]))
        observation, reward, *_ = env.step(np.array([[3, 5]]))
        mask = observation["action_mask"][0]
        assert [np.flatnonzero(slot).tolist() for slot in mask] == [[1, 2, 4, 6]] * 2
        assert reward.tolist() == [0]
        observation, *_ = env.step(np.array([[1, 6]]))
        legal = np.flatnonzero(observation["action_mask"][0, 0])
        assert (legal >= 7).any(), "the battle has begun, and there are moves"
        # Only those who wait behind the two that lead can be sent in.
        assert {1, 6} >= {action for action in legal if 1 <= action <= 6}


# EnvPool


def test_receive_returns_as_many_as_were_asked_for_and_each_of_them_once(
    settings: BridgeConfig,
) -> None:
    with make(settings, num_envs=6, batch_size=4) as env:
        env.async_reset()
        observation, reward, terminated, truncated, first = env.recv()
        assert len(first["env_id"]) == len(reward) == len(terminated) == len(truncated) == 4
        assert first["env_id"].tolist() == sorted(first["env_id"].tolist())
        *_, second = env.recv()
        assert sorted([*first["env_id"], *second["env_id"]]) == list(range(6))
        with pytest.raises(RuntimeError, match="before actions are sent"):
            env.recv()
        env.send(choose(observation), first["env_id"])
        *_, third = env.recv()
        assert third["env_id"].tolist() == first["env_id"].tolist()


def test_what_was_not_received_cannot_be_sent(settings: BridgeConfig) -> None:
    with make(settings, num_envs=3, batch_size=1) as env:
        env.async_reset()
        observation, *_, info = env.recv()
        (agent,) = info["env_id"].tolist()
        action = choose(observation)
        with pytest.raises(ValueError, match="nothing to decide"):
            env.send(action, np.array([(agent + 1) % 3]))
        with pytest.raises(IndexError, match="agents are 0 to 2"):
            env.send(action, np.array([-1]))
        with pytest.raises(ValueError, match="two actions"):
            env.send(np.repeat(action, 2), np.array([agent, agent]))
        with pytest.raises(ValueError, match="for"):
            env.send(np.repeat(action, 2), info["env_id"])
        env.send(action, info["env_id"])
        with pytest.raises(ValueError, match="nothing to decide"):
            env.send(action, info["env_id"])


def test_node_works_on_what_was_sent_while_nobody_waits(settings: BridgeConfig) -> None:
    with make(settings, num_envs=4) as env:
        env.async_reset()
        observation, *_, info = env.recv()
        registry = env._stage._registry
        assert registry is not None
        (controller,) = registry._ready()
        assert controller._transport is not None
        channel = controller._transport.get_extra_info("socket").fileno()
        assert select.select([channel], [], [], 0)[0] == []
        env.send(choose(observation), info["env_id"])
        # Nothing of ours runs from here on, and yet there is an answer.
        assert select.select([channel], [], [], 30)[0] == [channel]
        assert len(env.recv()[4]["env_id"]) == 4


# Battles that are opened ahead


@pytest.mark.parametrize("failing", [1, 2])
def test_a_battle_that_nobody_needed_yet_may_fail_to_open_and_is_opened_when_it_is(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    rows, agents = 200, range(1)
    opened: list[Any] = []
    open_room = ControllerRegistry.open

    async def open_or_fail(self: ControllerRegistry, *words: Any, **named: Any) -> BattleRoom:
        opened.append(named["seed"])
        if len(opened) == failing:
            raise PoolExhausted("no place beside the battle under way")
        return await open_room(self, *words, **named)

    with make(settings, num_envs=1) as env:
        calm = step(env, rows, agents)
        monkeypatch.setattr(ControllerRegistry, "open", open_or_fail)
        if failing == 1:
            with pytest.raises(PoolExhausted):
                env.reset(seed=1)
            return
        assert step(env, rows, agents, seed=1) == calm
    assert opened[1] == opened[2], "the battle is the same"


# Both seats


def test_both_seats_are_agents_that_wait_for_each_other(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2, opponent="self") as env:
        assert env.num_envs == 4
        assert env.num_battles == 2
        observation, info = env.reset()
        assert not info["waiting"].any()
        waited, ends = 0, 0
        while not (waited and ends):
            observation, reward, terminated, _, info = env.step(choose(observation))
            waiting = info["waiting"]
            assert not waiting.reshape(2, 2).all(axis=1).any(), "a battle waits for somebody"
            assert (observation["action_mask"][waiting].sum(axis=1) == 1).all()
            assert (observation["action_mask"][waiting][:, 0] == 1).all()
            assert not reward[waiting].any()
            waited += int(waiting.sum())
            ends += int(terminated.sum())
            assert reward.reshape(2, 2).sum() == 0, "what one wins the other loses"


REWARDS = dict.fromkeys(
    ("win", "loss", "tie", "knock_out", "fainted", "hp", "status", "turn", "switch", "failed"), 1.0
)


def test_rewards_do_not_depend_on_who_waits_in_a_step(settings: BridgeConfig) -> None:
    """What an agent that waits is given in `step` is not what it did last."""
    decisions = 60
    stepped: dict[int, list[list[float]]] = {agent: [] for agent in range(4)}
    received: dict[int, list[list[float]]] = {agent: [] for agent in range(4)}
    waited = 0
    with make(settings, opponent="self", reward=REWARDS) as env:
        observation, info = env.reset()
        while min(map(len, stepped.values())) < decisions:
            observation, *_, info = env.step(choose(observation))
            waited += int(info["waiting"].sum())
            note_parts(stepped, info, ~info["waiting"])
        env.async_reset(seed=1)
        observation, *_, info = env.recv()
        while min(map(len, received.values())) < decisions:
            env.send(choose(observation), info["env_id"])
            observation, *_, info = env.recv()
            note_parts(received, info, np.ones(len(info["env_id"]), np.bool_))
    assert waited
    for agent in range(4):
        assert stepped[agent][:decisions] == received[agent][:decisions]


def note_parts(parts: dict[int, list[list[float]]], info: dict[str, Any], rows: np.ndarray) -> None:
    for row in np.flatnonzero(rows):
        told = [float(count[row]) for count in info["reward_parts"].values()]
        parts[int(info["env_id"][row])].append(told)


def test_what_is_refused_is_not_what_an_agent_did(settings: BridgeConfig) -> None:
    reward = {"win": 0.0, "loss": 0.0, "switch": 1.0}
    with make(settings, num_envs=1, reward=reward) as env:
        observation, info = env.reset()
        assert observation["action_mask"][0, 6] == 1
        env.send(np.array([6]), info["env_id"])
        with pytest.raises(ValueError, match="nothing to decide"):
            env.send(np.array([1]), info["env_id"])
        assert env.recv()[1].tolist() == [0]


def test_receive_hands_out_only_those_that_must_decide(settings: BridgeConfig) -> None:
    with make(settings, num_envs=3, opponent="self", batch_size=2) as env:
        env.async_reset()
        for _ in range(200):
            observation, _, _, _, info = env.recv()
            assert len(info["env_id"]) <= 2
            assert not info["waiting"].any()
            assert observation["action_mask"].any(axis=1).all()
            env.send(choose(observation), info["env_id"])


def test_receive_returns_fewer_where_no_others_will_have_to_decide(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2, opponent="self", batch_size=4) as env:
        env.async_reset()
        sizes: set[int] = set()
        while sizes != {2, 3, 4}:
            observation, *_, info = env.recv()
            sizes.add(len(info["env_id"]))
            env.send(choose(observation), info["env_id"])


# Refusals


def test_an_agent_whose_choice_is_refused_decides_again(settings: BridgeConfig) -> None:
    """A trapped Pokémon finds out when it tries to leave: Shadow Tag is not announced in gen 4."""
    trapper = "Wobbuffet||leftovers|shadowtag|counter,mirrorcoat,encore,splash|Bold|252|||||"
    prey = "]".join(
        f"{name}|||{ability}|splash,tackle|Hardy|252|||||"
        for name, ability in (("Magikarp", "swiftswim"), ("Feebas", "swiftswim"))
    )
    teams = {"p1": prey, "p2": trapper}
    with make(settings, "gen4anythinggoes", num_envs=1, teams=teams, opponent="self") as env:
        observation, _ = env.reset()
        mask = observation["action_mask"]
        assert mask[0, 1], "nothing says yet that it cannot leave"
        stays = int(np.flatnonzero(mask[1, 6:])[0]) + 6
        observation, reward, terminated, truncated, info = env.step(np.array([1, stays]))
        assert info["waiting"].tolist() == [False, True]
        assert not observation["action_mask"][0, :6].any(), "now it knows"
        assert not reward.any()
        assert not (terminated | truncated).any()
        trapped = env._observations.feature_names().index("decision.0.slots.trapped")
        assert observation["features"][0, trapped] == 1
        # The other's choice stands: one more is enough for the turn.
        observation, _, _, _, info = env.step(np.array([6, 0]))
        assert not info["waiting"].any()


# Settings


def test_settings_that_make_no_sense_are_refused_and_leave_no_process(
    settings: BridgeConfig,
) -> None:
    before = controllers()
    for wrong, words in (
        ({"num_envs": 0}, "num_envs is 0, but must be at least 1"),
        ({"num_envs": 2.0}, "num_envs is 2.0, but must be a whole number"),
        ({"num_envs": 2000}, "raise pool"),
        ({"batch_size": 3}, "batch_size is 3, but there are"),
        ({"batch_size": 1.5}, "batch_size is 1.5, but must be a whole number"),
        ({"opponent": RandomPlayer}, "RandomPlayer is a class"),
        ({"reward": 1.0}, "reward is a RewardConfig, a mapping or a YAML file, not 1.0"),
        ({"bridge": {"pool": 1}}, "bridge is a BridgeConfig or the path of a YAML file"),
        ({"bridge": "nowhere.yml"}, "cannot read nowhere.yml"),
        ({"teams": "nonsense"}, "draws teams of its own"),
        ({"observation": ["weather"]}, "there are actives"),
        ({"opponent": "nobody"}, "unknown opponent 'nobody'"),
        ({"reward": {"wim": 1.0}}, "did you mean 'win'"),
        ({"reward_parts": ["faint"]}, "did you mean 'fainted'"),
        ({"reward_parts": "hp"}, "several names"),
        ({"observation": ["own_tea"]}, "did you mean 'own_team'"),
        ({"step_timeout": 0}, "step_timeout"),
        ({"format": "gen9ou"}, "wants teams"),
        ({"format": "gen9triples"}, "not singles or doubles"),
    ):
        with pytest.raises((ConfigError, BattleRejected), match=words):
            make(settings, **wrong)
    with pytest.raises(BattleRejected, match="gen9nothing"):
        make(settings, "gen9nothing")
    with pytest.raises(BattleRejected) as refused:
        make(settings, "gen9ou", teams="Garchomp||leftovers|levitate|earthquake||||||")
    assert refused.value.problems
    assert controllers() == before


def test_rewards_and_observations_are_those_that_were_asked_for(settings: BridgeConfig) -> None:
    reward = {"win": 0.0, "loss": 0.0, "turn": -0.5, "fainted": -2.0}
    with make(settings, reward=reward, observation=["own_team"]) as env:
        names = env._observations.feature_names()
        assert {name.partition(".")[0] for name in names} == {"decision", "own_team"}
        observation, info = env.reset()
        assert info["reward_parts"].keys() == {"turn", "fainted"}
        total = 0.0
        for _ in range(120):
            observation, given, _, _, info = env.step(choose(observation))
            parts = info["reward_parts"]
            assert given == pytest.approx(parts["turn"] + parts["fainted"])
            assert (parts["turn"] == -0.5).all()
            total += float(parts["fainted"].sum())
        assert total <= -2 * 6, "in so many steps whole teams faint"


def test_weights_of_rewards_change_from_one_step_to_the_next(settings: BridgeConfig) -> None:
    with make(settings, reward={"win": 0, "loss": 0}, reward_parts=["turn", "hp"]) as env:
        observation, _ = env.reset()
        lost = np.zeros(2)
        for steps in range(40):
            if steps == 20:
                assert lost.any()
                env.update_reward({"win": 0, "loss": 0, "turn": 0.5, "hp": 2})
            observation, reward, _, _, info = env.step(choose(observation))
            counts, parts = info["reward_counts"], info["reward_parts"]
            assert (counts["turn"] == 1).all()
            lost += np.abs(counts["hp"])
            weights = {"turn": 0.5, "hp": 2.0} if steps >= 20 else {"turn": 0.0, "hp": 0.0}
            for name, weight in weights.items():
                assert parts[name] == pytest.approx(weight * counts[name])
            assert reward == pytest.approx(parts["turn"] + parts["hp"])
        with pytest.raises(ConfigError, match="fainted cannot have a weight"):
            env.update_reward({"fainted": -1})


def test_a_move_that_fails_is_penalised_once_each_time(settings: BridgeConfig) -> None:
    """Fake Out works in the first turn alone."""
    teams = {
        "p1": "Persian||leftovers|technician|fakeout,screech|Hardy|252|||||",
        "p2": "Wobbuffet||leftovers|shadowtag|splash|Bold|252|||||",
    }
    reward = {"win": 0, "loss": 0, "failed": -0.5}
    with make(settings, "gen4anythinggoes", 1, teams=teams, reward=reward) as env:
        env.reset()
        given = [float(env.step(np.array([action]))[1][0]) for action in (6, 6, 6, 7, 6)]
    assert given == [0, -0.5, -0.5, 0, -0.5]


# Life


def test_it_says_what_it_does(settings: BridgeConfig) -> None:
    env = make(settings, num_envs=2)
    assert "2 environments, 0 busy, 0 agents ready, 0 acting" in repr(env)
    observation, _ = env.reset()
    assert "2 acting" in repr(env)
    env.close()
    assert repr(env) == f"<VectorEnv {QUICK}: closed>"
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step(choose(observation))


def test_a_battle_can_be_shown_before_it_has_a_room() -> None:
    assert (
        repr(Battle(cast(Any, None), 3, 14, Rival("self", None)))
        == "<Battle 14 of environment 3: not open yet>"
    )


def test_it_cannot_be_pickled_and_says_what_to_do(settings: BridgeConfig) -> None:
    with (
        make(settings, num_envs=1) as env,
        pytest.raises(TypeError, match="make one in each process"),
    ):
        pickle.dumps(env)


def test_closing_in_the_middle_of_everything_ends_all_processes(settings: BridgeConfig) -> None:
    before = controllers()
    env = make(settings, num_envs=8)
    env.async_reset()
    env.close()
    env = make(settings, num_envs=8)
    observation, info = env.reset()
    env.send(choose(observation), info["env_id"])
    env.close()
    assert controllers() == before


def test_an_environment_that_nobody_has_any_more_ends_its_processes(
    settings: BridgeConfig,
) -> None:
    before = controllers()
    env = make(settings, num_envs=3)
    env.reset()
    assert controllers() > before
    del env
    gc.collect()
    assert controllers() == before


@pytest.mark.parametrize("end", ["pass", "raise RuntimeError('over')", "os._exit(4)"])
def test_a_program_that_ends_leaves_neither_processes_nor_words(end: str) -> None:
    program = f"""
import os, sys, psutil
from bridge import BridgeConfig
from maple.env import VectorEnv
env = VectorEnv({QUICK!r}, 3, seed=1, bridge=BridgeConfig(pool=1, warmup_battles=0))
env.reset()
print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
{end}
"""
    folder = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'src'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids, done.stderr
    _, alive = psutil.wait_procs(_processes(pids), timeout=30)
    assert not alive
    said = done.stderr.splitlines()
    expected = ["Traceback", "RuntimeError: over"] if "raise" in end else []
    assert [said[0].partition(" ")[0], said[-1]] == expected if expected else said == []


def _processes(pids: list[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        try:
            found.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.parametrize("loop", LOOPS)
def test_ctrl_c_ends_the_wait_and_nothing_else(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    monkeypatch.setattr("maple.env.loop._loop_factory", lambda: LOOPS[loop])
    before = controllers()
    with make(settings, num_envs=2) as env:
        observation, info = env.reset()
        (node,) = controllers() - before
        node.suspend()
        env.send(choose(observation), info["env_id"])
        waits = threading.Event()

        def interrupt() -> None:
            waits.wait()
            os.kill(os.getpid(), signal.SIGINT)

        striker = threading.Thread(target=interrupt)
        striker.start()
        own = env._loop._runner.get_loop()
        # In the second turn of the loop: in the first, `recv` comes to wait.
        own.call_soon(own.call_soon, waits.set)
        with pytest.raises(KeyboardInterrupt):
            env.recv()
        striker.join()
        node.resume()
        observation, *_, info = env.recv()
        assert info["env_id"].tolist() == [0, 1]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert controllers() == before


@pytest.mark.parametrize("loop", LOOPS)
def test_a_handler_of_signals_is_told_how_things_stand_while_a_step_waits(
    settings: BridgeConfig, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    monkeypatch.setattr("maple.env.loop._loop_factory", lambda: LOOPS[loop])
    told: list[dict[str, Any]] = []
    with make(settings, num_envs=2) as env:
        observation, info = env.reset()

        def tell(number: int, frame: object) -> None:
            told.append(env.stats())
            with pytest.raises(RuntimeError, match="from within its own loop"):
                env.warmed()

        before = signal.signal(signal.SIGUSR1, tell)
        try:
            env.send(choose(observation), info["env_id"])
            own = env._loop._runner.get_loop()
            own.call_soon(own.call_soon, os.kill, os.getpid(), signal.SIGUSR1)
            env.recv()
        finally:
            signal.signal(signal.SIGUSR1, before)
        [stats] = told
        assert stats["pool"]["rooms"] == 2
        assert repr(env._loop) == "<OwnLoop: in the caller>"


def test_whoever_deals_with_ctrl_c_already_goes_on_doing_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> Any:  # noqa: ANN401 - what Python knows of who deals with it
        return signal.getsignal(signal.SIGINT)

    async def last() -> None:
        """Nothing."""

    def handle(number: int, frame: object) -> None:
        """Nothing."""

    loop = OwnLoop()
    before = signal.signal(signal.SIGINT, handle)
    try:
        assert loop.run(work()) is handle
        assert signal.getsignal(signal.SIGINT) is handle
    finally:
        signal.signal(signal.SIGINT, before)
    # One that was installed from C: Python cannot put it back.
    replaced: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr("signal.getsignal", lambda _: None)
        patch.setattr("signal.signal", lambda *words: replaced.append(words))
        assert loop.run(work()) is None
    assert replaced == []
    loop.close(last())


async def test_it_works_where_an_event_loop_runs_already(settings: BridgeConfig) -> None:
    """As in a notebook, where every cell runs inside a loop."""
    before = {thread.name for thread in threading.enumerate()}
    with make(settings, num_envs=2) as env:
        observation, _ = env.reset()
        for _ in range(30):
            observation, *_ = env.step(choose(observation))
        await asyncio.sleep(0)
        with pytest.raises(IllegalAction):
            env.step(np.array([-1, 99]))
    assert {thread.name for thread in threading.enumerate()} == before


def test_it_can_move_from_a_thread_without_a_loop_to_one_with_it(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2) as env:
        observation, _ = env.reset()

        async def go_on() -> dict[str, Any]:
            return env.step(choose(observation))[0]

        observation = asyncio.run(go_on())
        observation, *_ = env.step(choose(observation))
        assert observation["action_mask"].any(axis=1).all()


def test_a_forked_process_cannot_use_it_and_does_not_end_it(settings: BridgeConfig) -> None:
    with make(settings, num_envs=2) as env:
        observation, _ = env.reset()
        child = os.fork()
        if child == 0:
            try:
                env.step(choose(observation))
            except RuntimeError:
                env.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        observation, *_ = env.step(choose(observation))
        assert observation["action_mask"].any(axis=1).all()


def test_hundreds_of_battles_leave_neither_rooms_nor_tasks(settings: BridgeConfig) -> None:
    with make(settings, QUICK, num_envs=16, seed=3) as env:
        observation, _ = env.reset()
        ends = 0
        readings: list[dict[str, int]] = []
        while ends < 120:
            observation, _, terminated, truncated, _ = env.step(choose(observation))
            assert not truncated.any()
            ends += int(terminated.sum())
            if len(readings) < ends // 30:
                gc.collect()
                rooms = env.stats(round_trips=False)["pool"]["rooms"]
                readings.append({"rooms": rooms} | env._loop.run(_census()))
    assert max(reading["rooms"] for reading in readings) <= 2 * 16
    assert max(reading["tasks"] for reading in readings) <= 16 + 10
    assert readings[-1]["objects"] < readings[0]["objects"] * 1.2


async def _census() -> dict[str, int]:
    return {
        "tasks": len(asyncio.all_tasks()),
        "objects": len(gc.get_objects()),
    }
