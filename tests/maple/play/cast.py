"""Agents that have learned nothing, and whom they play against."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, Final

from poke_env.battle import AbstractBattle
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder, ForfeitBattleOrder
from poke_env.ps_client import AccountConfiguration
from poke_env.ps_client.server_configuration import ServerConfiguration

from maple.agents import Checkpoint, NetworkConfig, make_network
from maple.agents.config import NetworkKind
from maple.env import Observations
from maple.play import AgentPlayer, Game
from tests.bridge.poke_env.cast import leave

__all__ = ["PLAY_SECONDS", "TRAPPERS", "Brief", "Default", "Stage", "fresh"]

PLAY_SECONDS: Final = 60.0
# Whoever stands against them cannot leave, and learns of it by a refusal.
TRAPPERS: Final = "\n".join(
    f"{name}\nAbility: Arena Trap\nLevel: 50\nEVs: 4 HP\n- Slash\n- Earthquake\n- Sand Attack\n"
    for name in ("Dugtrio", "Diglett", "Trapinch")
)


@cache
def fresh(
    format: str = "gen9randombattle",
    game: str = "singles",
    generation: int = 9,
    kind: NetworkKind = "mlp",
) -> Checkpoint:
    """A network with the weights of a seed."""
    observations = Observations(game, generation)
    config = NetworkConfig(kind=kind, hidden=(16,))
    return Checkpoint.of(make_network(config, observations, seed=1), observations, format=format)


class Brief(RandomPlayer):
    """Gives up in its third turn, where the end of a battle is not the point."""

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        return ForfeitBattleOrder() if battle.turn >= 3 else self.choose_random_move(battle)


class Default(RandomPlayer):
    """Does what the simulator would do for it, and in its eighth turn gives up."""

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        return ForfeitBattleOrder() if battle.turn >= 8 else self.choose_default_move()


class Stage:
    """Brings an agent and an opponent to a server, and sees them off."""

    def __init__(self, server: ServerConfiguration) -> None:
        self.server = server
        self.ended: list[Game] = []
        self._agents: list[AgentPlayer] = []
        self._opponents: list[Player] = []
        self._count = 0

    def agent(self, checkpoint: Checkpoint | None = None, **named: Any) -> AgentPlayer:
        agent = AgentPlayer(
            checkpoint or fresh(),
            account_configuration=self._account("Agent"),
            server_configuration=self.server,
            on_end=self.ended.append,
            **{"seed": 1, "max_concurrent_battles": 4} | named,
        )
        self._agents.append(agent)
        return agent

    def opponent(
        self, format: str = "gen9randombattle", kind: type[Player] = RandomPlayer, **named: Any
    ) -> Player:
        opponent = kind(
            self._account("Opponent"),
            battle_format=format,
            server_configuration=self.server,
            **{"max_concurrent_battles": 4} | named,
        )
        self._opponents.append(opponent)
        return opponent

    def _account(self, kind: str) -> AccountConfiguration:
        return AccountConfiguration.generate(kind, rand=True)

    async def play(
        self,
        agent: AgentPlayer,
        kind: type[Player] = RandomPlayer,
        *,
        battles: int = 1,
        **named: Any,
    ) -> list[Game]:
        """Battles of the agent, which end in time; what became of them."""
        opponent = self.opponent(agent.format, kind, team=agent.next_team, **named)
        async with asyncio.timeout(PLAY_SECONDS):
            await agent.battle_against(opponent, n_battles=battles)
        games, self.ended = self.ended, []
        assert len(games) == battles
        assert all(game.is_over for game in games)
        assert agent.games == {}
        return games

    async def close(self) -> None:
        for agent in self._agents:
            await agent.close()
        for opponent in self._opponents:
            await leave(opponent)
