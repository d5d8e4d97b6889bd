"""The environments of Gymnasium, PettingZoo and Stable-Baselines3, by the checks of each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
import torch
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from bridge import BridgeConfig
from bridge.errors import ConfigError
from maple.env import IllegalAction
from maple.env.actions import Action
from maple.env.gymnasium import BattleEnv
from maple.env.pettingzoo import BattleParallelEnv
from maple.env.row import Observation
from maple.env.stable_baselines import BattleVecEnv
from maple.env.vector import VectorEnv

REPOSITORY = Path(__file__).resolve().parents[3]
COLD = BridgeConfig(pool=1, warmup_battles=0)
SINGLES = "gen9randombattle"
DOUBLES = "gen9randomdoublesbattle"


def last_legal(observation: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """A move, if there is one: who switches for ever comes to no end."""
    mask = observation["action_mask"]
    last: npt.NDArray[np.int64] = mask.shape[-1] - 1 - mask[..., ::-1].argmax(axis=-1)
    return last


# Gymnasium


@pytest.fixture
def battle_env() -> Iterator[BattleEnv]:
    env = BattleEnv(SINGLES, opponent="random", bridge=COLD)
    yield env
    env.close()


def play(env: BattleEnv, observation: dict[str, Any]) -> tuple[int, Any]:
    """Plays to the end, and returns how many steps it took and what the last one brought."""
    for steps in range(1, 2000):
        result = env.step(last_legal(observation))
        observation = result[0]
        if result[2] or result[3]:
            return steps, result
        assert "winner" not in result[4]
    raise AssertionError("the battle does not end")


class Tolerant(BattleEnv):
    """Gymnasium's checker samples whatever the space has; what is illegal becomes legal here."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        self.seen, info = super().reset(seed=seed, options=options)
        return self.seen, info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self.seen["action_mask"][action]:
            action = last_legal(self.seen)
        result = super().step(action)
        self.seen = result[0]
        return result


def tolerant_env(**settings: Any) -> Tolerant:
    return Tolerant(SINGLES, opponent="random", bridge=COLD, **settings)


def test_a_single_environment_passes_the_check_of_gymnasium() -> None:
    # Whoever has a spec that says so is also checked for being deterministic.
    spec = EnvSpec("maple/Battle-v0", tolerant_env, order_enforce=False, disable_env_checker=True)
    with spec.make() as env:
        check_env(env.unwrapped)


def test_a_battle_ends_once_and_the_next_begins_with_a_reset(battle_env: BattleEnv) -> None:
    observation, info = battle_env.reset(seed=3)
    assert info == {"reward_parts": {"win": 0, "loss": 0}}
    _, (last, reward, terminated, truncated, info) = play(battle_env, observation)
    assert (terminated, truncated) == (True, False)
    assert not last["action_mask"].any()
    assert info["winner"] in ("p1", "p2")
    assert reward == (1 if info["winner"] == "p1" else -1)
    assert info["reward_parts"] == {"win": max(reward, 0), "loss": min(reward, 0)}
    assert (info["reason"], type(info["turns"])) == ("win", int)
    with pytest.raises(ValueError, match="no options, but was given weather"):
        battle_env.reset(options={"weather": "rain"})
    with pytest.raises(gymnasium.error.ResetNeeded):
        battle_env.step(0)
    observation, info = battle_env.reset()
    assert observation["action_mask"].any()
    assert info == {"reward_parts": {"win": 0, "loss": 0}}, "nothing of the battle before"
    assert observation in battle_env.observation_space
    battle_env.step(last_legal(observation))


def test_a_seed_gives_the_same_battles_again(battle_env: BattleEnv) -> None:
    def battles() -> list[Any]:
        told = []
        observation, _ = battle_env.reset(seed=11)
        for _ in range(2):
            steps, (last, reward, _, _, info) = play(battle_env, observation)
            told.append((steps, reward, info["turns"], last["features"].tobytes()))
            observation, _ = battle_env.reset()
        return told

    first = battles()
    assert battles() == first
    assert first[0] != first[1]


def test_an_illegal_action_changes_nothing(battle_env: BattleEnv) -> None:
    observation, _ = battle_env.reset(seed=5)
    illegal = int(observation["action_mask"].argmin())
    with pytest.raises(IllegalAction, match=f"action {illegal} "):
        battle_env.step(illegal)
    after, *_ = battle_env.step(last_legal(observation))
    battle_env.reset(seed=5)
    again, *_ = battle_env.step(last_legal(observation))
    assert np.array_equal(after["features"], again["features"])


def test_a_single_environment_in_doubles_takes_pairs() -> None:
    env = BattleEnv(DOUBLES, opponent="random", bridge=COLD)
    observation, _ = env.reset(seed=1)
    mask = observation["action_mask"]
    first = int(mask[0].argmax())
    second = int(
        env.battles.observations.actions.second_mask(mask[None], np.array([first]))[0].argmax()
    )
    after, *_ = env.step((first, second))
    assert after in env.observation_space
    env.close()


def test_one_seat_and_both_seats_are_different_environments() -> None:
    with pytest.raises(ConfigError, match="BattleParallelEnv"):
        BattleEnv(SINGLES, opponent="self")
    with pytest.raises(ConfigError, match="BattleEnv"):
        BattleParallelEnv(SINGLES, opponent="random")


# PettingZoo


@pytest.fixture
def parallel_env() -> Iterator[BattleParallelEnv]:
    env = BattleParallelEnv(SINGLES, bridge=COLD)
    yield env
    env.close()


def test_both_seats_pass_the_test_of_pettingzoo(
    parallel_env: BattleParallelEnv, capsys: pytest.CaptureFixture[str]
) -> None:
    parallel_api_test(parallel_env, num_cycles=2000)
    assert "Passed" in capsys.readouterr().out


def test_both_seats_learn_of_the_end_at_once(parallel_env: BattleParallelEnv) -> None:
    observations, infos = parallel_env.reset(seed=2)
    assert list(observations) == list(infos) == parallel_env.agents == ["p1", "p2"]
    waited = 0
    while True:
        actions = {agent: last_legal(seen) for agent, seen in observations.items()}
        observations, rewards, terminated, truncated, infos = parallel_env.step(actions)
        waited += sum(info["waiting"] for info in infos.values())
        if not parallel_env.agents:
            break
    assert waited
    assert terminated == {"p1": True, "p2": True}
    assert truncated == {"p1": False, "p2": False}
    assert sorted(rewards.values()) == [-1, 1]
    assert infos["p1"]["winner"] == infos["p2"]["winner"] == max(rewards, key=rewards.__getitem__)
    with pytest.raises(gymnasium.error.ResetNeeded):
        parallel_env.step({"p1": 0, "p2": 0})
    observations, infos = parallel_env.reset()
    assert all(seen["action_mask"].any() for seen in observations.values())
    assert all(not any(info["reward_parts"].values()) for info in infos.values())


def test_a_seed_gives_both_seats_the_same_battle_again(parallel_env: BattleParallelEnv) -> None:
    def begin(seed: int) -> list[bytes]:
        observations, _ = parallel_env.reset(seed=seed)
        actions = {agent: last_legal(seen) for agent, seen in observations.items()}
        after, *_ = parallel_env.step(actions)
        seen = [*observations.values(), *after.values()]
        return [one["features"].tobytes() for one in seen]

    first = begin(4)
    assert first[0] != first[1]
    assert begin(5) != first
    assert begin(4) == first


# Stable-Baselines3


@pytest.fixture
def vec_env() -> Iterator[BattleVecEnv]:
    env = BattleVecEnv(VectorEnv(SINGLES, 4, opponent="random", seed=7, bridge=COLD))
    yield env
    env.close()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads of torch that wait for each other take the cores that the simulator needs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_maskable_ppo_learns_from_legal_actions_alone(vec_env: BattleVecEnv) -> None:
    assert is_masking_supported(vec_env)
    model = MaskablePPO(
        "MlpPolicy",
        VecMonitor(vec_env),
        n_steps=64,
        batch_size=64,
        n_epochs=1,
        policy_kwargs={"net_arch": [32]},
        seed=1,
        device="cpu",
    )
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(512)
    assert model.num_timesteps == 512
    assert model.ep_info_buffer
    after = model.policy.parameters()
    assert any(not one.equal(other) for one, other in zip(before, after, strict=True))


def test_the_examples_of_the_document_run() -> None:
    text = (REPOSITORY / "docs" / "adapters.md").read_text("utf-8")
    one, both, learning = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert run(one) == ""
    assert run(both) == ""
    for name, smaller in (("num_envs", 4), ("n_steps", 32), ("total_timesteps", 256)):
        learning, found = re.subn(rf"{name}=[\d_]+", f"{name}={smaller}", learning)
        assert found == 1
    assert run(learning) == "256\n"


def run(example: str) -> str:
    """What an example prints, with a pool that is not warmed up."""
    settings = "bridge=BridgeConfig(pool=1, warmup_battles=0)"
    quicker = re.sub(r"\b(\w+Env\(\"gen9randombattle\")", rf"\1, {settings}", example)
    assert quicker != example
    done = subprocess.run(
        [sys.executable, "-c", f"from bridge import BridgeConfig\n{quicker}"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_masks_are_those_of_the_observations_that_were_returned(
    vec_env: BattleVecEnv,
) -> None:
    plain = VectorEnv(SINGLES, 4, opponent="random", seed=7, bridge=COLD)
    expected, _ = plain.reset()
    seen = vec_env.reset()
    for _ in range(40):
        assert isinstance(seen, np.ndarray)
        assert np.array_equal(seen, expected["features"])
        masks = get_action_masks(vec_env)
        assert masks.dtype == bool
        assert np.array_equal(masks, expected["action_mask"])
        assert np.array_equal(vec_env.env_method("action_masks", indices=2), masks[2:3])
        actions = last_legal(expected)
        expected, rewards, *_ = plain.step(actions)
        seen, told, _, _ = vec_env.step(actions)
        assert np.array_equal(told, rewards)
    plain.close()


def test_an_episode_ends_with_what_was_seen_last(vec_env: BattleVecEnv) -> None:
    vec_env.reset()
    while True:
        actions = last_legal({"action_mask": vec_env.action_masks()})
        seen, rewards, done, infos = vec_env.step(actions)
        assert ["terminal_observation" in info for info in infos] == done.tolist()
        if done.any():
            break
    [row, *_] = np.flatnonzero(done)
    assert isinstance(seen, np.ndarray)
    info = infos[row]
    assert info["terminal_observation"].shape == seen[row].shape
    assert not np.array_equal(info["terminal_observation"], seen[row])
    assert info["TimeLimit.truncated"] is False
    assert rewards[row] == (1 if info["winner"] == "p1" else -1)
    assert rewards[row] == sum(info["reward_parts"].values())


def test_the_seed_that_a_model_sets_decides_the_battles(vec_env: BattleVecEnv) -> None:
    def begin(seed: int) -> bytes:
        vec_env.seed(seed)
        seen = vec_env.reset()
        assert isinstance(seen, np.ndarray)
        return seen.tobytes()

    first = begin(1)
    assert begin(2) != first
    assert begin(1) == first
    assert vec_env.reset_infos == [{"reward_parts": {"win": 0, "loss": 0}}] * 4


def test_whoever_embeds_ids_gets_them_too() -> None:
    battles = VectorEnv(SINGLES, 2, bridge=COLD)
    env = BattleVecEnv(battles, keys=("features", "ids"))
    seen = env.reset()
    assert isinstance(seen, dict)
    assert {key: part.shape for key, part in seen.items()} == {
        "features": (2, 1762),
        "ids": (2, 164),
    }
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    assert set(env.observation_space.keys()) == {"features", "ids"}
    env.close()


def test_a_pair_in_doubles_is_one_action_of_which_only_legal_ones_are_allowed() -> None:
    battles = VectorEnv(DOUBLES, 3, opponent="random", seed=3, bridge=COLD)
    env = BattleVecEnv(battles)
    assert env.action_space == gymnasium.spaces.Discrete(107 * 107)
    random = np.random.default_rng(0)
    env.reset()
    ended = 0
    for _ in range(150):
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        _, _, done, _ = env.step(actions)
        ended += int(done.sum())
    assert ended
    env.close()


def test_what_battles_do_not_have_is_an_error(vec_env: BattleVecEnv) -> None:
    assert vec_env.get_attr("num_battles", indices=[0, 1]) == [4, 4]
    assert not vec_env.has_attr("weather")
    assert vec_env.env_is_wrapped(gymnasium.Wrapper) == [False] * 4
    with pytest.raises(AttributeError, match="no method render"):
        vec_env.env_method("render")
    with pytest.raises(AttributeError, match="cannot be set"):
        vec_env.set_attr("seed", 3)
