"""Environments of poke-env step over the pool, in their own threads and in child processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from logging import ERROR
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, TypeVar

import pytest
from poke_env.battle import AbstractBattle
from poke_env.environment import PokeEnv, SingleAgentWrapper
from poke_env.player import MaxBasePowerPlayer, Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder
from poke_env.ps_client import AccountConfiguration

from bridge.errors import BattleFailed, BattleRejected, ConnectionLost, NameTaken
from bridge.poke_env import LocalServerConfiguration, local_server
from tests.conftest import controllers, until

from .cast import VGC_TEAM, Quitter, StringOrder, team_of
from .conftest import Door
from .environments import Doubles, Singles, actions, dismantle, play

pytestmark = pytest.mark.timeout(60)

FAULTS = Path(__file__).parents[2] / "adversity" / "faults"
ILLEGAL = "Mewtwo\nAbility: Pressure\nEVs: 4 HP\n- Splash\n"
T = TypeVar("T", bound=PokeEnv[Any])
Make = Callable[..., Any]


@pytest.fixture
def make(door: Door, server: LocalServerConfiguration) -> Iterator[Make]:
    """Makes environments, and takes them apart before the door is closed."""
    made: list[PokeEnv[Any]] = []

    def make(kind: Callable[..., T], format: str, **options: Any) -> T:
        options = {"server_configuration": server, "strict": False, "log_level": ERROR} | options
        env = kind(battle_format=format, **options)
        made.append(env)
        return env

    yield make
    for env in made:
        dismantle(env)


@pytest.mark.parametrize("generation", [1, 4, 9])
def test_singles_are_played_to_the_end_again_and_again(make: Make, generation: int) -> None:
    env = make(Singles, f"gen{generation}randombattle")
    for _ in range(2):
        observations, _ = env.reset()
        assert set(observations) == set(env.possible_agents)
        earned = play(env)
        assert sorted(earned.values()) in ([-1, 1], [0, 0])
    env.close()


@pytest.mark.parametrize(
    ("format", "team"), [("gen9randomdoublesbattle", None), ("gen9vgc2025regi", VGC_TEAM)]
)
def test_doubles_are_played_to_the_end(make: Make, format: str, team: str | None) -> None:
    env = make(Doubles, format, team=team, choose_on_teampreview=False)
    env.reset()
    assert sorted(play(env).values()) in ([-1, 1], [0, 0])
    env.close()


def test_given_teams_with_a_preview_are_played(make: Make) -> None:
    env = make(Singles, "gen9ou", team=team_of(9))
    env.reset()
    play(env)
    env.close()


def test_a_reset_in_the_middle_of_a_battle_gives_it_up(make: Make) -> None:
    env = make(Singles, "gen1randombattle")
    tags = set()
    for steps in (0, 1, 3, 2):
        env.reset()
        tags.add(env.battle1.battle_tag)
        play(env, steps)
    assert len(tags) == 4
    play(env)
    env.close()
    assert env.battle1 is None


@pytest.mark.parametrize("steps", [0, 2])
def test_closing_in_the_middle_of_a_battle_gives_it_up(
    make: Make, server: LocalServerConfiguration, steps: int
) -> None:
    env = make(Singles, "gen1randombattle")
    env.reset()
    play(env, steps)
    env.close()
    asyncio.run(until(lambda: server.stats()["lobby"]["games"] == 0))
    env.reset()
    play(env)
    env.close()


def test_a_single_agent_plays_against_a_player(make: Make, door: Door) -> None:
    env = make(Singles, "gen1randombattle")
    single = SingleAgentWrapper(env, door.enter(MaxBasePowerPlayer))
    for _ in range(2):
        single.reset()
        is_over = False
        while not is_over:
            action = actions(env)[env.agent1.username]
            _, _, terminated, truncated, _ = single.step(action)
            is_over = terminated or truncated
    env.close()


def test_environments_play_side_by_side_with_players(make: Make, door: Door) -> None:
    envs = [make(Singles, "gen1randombattle") for _ in range(3)]
    one, other = door.pair(Quitter, "gen1randombattle")
    playing = _in_background(one, other)
    for env in envs:
        env.reset()
    while any(env.agents for env in envs):
        for env in envs:
            if env.agents:
                play(env, 1)
    playing.result(timeout=20)
    for env in envs:
        env.close()


def _in_background(one: Player, other: Player) -> Future[None]:
    return asyncio.run_coroutine_threadsafe(
        one.battle_against(other, n_battles=10), one.ps_client.loop
    )


# Child processes


def play_elsewhere(pickled: bytes, told: Queue[tuple[float, int, int]]) -> None:
    """Plays in environments that were made in another process."""
    envs: list[Singles] = pickle.loads(pickled)
    for env in envs:
        env.reset()
        rewards = play(env)
        told.put((sum(rewards.values()), len(controllers()), id(env._server_configuration.server)))  # type: ignore[union-attr]
        env.close()


def test_pickled_environments_play_in_a_spawned_process_over_one_pool_of_its_own(
    server: LocalServerConfiguration,
) -> None:
    configuration = local_server(pool=1, warmup_battles=0)
    # Not there yet: whoever is made only to be sent elsewhere starts nothing here.
    options = {"start_listening": False, "log_level": ERROR, "strict": False}
    envs = [
        Singles(battle_format="gen1randombattle", server_configuration=configuration, **options)
        for _ in range(2)
    ]
    for env in envs:
        env._start_listening = True
    spawn = multiprocessing.get_context("spawn")
    told: Queue[tuple[float, int, int]] = spawn.Queue()
    child = spawn.Process(target=play_elsewhere, args=(pickle.dumps(envs), told))
    child.start()
    try:
        outcomes = [told.get(timeout=30) for _ in envs]
        child.join(15)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
        told.close()
    assert [(earned, pool) for earned, pool, _ in outcomes] == [(0, 1)] * 2
    assert len({server for *_, server in outcomes}) == 1
    assert configuration.stats() == {}
    for env in envs:
        dismantle(env)


# Failures


@pytest.mark.parametrize("kind", [Singles, Doubles])
def test_reset_raises_what_keeps_a_battle_from_beginning(make: Make, kind: type[Singles]) -> None:
    format = "gen9ou" if kind is Singles else "gen9doublesou"  # noqa: A001
    env = make(kind, format, team=ILLEGAL, choose_on_teampreview=False)
    for _ in range(2):
        with pytest.raises(BattleRejected, match="Mewtwo can't learn Splash"):
            env.reset()
    for agent in (env.agent1, env.agent2):
        agent.update_team(team_of(9))
    env.reset()
    play(env, 2)
    env.close()


def test_reset_raises_that_a_name_is_taken(make: Make, door: Door) -> None:
    taken = AccountConfiguration("Everybody wants it", None)
    env = make(Singles, "gen1randombattle", account_configuration1=taken)
    env.reset()
    late = make(Singles, "gen1randombattle", account_configuration2=taken)
    for _ in range(2):
        with pytest.raises(NameTaken, match="Everybody wants it"):
            late.reset()
    env.close()


class Poisonable(Singles):
    """Does not survive the action -99."""

    @staticmethod
    def action_to_order(
        action: Any,  # noqa: ANN401 - as poke-env has it
        battle: Any,  # noqa: ANN401
        fake: bool = False,
        strict: bool = True,
    ) -> BattleOrder:
        if action == -99:
            return StringOrder("fault throw")
        return Singles.action_to_order(action, battle, fake=fake, strict=strict)


def test_step_raises_that_a_battle_failed_and_the_environment_goes_on(
    make: Make, tmp_path: Path
) -> None:
    arguments = ("--require", str(FAULTS / "poison.js"))
    with local_server(
        pool=1, warmup_battles=0, node_arguments=arguments, poison_folder=tmp_path
    ) as server:
        env = make(Poisonable, "gen1randombattle", server_configuration=server)
        for _ in range(2):
            env.reset()
            play(env, 2)
            while not env.agent1_to_move:
                play(env, 1)
            with pytest.raises(BattleFailed, match="BattlePoisoned"):
                env.step({env.agents[0]: -99, env.agents[1]: actions(env)[env.agents[1]]})
        env.reset()
        play(env)
        env.close()


def test_step_and_reset_raise_that_the_pool_is_closed(make: Make) -> None:
    with local_server(pool=1, warmup_battles=0) as server:
        env = make(Singles, "gen1randombattle", server_configuration=server)
        env.reset()
        play(env, 2)
        server.close()
        with pytest.raises(ConnectionLost, match="is closed"):
            env.step(actions(env))
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="is closed"):
                env.reset()


def test_step_raises_what_the_opponent_of_a_single_agent_raises(make: Make, door: Door) -> None:
    class Clumsy(RandomPlayer):
        def choose_move(self, battle: AbstractBattle) -> BattleOrder:
            raise LookupError("no idea")

    env = make(Singles, "gen1randombattle")
    single = SingleAgentWrapper(env, door.enter(Clumsy))
    single.reset()
    with pytest.raises(LookupError):
        single.step(actions(env)[env.agent1.username])
    env.close()
