"""Several opponents in one environment: who is drawn, who is asked, and who is told what."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import numpy as np
import pytest
from poke_env.player import RandomPlayer

from bridge import BridgeConfig, InferenceQueue
from bridge.errors import ConfigError
from bridge.sampling import Sampler
from maple.env import Mixture, QueuedPolicy, SerialVectorEnv, VectorEnv
from maple.env.gymnasium import BattleEnv
from maple.env.keys import step_key

from .hands import TEAM, VGC_TEAM, answer, choose

QUICK = "gen1randombattle"
KINDS = [VectorEnv, SerialVectorEnv]


# Weights


def test_each_is_drawn_as_often_as_its_weight_says() -> None:
    mixture = Mixture({"random": 1, "self": 5, "past": 2, "max": 2}, agents=["past"])
    drawn = Counter(mixture.draw(step_key(3, step)) for step in range(10_000))
    assert drawn.keys() == {"random", "self", "past", "max"}
    for name, weight in mixture.weights.items():
        assert abs(drawn[name] / 1000 - weight) < 0.15
    assert {mixture.draw(0), mixture.draw((1 << 64) - 1)} < drawn.keys()


def test_neither_the_order_of_weights_nor_their_sum_matters() -> None:
    one = Mixture({"random": 0.25, "self": 0.5, "max": 0.25})
    other = Mixture({"max": 2, "random": 2, "self": 4})
    keys = [step_key(5, step) for step in range(500)]
    assert [one.draw(key) for key in keys] == [other.draw(key) for key in keys]


def test_mixtures_that_make_no_sense_are_refused() -> None:
    for weights, named, words in (
        ({}, {}, "no opponents"),
        ({"randon": 1.0}, {}, "nobody is called 'randon'; did you mean 'random'?"),
        ({"past-1": 1.0}, {"agents": ["past-12"]}, "did you mean 'past-12'?"),
        ({"random": 0.0}, {}, "'random' is 0.0, but must be a finite number above 0"),
        ({"random": -1}, {}, "above 0"),
        ({"random": float("nan")}, {}, "above 0"),
        ({"random": float("inf")}, {}, "above 0"),
        ({"random": "much"}, {}, "'much'"),
        ({"random": 1e308, "self": 1e308}, {}, "sum of the weights"),
        ({"self": 1}, {"agents": "past"}, "several names"),
        ({"self": 1}, {"agents": ["max"]}, "'max' is somebody already"),
        ({"self": 1}, {"agents": ["past"], "opponents": {"past": "max"}}, "'past' is somebody"),
        ({"self": 1}, {"opponents": {"self": "max"}}, "'self' is somebody already"),
    ):
        with pytest.raises(ConfigError, match=words):
            Mixture(cast(Any, weights), **named)


# Battles


def ends_of(received: Any) -> list[tuple[int, Any, Any, float]]:  # noqa: ANN401 - a Step
    """Whose battles have ended: agent, opponent, winner, reward."""
    _, reward, terminated, truncated, info = received
    assert not truncated.any()
    return [
        (
            int(info["env_id"][row]),
            info["final_opponent"][row],
            info["winner"][row],
            float(reward[row]),
        )
        for row in np.flatnonzero(terminated)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_who_has_no_seat_in_the_next_battle_is_told_once_how_the_last_one_ended(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    mixture = Mixture({"random": 1, "self": 1, "past": 1}, agents=["past"])
    told, seconds = 0, Counter[str]()
    with kind(QUICK, 3, 2, seed=2, opponent=mixture, bridge=settings) as env:
        assert (env.num_envs, env.num_battles) == (6, 3)
        env.async_reset()
        won = Counter[int]()
        while told < 4 or len(seconds) < 2:
            received = env.recv()
            observation, reward, terminated, _, info = received
            waiting = info["waiting"]
            assert (~waiting).sum() <= 2
            assert terminated[waiting].all()
            assert (np.abs(reward[waiting]) == 1).all()
            assert [info["opponent"][row] for row in np.flatnonzero(waiting)] == [None] * sum(
                waiting
            )
            assert (observation["action_mask"][waiting][:, 1:] == 0).all()
            if waiting.any():
                with pytest.raises(ValueError, match="nothing to decide"):
                    env.send(np.zeros(sum(waiting), np.int64), info["env_id"][waiting])
            told += int(waiting.sum())
            for agent, opponent, winner, given in ends_of(received):
                assert given == (1 if winner == ("p1", "p2")[agent % 2] else -1)
                assert not (opponent == "random" and agent % 2)
                seconds[opponent] += agent % 2
                if opponent != "random":
                    won[agent // 2] += int(given)
                final = info["final_info"]["opponent"]
                assert opponent in final[info["final_info"]["_opponent"]]
            answer(env, received)
        assert all(abs(count) <= 1 for count in won.values()), "what one wins the other loses"
        assert not seconds["random"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_tells_both_agents_of_a_battle_its_end_whoever_plays_the_next(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    mixture = Mixture({"random": 1, "self": 1})
    named = dict.fromkeys(("win", "loss", "turn"), 1.0)
    with kind(QUICK, 3, seed=2, opponent=mixture, reward=named, bridge=settings) as env:
        observation, info = env.reset()
        left = Counter[bool]()
        while left.total() < 12:
            before = info["opponent"]
            result = env.step(choose(observation))
            observation, reward, _, _, info = result
            waiting, opponents = info["waiting"], info["opponent"]
            assert (opponents[0::2] != np.array(None)).all()
            for slot in range(3):
                assert opponents[2 * slot + 1] == (
                    "self" if opponents[2 * slot] == "self" else None
                )
                assert waiting[2 * slot + 1] or opponents[2 * slot + 1]
            ends = {agent: opponent for agent, opponent, _, _ in ends_of(result)}
            for agent, opponent in ends.items():
                assert opponent == before[agent]
                assert ends.get(agent ^ 1) == ("self" if opponent == "self" else None)
                assert reward[agent] == 2, "one for the end, one for the last decision"
                left[bool(waiting[agent])] += 1
            idle = [row for row in np.flatnonzero(waiting) if row not in ends]
            assert not reward[idle].any()
        assert left[True], "somebody had no seat afterwards"
        assert left[False]


def test_rows_are_also_given_as_they_came_and_picks_of_a_preview_show_in_them(
    settings: BridgeConfig,
) -> None:
    mixture = Mixture({"self": 1})
    with VectorEnv(
        "gen9vgc2025regi", 1, seed=1, opponent=mixture, teams=VGC_TEAM, bridge=settings
    ) as env:
        observation, info = env.reset()
        sizes = []
        for _ in range(4):
            assert info["raw"].dtype == np.uint8
            rows = ~info["waiting"]
            for name, part in env.observations.expand(info["raw"]).items():
                assert (part[rows] == observation[name][rows]).all(), name
            sizes.append(int(observation["action_mask"][0, 0].sum()))
            observation, *_, info = env.step(choose(observation))
        assert sizes[:2] == [6, 4], "two were picked"


# Other mixtures


@pytest.mark.parametrize("kind", KINDS)
def test_another_mixture_holds_for_battles_that_are_opened_from_then_on(
    settings: BridgeConfig, kind: type[VectorEnv]
) -> None:
    with kind(QUICK, 2, seed=2, opponent=Mixture({"random": 1}), bridge=settings) as env:
        observation, info = env.reset()
        assert info["opponent"].tolist() == ["random", None] * 2
        assert info["waiting"].tolist() == [False, True] * 2
        env.update_mixture(Mixture({"past-1": 1}, agents=["past-1"]))
        with pytest.raises(ConfigError, match="cannot be an opponent"):
            env.update_mixture(Mixture({"five": 1}, opponents={"five": cast(Any, 5)}))
        seen: list[tuple[str, ...]] = []
        while len(seen) < 2:
            result = env.step(choose(observation))
            observation, info = result[0], result[4]
            seen += [(end[1], info["opponent"][end[0]]) for end in ends_of(result)]
        assert seen == [("random", "past-1")] * 2
        env.update_mixture(Mixture({"max": 1, "heuristics": 1}))
        observation, _ = env.reset()
        ended = Counter[str]()
        while ended.total() < 8:
            result = env.step(choose(observation))
            observation = result[0]
            ended.update(end[1] for end in ends_of(result))
        assert ended["max"]
        assert ended["heuristics"]
    env = kind(QUICK, 1, opponent="self", bridge=settings)
    with env, pytest.raises(ConfigError, match="no mixture"):
        env.update_mixture(Mixture({"self": 1}))


def test_policies_and_players_are_part_of_a_mixture(settings: BridgeConfig) -> None:
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    queue.update_policy(Sampler(policy_of(-2.0)), name="past")
    player = RandomPlayer(battle_format=QUICK, start_listening=False)
    opponents = {
        "past": QueuedPolicy(queue, "past"),
        "now": QueuedPolicy(queue),
        "other": policy_of(1.0),
        "player": player,
    }
    mixture = Mixture(dict.fromkeys(opponents, 1.0), opponents=opponents)
    with VectorEnv(QUICK, 3, seed=2, opponent=mixture, bridge=settings) as env:
        observation, info = env.reset()
        met: set[str] = set()
        while met != opponents.keys():
            rows = (observation["features"], observation["ids"]), observation["action_mask"]
            actions, _ = env.infer((*rows, env.keys()))
            observation, *_, info = env.step(actions)
            met |= {*info["opponent"][0::2]}
        assert env.stats()["inference"]["policies"]["past"]["rows"]
        with pytest.raises(ConfigError, match="which of the mixture"):
            env.update_opponent(Sampler(policy_of(0.0)))
        with pytest.raises(ConfigError, match="did you mean 'past'"):
            env.update_opponent(Sampler(policy_of(0.0)), name="pst")
        env.update_opponent(Sampler(policy_of(0.0)), name="past")
        assert queue.stats()["policies"]["past"]["version"] == 1
        with pytest.raises(ConfigError, match="'player' stands for"):
            env.update_mixture(Mixture({"player": 1}, opponents={"player": "max"}))
        env.update_mixture(Mixture({"past": 1}, opponents={"past": QueuedPolicy(queue, "past")}))
    assert "closed" in repr(queue)


def policy_of(factor: float) -> Any:  # noqa: ANN401 - a policy
    return lambda features, ids: factor * features[:, :10]


def test_who_brings_no_team_has_to_be_given_one(settings: BridgeConfig) -> None:
    player = RandomPlayer(battle_format="gen9nationaldex", team=TEAM, start_listening=False)
    mixture = Mixture({"player": 1}, opponents={"player": player})
    teams = {"p1": TEAM}
    with pytest.raises(ConfigError, match="wants teams"):
        VectorEnv(
            "gen9nationaldex", 1, opponent=Mixture({"random": 1}), teams=teams, bridge=settings
        )
    with VectorEnv("gen9nationaldex", 1, opponent=mixture, teams=teams, bridge=settings) as env:
        env.reset(seed=1)
        with pytest.raises(ConfigError, match="'random' brings no team"):
            env.update_mixture(Mixture({"random": 1}))


def test_others_than_mixtures_go_by_their_name_and_nobody_waits(settings: BridgeConfig) -> None:
    for opponent, name in (("random", "random"), (policy_of(1.0), "opponent")):
        with VectorEnv(QUICK, 2, seed=2, opponent=opponent, bridge=settings) as env:
            assert env.num_envs == 2
            _, info = env.reset()
            assert info["opponent"].tolist() == [name] * 2
            assert "waiting" not in info
    with pytest.raises(ConfigError, match="no mixture"):
        BattleEnv(QUICK, opponent=Mixture({"random": 1}), bridge=settings)
