"""Many battles as one environment: Gymnasium's vector API, and EnvPool's send and receive."""

from __future__ import annotations

import asyncio
import operator
import re
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, SupportsIndex

import gymnasium.vector
import numpy as np
import numpy.typing as npt
import structlog
from gymnasium.vector.utils import batch_space

from bridge import BridgeConfig, ControllerRegistry, View, load_config, seeds
from bridge.errors import ConfigError
from bridge.inference import DEFAULT
from bridge.sampling import derive_keys
from bridge.settings import build_settings
from bridge.timing import Trips
from maple.profiling import profile

from .batches import Array, Batches, Info, Observation, Step
from .battle import Agent
from .battles import Battles, Engine
from .errors import StepTimeout
from .loop import OwnLoop
from .mixture import Mixture
from .observation import ObservationConfig, Observations, load_observation_config
from .opening import Opening
from .opponents import OpponentKind, make_opponent
from .rewards import RewardConfig, Rewards, load_reward_config
from .seating import Seating
from .teams import Teams, TeamsArgument

__all__ = ["VectorEnv"]

log = structlog.get_logger("maple.env")

# No room is forgotten here, however long a learner rests.
_IDLE_SECONDS = 90 * 86_400.0


class VectorEnv(gymnasium.vector.VectorEnv[Observation, Array, Array]):
    """Battles against an opponent, or with an agent in both seats.

    >>> with VectorEnv("gen9randombattle", num_envs=64, opponent="random", seed=7) as env:
    ...     observation, info = env.reset()
    ...     observation, reward, terminated, truncated, info = env.step(actions)

    Whoever wants to decide for some while others are still under way uses `async_reset`, `recv`
    and `send` instead: `recv` returns `batch_size` agents that must decide, named in
    `info["env_id"]`. An environment whose battle ends goes on with its next one in the same step,
    and the end is in `info`: `final_obs`, `final_info`, `winner`, `turns` and `reason`.

    Args:
        format: What is played, as Showdown names it.
        num_envs: How many battles are played at a time. With `opponent="self"` each has two
            agents, 2·battle and 2·battle + 1, and the environment has twice as many rows; with a
            Mixture too.
        batch_size: How many agents `recv` returns; all by default.
        opponent: Who has the other seat. "self" for an agent; "random", "max" (base power),
            "heuristics"; a policy (features, ids) → logits, such as a torch module; a QueuedPolicy,
            in a queue that a learner can use too; an object with `act(rows, masks, keys)`; a
            player of poke-env; or a Mixture, of which each battle draws one.
        reward: Weights of the parts of a reward, as a RewardConfig, a mapping or a YAML file.
        reward_parts: Names of parts that are counted and reported even while their weight is 0, for
            `update_reward` to give them one.
        observation: What is observed, as an ObservationConfig, names of groups, or a YAML file.
        seed: Decides all battles and the opponent's draws, whatever the number of environments.
        pool: How many Node processes; by default one for each core.
        teams: For formats that want them: one, several to draw from, which a TeamPool gives
            weights, or either by seat.
        input_logs: Whether the end of a battle comes with `info["input_log"]`: all that was chosen
            in it, in the simulator's input language, to be played again.
        step_timeout: Seconds that anything is waited for, before StepTimeout is raised.
        bridge: Other settings of the pool, as a BridgeConfig or a YAML file, but for
            `idle_timeout`: rooms wait for the learner, and none is closed for being idle.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium has it
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        format: str = "gen9randombattle",
        num_envs: int = 16,
        batch_size: int | None = None,
        *,
        opponent: OpponentKind | Mixture = "random",
        reward: RewardConfig | Mapping[str, float] | str | Path | None = None,
        reward_parts: Collection[str] = (),
        observation: ObservationConfig | Sequence[str] | str | Path | None = None,
        seed: seeds.Seed | None = None,
        pool: int | None = None,
        teams: TeamsArgument = None,
        input_logs: bool = False,
        step_timeout: float = 60.0,
        bridge: BridgeConfig | str | Path | None = None,
    ) -> None:
        self.closed = True
        num_envs = _whole("num_envs", num_envs)
        size = None if batch_size is None else _whole("batch_size", batch_size)
        if not step_timeout > 0:
            raise ConfigError(f"step_timeout is {step_timeout}, but must be more than 0")
        config = _read_bridge(bridge)
        config = config.replace(
            pool=min(config.pool, num_envs) if pool is None else pool, idle_timeout=_IDLE_SECONDS
        )
        if config.pool * config.rooms_per_controller < num_envs:
            raise ConfigError(
                f"{config.pool} processes with {config.rooms_per_controller} rooms each have no "
                f"place for {num_envs} battles: raise pool, or rooms_per_controller of bridge"
            )
        self._loop = OwnLoop()
        self._stage = _Stage(config, self._make_battles)
        self._finalizer = weakref.finalize(self, _close, self._loop, self._stage)
        try:
            self._loop.run(
                self._stage.set(
                    format,
                    num_envs,
                    opponent=opponent,
                    observation=_read_observation(observation),
                    reward=_read_reward(reward),
                    reward_parts=reward_parts,
                    teams=teams,
                    input_logs=input_logs,
                    timeout=step_timeout,
                )
            )
        except BaseException:
            self._finalizer()
            raise
        self.closed = False
        self._agents = self._stage.battles.agents
        self._observations = self._stage.observations
        self.format = format
        self.num_battles = num_envs
        self.num_envs = len(self._agents)
        self.batch_size = self.num_envs if size is None else size
        if self.batch_size > self.num_envs:
            self.close()
            raise ConfigError(f"batch_size is {batch_size}, but there are {self.num_envs} agents")
        self._seed: seeds.Seed | None = seeds.settle(seed)
        self._has_begun = False
        self.single_observation_space = self._observations.space
        self.single_action_space = self._observations.actions.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._batches = Batches(
            self._observations,
            self._stage.rewards,
            self.num_envs,
            may_wait=self.num_envs > num_envs,
            input_logs=input_logs,
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else repr(self._stage.battles)
        return f"<{type(self).__name__} {self.format}: {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} has processes of its own and cannot be copied or pickled: "
            "make one in each process"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def observations(self) -> Observations:
        """What is observed: names of features, sizes of ids, the actions, a signature to store."""
        return self._observations

    @staticmethod
    def _make_battles(
        registry: ControllerRegistry, opening: Opening, slots: int, *, timeout: float
    ) -> Engine:
        return Battles(registry, opening, slots, timeout=timeout)

    # Gymnasium's vector API

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begins a new battle in every environment; with a seed, the first of that seed."""
        with profile("env_reset"):
            self._begin(seed, options)
            self._loop.run(self._stage.battles.receive(self.num_envs))
            observation, _, _, _, info = self._assemble(self._agents)
        return observation, info

    def step(self, actions: Array) -> Step:
        """Takes an action for every agent, and waits until every environment asks for the next.

        If that was interrupted, by a timeout or Ctrl-C, `recv` returns what came of it.
        With agents in both seats some have to wait while the other is asked: these are
        `info["waiting"]`, can do nothing but action 0, and what they are given is not looked at.
        """
        actions = np.asarray(actions)
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("the first step comes after a reset")
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions are {actions.shape}, but must be {self.action_space.shape}")
        if not self._stage.battles.is_waiting:
            raise RuntimeError(
                "these actions answer nothing: what was sent before is still under way. recv() "
                "returns what came of it, and reset() begins anew"
            )
        with profile("env_step"):
            acting = [agent for agent in self._agents if agent.is_acting]
            listed = actions.tolist()
            chosen = [listed[agent.number] for agent in acting]
            self._loop.run(self._stage.battles.step(acting, chosen))
            return self._assemble(self._agents)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends every process."""
        self._finalizer()

    # EnvPool's

    def async_reset(self, seed: int | None = None) -> None:
        """Begins a new battle in every environment, for `recv` to return its agents."""
        self._begin(seed, None)

    def send(self, actions: Array, env_id: Array) -> None:
        """Takes actions of agents that `recv` has returned; Node works on them from here on."""
        numbers = np.asarray(env_id)
        actions = np.asarray(actions)
        each = self.single_action_space.shape or ()
        if actions.shape != (*numbers.shape, *each) or numbers.ndim != 1:
            raise ValueError(f"actions are {actions.shape}, for {numbers.shape} agents")
        agents = self._find(numbers)
        if len({agent.number for agent in agents}) < len(agents):
            raise ValueError("an agent has two actions")
        with profile("env_send"):
            self._loop.run(self._stage.battles.send(agents, actions.tolist()))

    def recv(self) -> Step:
        """The next `batch_size` agents that must decide, in the order of their numbers.

        It returns fewer only if no others will have to before actions are sent. With a Mixture
        there are more: an agent whose battle has ended, and who has no seat in the next, is told
        so once. That is `info["waiting"]`, and it is sent no action.
        """
        with profile("env_step"):
            agents = self._loop.run(self._stage.battles.receive(self.batch_size))
            agents.sort(key=_number)
            return self._assemble(agents)

    def keys(self, env_id: Array | None = None) -> npt.NDArray[np.uint64]:
        """Numbers to draw the actions of agents by, as `bridge.sampling.sample` does.

        Each depends on the seed, the environment, its battle and how many decisions there were in
        it, so that an agent draws the same whatever rows were in its batch.
        """
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("there is nothing to draw for before a reset")
        agents = self._agents if env_id is None else self._find(np.asarray(env_id))
        keys = np.array([agent.key for agent in agents], np.uint64)
        return derive_keys(keys, [agent.steps for agent in agents])

    def update_mixture(self, mixture: Mixture) -> None:
        """Draws the opponents of battles that are opened from now on by another mixture.

        It may bring agents and opponents that there were none of. Battles that are open, those
        that wait for the one before them to end too, are played on against whom they have.
        """
        self._loop.run(self._stage.update_mixture(mixture))

    def update_opponent(self, policy: object, name: str | None = None) -> None:
        """Replaces the policy in the other seat from its next batch on, by one of the same kind.

        Of the opponents of a Mixture it is that of this name.
        That of a QueuedPolicy is replaced by another that its queue can call, such as a Sampler. It
        may decide while a learner learns: hand in a copy of weights that go on changing.
        """
        self._loop.run(self._stage.update_opponent(policy, name))

    def update_reward(self, reward: RewardConfig | Mapping[str, float] | str | Path) -> None:
        """Other weights of the parts of a reward from the next step on.

        Parts that had none at the start can have one if they were named in `reward_parts`.
        """
        self._stage.rewards.update(_read_reward(reward))

    def infer(self, rows: Any, *, policy: str = DEFAULT) -> Any:  # noqa: ANN401 - as policies have it
        """What a policy returns for rows, from the queue that the opponent's policy is in.

        Battles go on meanwhile: frames are read, and the opponent decides in between. Rows are a
        batch as `InferenceQueue.submit_many` takes it.
        """
        return self._loop.run(self._stage.infer(rows, policy))

    def stats(self, *, round_trips: bool = True) -> dict[str, Any]:
        """What the pool says of itself, as plain data; see ControllerRegistry.stats.

        Where the opponent's policy is in a queue, `inference` is what that says of itself.
        """
        return self._loop.ask(lambda: self._stage.stats(round_trips=round_trips))

    def warmed(self) -> None:
        """Waits until every process is warm, which takes some hundreds of battles each."""
        self._loop.run(self._stage.warmed())

    def keep_trips(self, count: int) -> None:
        """Keeps at least so many of the latest round trips one by one; 0 for none."""
        self._loop.ask(lambda: self._stage.keep_trips(count))

    def latest_trips(self) -> Trips:
        """The round trips that were kept: whose they were, and what Node did when."""
        return self._loop.ask(self._stage.latest_trips)

    # Inside

    def _assemble(self, agents: Sequence[Agent]) -> Step:
        with profile("env_observation"):
            return self._batches.assemble(agents)

    def _find(self, numbers: Array) -> list[Agent]:
        listed = numbers.tolist()
        if listed and not 0 <= min(listed) <= max(listed) < self.num_envs:
            raise IndexError(f"agents are 0 to {self.num_envs - 1}, not {listed}")
        return [self._agents[number] for number in listed]

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        if options:
            raise ValueError(f"a reset has no options, but was given {', '.join(options)}")
        super().reset(seed=seed)
        if seed is None and not self._has_begun:
            seed = self._seed  # type: ignore[assignment]
        self._loop.run(self._stage.battles.reset(seed))
        self._has_begun = True


class _Stage:
    """What an environment holds on its event loop: a registry and the battles on it."""

    battles: Engine
    observations: Observations
    rewards: Rewards

    def __init__(self, config: BridgeConfig, make_battles: Callable[..., Engine]) -> None:
        self._config = config
        self._make_battles = make_battles
        self._registry: ControllerRegistry | None = None
        self._battles: Engine | None = None
        self._teams: Teams | None = None
        self._seating: Seating | None = None

    async def set(
        self,
        format: str,
        slots: int,
        *,
        opponent: OpponentKind | Mixture,
        observation: ObservationConfig,
        reward: RewardConfig,
        reward_parts: Collection[str],
        teams: TeamsArgument,
        input_logs: bool,
        timeout: float,
    ) -> None:
        """Starts the pool and finds out what is played."""
        registry = self._registry = ControllerRegistry(self._config)
        await registry.start()
        facts = await registry.describe_format(format)
        generation = re.match(r"gen(\d)", facts.id)
        if facts.game_type not in ("singles", "doubles") or generation is None:
            raise ConfigError(f"{format} is {facts.game_type}, not singles or doubles")
        self.observations = Observations(facts.game_type, int(generation[1]), observation.groups)
        self.rewards = Rewards(reward, facts.game_type, int(generation[1]), reward_parts)
        groups = {*self.observations.groups, *self.rewards.groups}
        seating = self._seating = Seating(
            opponent, lambda kind: make_opponent(kind, self.observations, facts.id)
        )
        self._teams = await Teams.read(
            teams, registry, facts, opponent_has_own=seating.all_have_own_team
        )
        opening = Opening(
            format,
            View(lines=False, observe=self.observations.spec.select(tuple(groups))),
            self.observations.actions,
            seating,
            self._teams,
            input_logs,
        )
        self.battles = self._make_battles(registry, opening, slots, timeout=timeout)
        self._battles = self.battles

    async def update_mixture(self, mixture: Mixture) -> None:
        assert self._seating is not None
        assert self._teams is not None
        self._seating.update(mixture, is_own_team_wanted=self._teams.are_wanted_of_p2)

    async def update_opponent(self, policy: object, name: str | None) -> None:
        assert self._seating is not None
        self._seating.update_policy(policy, name)

    async def infer(self, rows: Any, policy: str) -> Any:  # noqa: ANN401 - as policies have it
        assert self._seating is not None
        queue = self._seating.queue
        if queue is None:
            raise ConfigError(
                "there is no queue to infer with: the opponent is no policy in one, or there are "
                "several"
            )
        try:
            async with asyncio.timeout(self.battles.timeout):
                return await queue.submit_many(rows, policy=policy)
        except TimeoutError as error:
            waited = f"{self.battles.timeout:g} s"
            raise StepTimeout(f"policy {policy!r} returned nothing within {waited}") from error

    def stats(self, *, round_trips: bool) -> dict[str, Any]:
        assert self._registry is not None
        stats = self._registry.stats(round_trips=round_trips)
        if self._seating is not None and (queue := self._seating.queue) is not None:
            stats["inference"] = queue.stats()
        return stats

    async def warmed(self) -> None:
        assert self._registry is not None
        await self._registry.warmed()

    def keep_trips(self, count: int) -> None:
        assert self._registry is not None
        self._registry.keep_trips(count)

    def latest_trips(self) -> Trips:
        assert self._registry is not None
        return self._registry.latest_trips()

    async def close(self) -> None:
        try:
            if self._battles is not None:
                async with asyncio.timeout(self._battles.timeout):
                    await self._battles.close()
        except TimeoutError:
            log.warning("the opponent is still deciding, and is left to it")
        finally:
            if self._registry is not None:
                await self._registry.close(drain=False)


def _close(loop: OwnLoop, stage: _Stage) -> None:
    loop.close(stage.close())


def _number(agent: Agent) -> int:
    return agent.number


def _whole(name: str, value: SupportsIndex) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name} is {value!r}, but must be a whole number") from None
    if number < 1:
        raise ConfigError(f"{name} is {number}, but must be at least 1")
    return number


def _read_bridge(given: BridgeConfig | str | Path | None) -> BridgeConfig:
    match given:
        case None:
            return BridgeConfig()
        case BridgeConfig():
            return given
        case str() | Path():
            return load_config(given)
    raise ConfigError(f"bridge is a BridgeConfig or the path of a YAML file, not {given!r}")


def _read_observation(
    given: ObservationConfig | Sequence[str] | str | Path | None,
) -> ObservationConfig:
    match given:
        case None:
            return ObservationConfig()
        case ObservationConfig():
            return given
        case str() | Path():
            return load_observation_config(given)
    return ObservationConfig(groups=tuple(given))


def _read_reward(given: RewardConfig | Mapping[str, float] | str | Path | None) -> RewardConfig:
    match given:
        case None:
            return RewardConfig()
        case RewardConfig():
            return given
        case str() | Path():
            return load_reward_config(given)
    if not isinstance(given, Mapping):
        raise ConfigError(f"reward is a RewardConfig, a mapping or a YAML file, not {given!r}")
    return build_settings(RewardConfig, given)
