"""What is played in a run, found out once: the game, its observations, teams that are legal.

From it every process makes the same environment and network; it is plain data, and can be sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge import BridgeConfig, ControllerRegistry, load_config
from bridge.errors import BattleRejected, ConfigError
from maple.agents.config import NetworkConfig
from maple.env import Mixture, ObservationConfig, Observations, RewardConfig, TeamPool, VectorEnv
from maple.env.spec import ObservationSpec
from maple.env.team_files import read_teams

from .config import TrainConfig
from .rewards import load_reward_schedules

if TYPE_CHECKING:
    from maple.agents import Network

    from .collector import Collector

__all__ = ["Stage", "derive_seed", "set_stage"]

# A learner may rest for as long as another process learns, or for as long as somebody debugs.
_STEP_TIMEOUT = 300.0


def derive_seed(seed: int, purpose: str) -> int:
    """A seed for one purpose, which Gymnasium takes too."""
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


@dataclass(frozen=True, slots=True)
class Stage:
    """The game, and what every process needs to play it."""

    format: str
    game: str
    generation: int
    groups: tuple[str, ...]
    network: NetworkConfig
    seed: int
    """Of the weights at the start."""
    rewards: dict[str, float]
    """At the start of the run, for all parts that count at any time."""
    teams: tuple[str, ...] | None
    team_weights: tuple[float, ...]
    bridge: BridgeConfig

    @property
    def observations(self) -> Observations:
        return Observations(self.game, self.generation, self.groups)

    @property
    def team_pool(self) -> TeamPool | None:
        """What teams are drawn from, if the format wants some."""
        return None if self.teams is None else TeamPool(self.teams, self.team_weights)

    def make_network(self) -> Network:
        """With the weights that a run begins with."""
        from maple.agents import make_network

        return make_network(self.network, self.observations, seed=self.seed)

    def environment(self, battles: int, pool: int, seed: int) -> VectorEnv:
        """Battles of a share of the run, on Node processes of its own."""
        rooms = -(-2 * battles // pool) + 8
        config = self.bridge.replace(
            pool=pool, rooms_per_controller=max(rooms, self.bridge.rooms_per_controller)
        )
        return VectorEnv(
            self.format,
            battles,
            opponent=Mixture({"self": 1.0}),
            reward=RewardConfig(**self.rewards),
            reward_parts=tuple(self.rewards),
            observation=ObservationConfig(groups=self.groups),
            seed=seed,
            teams=self.team_pool,
            step_timeout=_STEP_TIMEOUT,
            bridge=config,
        )

    def collector(
        self, battles: int, pool: int, seed: int, *, parts: int, network: Network | None = None
    ) -> Collector:
        """Plays with a network of its own, unless it is given one."""
        from .collector import Collector

        env = self.environment(battles, pool, seed)
        try:
            return Collector(env, network or self.make_network(), parts=parts)
        except BaseException:
            env.close()
            raise


def set_stage(config: TrainConfig) -> Stage:
    """Looks at everything that can be wrong with what is to be played, before anything starts.

    Raises BattleRejected, with the simulator's reasons, for an unknown format and illegal teams.
    """
    bridge = BridgeConfig() if config.bridge is None else load_config(config.bridge)
    rewards = load_reward_schedules(config.reward)
    groups = ObservationSpec.load().default_groups
    if config.observation is not None:
        groups = ObservationSpec.load().select(config.observation)
    facts, teams = asyncio.run(_ask(config, bridge))
    name, game, generation = facts
    return Stage(
        format=name,
        game=game,
        generation=generation,
        groups=groups,
        network=config.network,
        seed=derive_seed(config.seed, "weights"),
        rewards=rewards.at(0.0),
        teams=None if teams is None else teams[0],
        team_weights=() if teams is None else teams[1],
        bridge=bridge,
    )


async def _ask(
    config: TrainConfig, bridge: BridgeConfig
) -> tuple[tuple[str, str, int], tuple[tuple[str, ...], tuple[float, ...]] | None]:
    """What the simulator says of the format and the teams."""
    files = None if config.teams is None else read_teams(Path(config.teams))
    async with ControllerRegistry(bridge.replace(pool=1, warmup_battles=0)) as registry:
        facts = await registry.describe_format(config.format)
        generation = re.match(r"gen(\d)", facts.id)
        if facts.game_type not in ("singles", "doubles") or generation is None:
            raise ConfigError(f"{config.format} is {facts.game_type}, not singles or doubles")
        named = (facts.id, facts.game_type, int(generation[1]))
        if facts.needs_team and files is None:
            raise ConfigError(f"{facts.id} wants teams: give a file or a folder as teams")
        if files is None:
            return named, None
        if not facts.needs_team:
            raise ConfigError(f"{facts.id} draws teams of its own: leave teams out")
        packed: list[str] = []
        for name, team in zip(files.names, files.teams, strict=True):
            try:
                packed.append(await registry.validate_team(facts.id, team) or team)
            except BattleRejected as error:
                raise BattleRejected(
                    f"the team {name} is not legal in {facts.id}: {error.message}",
                    problems=error.problems,
                ) from error
        return named, (tuple(packed), files.weights)
