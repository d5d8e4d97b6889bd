"""poke-env's own players and environments, measured wherever they play.

A worker, as those of `workers.py`: it reads an order per line and answers with a line of Samples.
`python -m bridge.benchmarks.poke_env_players WHERE` plays in process (`{"pool": 2}`) or on a server
(`{"url": …, "server_pid": …}`), battles of RandomPlayers or resets of a SinglesEnv.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.environment import SinglesEnv
from poke_env.player import BattleOrder, RandomPlayer

from ..poke_env import LocalServerConfiguration, local_server
from .sample import Sample
from .showdown_server import session_cpu_seconds, session_memory_bytes
from .workers import Meter

__all__ = ["CountingPlayer", "main"]


class CountingPlayer(RandomPlayer):
    """A RandomPlayer that knows how often it was asked."""

    decisions = 0

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        self.decisions += 1
        return self.choose_random_move(battle)


class BlindEnvironment(SinglesEnv):
    """The least that an environment of poke-env has to be."""

    def __init__(self, server: ServerConfiguration) -> None:
        super().__init__(server_configuration=server, log_level=logging.ERROR)
        agents = self.possible_agents
        self.observation_spaces = {agent: Box(0, 1, (1,), np.float32) for agent in agents}

    def embed_battle(self, battle: AbstractBattle) -> Any:  # noqa: ANN401 - as in poke-env
        return np.zeros(1, np.float32)

    def calc_reward(self, battle: AbstractBattle) -> float:
        return 0.0


class _ServerMeter(Meter):
    """Counts a server that is a session of its own, in place of children."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        super().__init__(list)

    def _node_cpu(self) -> float:
        return session_cpu_seconds(self._leader)

    def sample(self, battles: int, decisions: int, turns: int) -> Sample:
        sample = super().sample(battles, decisions, turns)
        return replace(sample, node_memory=session_memory_bytes(self._leader))


class Venue:
    """Where players play, and how its cost is counted."""

    def __init__(self, where: dict[str, Any]) -> None:
        self._server_pid: int | None = where.get("server_pid")
        if "pool" in where:
            self.server: ServerConfiguration = local_server(
                pool=where["pool"], turbo=where["turbo"], warmup_battles=0
            )
        else:
            self.server = ServerConfiguration(where["url"], "")

    def meter(self) -> Meter:
        if self._server_pid is not None:
            return _ServerMeter(self._server_pid)
        assert isinstance(self.server, LocalServerConfiguration)
        stats = self.server.stats
        return Meter(lambda: [controller["pid"] for controller in stats()["controllers"]])


class Match:
    """Two RandomPlayers that play each other, so many battles at a time."""

    def __init__(self, venue: Venue, battle_format: str, concurrency: int) -> None:
        self._venue = venue
        self._players = tuple(
            CountingPlayer(
                AccountConfiguration.generate("maple", rand=True),
                battle_format=battle_format,
                log_level=logging.WARNING,
                max_concurrent_battles=concurrency,
                server_configuration=venue.server,
            )
            for _ in range(2)
        )

    def play(self, battles: int) -> Sample:
        """Plays so many battles; the players forget them afterwards."""
        first, second = self._players
        asyncio.run(first.ps_client.wait_for_login(wait_for=30))
        before = sum(player.decisions for player in self._players)
        meter = self._venue.meter()
        asyncio.run(first.battle_against(second, n_battles=battles))
        played = list(first.battles.values())
        decisions = sum(player.decisions for player in self._players) - before
        sample = meter.sample(len(played), decisions, sum(battle.turn for battle in played))
        for player in self._players:
            player.reset_battles()  # type: ignore[no-untyped-call]
        return sample


class Resets:
    """An environment that is reset in the first turn of each battle."""

    def __init__(self, venue: Venue) -> None:
        self._venue = venue
        self._environment = BlindEnvironment(venue.server)
        # The first one starts the pool, if there is none yet.
        self._environment.reset()

    def play(self, resets: int) -> Sample:
        """Resets so often; what counts as a battle is a reset, as a decision an agent's first."""
        meter = self._venue.meter()
        for _ in range(resets):
            self._environment.reset()
        return meter.sample(resets, 2 * resets, resets)


def serve(where: dict[str, Any]) -> None:
    """Answers orders until stdin closes."""
    venue = Venue(where)
    plays: dict[str, Callable[[int], Sample]] = {}
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "resets" in order:
            if "resets" not in plays:
                plays["resets"] = Resets(venue).play
            sample = plays["resets"](order["resets"])
        else:
            concurrency = order["concurrency"]
            key = f"{order['format']} {concurrency}"
            if key not in plays:
                plays[key] = Match(venue, order["format"], concurrency).play
            sample = plays[key](order["battles"])
        print(json.dumps([asdict(sample)]), flush=True)


def main() -> None:
    serve(json.loads(sys.argv[1]))
    sys.stdout.flush()
    # Without poke-env's exit hook: it waits for connections that a frozen server never closes.
    os._exit(0)


if __name__ == "__main__":
    main()
