"""The settings of a training run: one typed object, loadable from YAML. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from bridge.errors import ConfigError
from bridge.settings import build_settings, load_settings
from maple.agents.config import NetworkConfig

from .mixes import read_mix
from .schedules import make_rate, make_value

__all__ = [
    "MAX_LAG",
    "CheckpointsConfig",
    "EvaluationConfig",
    "LearningConfig",
    "OpponentsConfig",
    "PPOConfig",
    "StageConfig",
    "TrainConfig",
    "load_train_config",
    "read_train_config",
]

_SEEDS = 2**63


MAX_LAG = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """How a network learns from a batch, whatever the algorithm.

    Args:
        rate: The learning rate of the optimizer, Adam: a number, or a schedule with its `kind`:
            linear or cosine {start, end}, step {start, every, factor}, plateau {start, factor,
            patience, least, margin}, which looks at the win rate of the last batches.
        discount: What a reward counts for, one decision earlier.
        gae_decay: How far advantages look ahead: 0 for one decision, 1 for the whole battle.
        minibatch: About how many decisions a step of the optimizer learns from.
        value_weight: What the loss of the values counts for.
        entropy_weight: What the entropy of the policy counts for: a number, or a schedule
            {start, end, until, shape}.
        gradient_limit: The longest gradient; a longer one is shortened.
        normalise: Whether the advantages of a minibatch are made to have mean 0 and deviation 1.
        sequence: Decisions of one agent in a row that an LSTM learns from together; a network
            without a memory learns from each by itself.
        trust: The most that a decision of an older network counts for, relative to how likely the
            present one is to make it (V-trace).
    """

    rate: float | dict[str, Any] = 3e-4
    discount: float = 1.0
    gae_decay: float = 0.95
    minibatch: int = 2048
    value_weight: float = 0.5
    entropy_weight: float | dict[str, Any] = 0.01
    gradient_limit: float = 0.5
    normalise: bool = True
    sequence: int = 16
    trust: float = 1.0

    def __post_init__(self) -> None:
        make_rate(self.rate)
        make_value(self.entropy_weight)
        _at_least_one(self, "minibatch", "sequence")
        _not_negative(self, "value_weight")
        _positive(self, "gradient_limit", "trust")
        _shares(self, "discount", "gae_decay")


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOConfig:
    """What PPO has besides.

    Args:
        epochs: How often an update goes through a batch.
        clip: By how much a probability may change in an update before it pays no more.
        value_clip: By how much a value may; null for no limit.
        target_kl: An update ends early when it has taken the policy farther than this from what it
            was; null for never.
    """

    epochs: int = 3
    clip: float = 0.2
    value_clip: float | None = 0.2
    target_kl: float | None = 0.03

    def __post_init__(self) -> None:
        _at_least_one(self, "epochs")
        _positive(self, "clip")
        for name in ("value_clip", "target_kl"):
            if getattr(self, name) is not None:
                _positive(self, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """Who is played against until the agent wins so often.

    Args:
        mix: As that of `opponents`.
        win_rate: The share of battles against those who are not the agent itself that must be won.
        battles: Of how many of the latest such battles.
    """

    mix: str
    win_rate: float
    battles: int = 200

    def __post_init__(self) -> None:
        mix = read_mix(self.mix)
        if not mix.keys() - {"self"}:
            raise ConfigError(
                f"the mix {self.mix!r} has nobody but the agent itself to win against"
            )
        _at_least_one(self, "battles")
        if not 0 < self.win_rate <= 1:
            raise ConfigError(f"win_rate is {self.win_rate}, but must be above 0, and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpponentsConfig:
    """Who has the other seat.

    Args:
        mix: Names and how often they are met: "random:0.3,self:0.7". There are self, random, max
            (base power), heuristics (poke-env's), league, and paths of checkpoints and runs.
        stages: Mixes to begin with, one after the other, each until the agent wins often enough.
        league_every: Updates between two past selves that are kept for the league.
        league_size: How many of them at most; the oldest but one goes first.
        league_choice: Who of the league is met: all alike, the most recent, or those that the agent
            loses against.
    """

    mix: str = "self"
    stages: list[Any] = field(default_factory=list)
    league_every: int = 50
    league_size: int = 20
    league_choice: Literal["uniform", "recent", "losses"] = "losses"

    def __post_init__(self) -> None:
        read_mix(self.mix)
        _at_least_one(self, "league_every", "league_size")
        stages = [_stage(number, one) for number, one in enumerate(self.stages, start=1)]
        object.__setattr__(self, "stages", stages)

    @property
    def mixes(self) -> list[str]:
        """All that can be in force."""
        return [*(stage.mix for stage in self.stages), self.mix]


def _stage(number: int, given: StageConfig | Mapping[str, Any]) -> StageConfig:
    if isinstance(given, StageConfig):
        return given
    try:
        return build_settings(StageConfig, given)
    except ConfigError as error:
        raise ConfigError(f"stage {number}: {error.message}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsConfig:
    """What is kept of a run.

    Args:
        every: Updates between two checkpoints.
        keep: How many of the latest are kept; the best one is kept besides.
        window: The win rates that the best is told by are those of so many battles against each
            opponent that is not the agent itself.
    """

    every: int = 25
    keep: int = 3
    window: int = 200

    def __post_init__(self) -> None:
        _at_least_one(self, "every", "keep", "window")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationConfig:
    """The battles after the last update, which show what has been learned.

    Args:
        battles: Against each opponent; 0 for none.
        against: Names, or paths of checkpoints and runs.
        replays: Battles against each that are kept as replays.
    """

    battles: int = 100
    against: list[str] = field(default_factory=lambda: ["random", "max", "heuristics"])
    replays: int = 2

    def __post_init__(self) -> None:
        _not_negative(self, "battles", "replays")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """What is played, how it is learned, for how long, and on what.

    Args:
        format: What is played, as Showdown names it.
        teams: A file with a team, or a folder of them, for formats that want one. A folder may have
            a weights.yml: how often each file is drawn.
        observation: Groups of what is observed; null for all but the expensive ones.
        reward: The weight of each part of a reward, or a YAML file of them; in place of a number a
            schedule {start, end, until, shape}.
        opponents: Who has the other seat.
        exploration: How often an action is drawn from all legal ones alike: a number, or a schedule
            {start, end, until, shape}.
        network: What decides.
        algorithm: ppo, or reinforce with the values as a baseline.
        learning: How the network learns.
        ppo: What PPO has besides.
        episodes: Battles after which the run ends.
        decisions: Decisions after which it does.
        minutes: Minutes of training after which it does, also if it was interrupted in between.
        parallel: Battles at a time, all workers together.
        workers: Processes that play; 0 to play in the one that learns; null for one for every two
            cores.
        pool: Node processes, all workers together; null for as many as there are cores.
        batch: Decisions that an update learns from.
        synchronous: Whether playing and learning take turns. Then a run with a seed gives the same
            weights each time, and learns only from what its present network did.
        max_lag: Updates that the network may be ahead of the one that played; what is older is not
            learned from.
        threads: Threads of torch, of each process; null for as many as the rule in docs/training.md
            says.
        device: Where the learner computes: auto, cpu, cuda, or another that torch knows.
        seed: Decides the weights at the start, the battles, and the order of the minibatches.
        bridge: A YAML file with other settings of the Node processes, as config/bridge.yml.
        checkpoints: What is kept.
        evaluation: The battles after the last update.
        folder: Where runs are.
        name: The folder of this one in it; null for the time at which it began.
        tensorboard: Whether there are logs for TensorBoard beside those in CSV.
        profile: Whether it is recorded where the time goes.
        profile_name: The name of that recording; null for the run's.
    """

    format: str = "gen9randombattle"
    teams: str | None = None
    observation: list[str] | None = None
    reward: str | dict[str, Any] = field(default_factory=dict)
    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    exploration: float | dict[str, Any] = 0.0
    network: NetworkConfig = field(default_factory=NetworkConfig)
    algorithm: Literal["ppo", "reinforce"] = "ppo"
    learning: LearningConfig = field(default_factory=LearningConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    episodes: int | None = None
    decisions: int | None = None
    minutes: float | None = None
    parallel: int = 128
    workers: int | None = None
    pool: int | None = None
    batch: int = 8192
    synchronous: bool = False
    max_lag: int = MAX_LAG
    threads: int | None = None
    device: str = "auto"
    seed: int = 7
    bridge: str | None = None
    checkpoints: CheckpointsConfig = field(default_factory=CheckpointsConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    folder: Path = Path("runs")
    name: str | None = None
    tensorboard: bool = True
    profile: bool = False
    profile_name: str | None = None

    def __post_init__(self) -> None:
        _at_least_one(self, "parallel", "batch")
        if self.batch < 2 * self.parallel:
            raise ConfigError(
                f"batch is {self.batch}, but must be at least {2 * self.parallel} for "
                f"{self.parallel} battles at a time: what came of a decision is known at the next"
            )
        for name in ("episodes", "decisions", "pool", "threads"):
            if getattr(self, name) is not None:
                _at_least_one(self, name)
        if self.minutes is not None:
            _positive(self, "minutes")
        if self.workers is not None:
            _not_negative(self, "workers")
        _not_negative(self, "max_lag")
        epsilon = make_value(self.exploration)
        if not (0 <= epsilon.start <= 1 and 0 <= epsilon.end <= 1):
            raise ConfigError(f"exploration is {self.exploration}, but must be from 0 to 1")
        if not 0 <= self.seed < _SEEDS:
            raise ConfigError(f"seed is {self.seed}, but must be from 0 to {_SEEDS - 1}")
        if self.episodes is self.decisions is self.minutes is None:
            raise ConfigError("the run has no end: give episodes, decisions or minutes")
        self._check_what_would_change_nothing()

    def _check_what_would_change_nothing(self) -> None:
        """A setting that is read by nobody is an error, not a surprise."""
        if self.algorithm != "ppo" and self.ppo != PPOConfig():
            raise ConfigError(f"the settings of ppo change nothing with algorithm {self.algorithm}")
        if self.profile_name is not None and not self.profile:
            raise ConfigError("profile_name names a recording, which there is only with profile")
        if self.synchronous and self.minutes is not None:
            raise ConfigError(
                "a clock is not the same twice: a synchronous run ends after episodes or "
                "decisions, and its minutes are null"
            )
        if (self.synchronous or self.workers == 0) and self.max_lag != MAX_LAG:
            raise ConfigError("max_lag changes nothing where nobody plays while others learn")
        if self.network.kind != "lstm" and self.learning.sequence != LearningConfig().sequence:
            raise ConfigError(
                f"learning.sequence is of a network of kind lstm, not {self.network.kind}"
            )
        mixes = [set(read_mix(mix)) for mix in self.opponents.mixes]
        rate = self.learning.rate
        if isinstance(rate, dict) and rate.get("kind") == "plateau":
            for mix in mixes:
                if not mix - {"self", "league"}:
                    raise ConfigError(
                        "learning: a plateau is one of win rates, and every mix needs somebody to "
                        "win against who stays the same, such as random:0.05"
                    )
        plain = OpponentsConfig()
        league = ("league_every", "league_size", "league_choice")
        if not any("league" in mix for mix in mixes) and any(
            getattr(self.opponents, name) != getattr(plain, name) for name in league
        ):
            raise ConfigError("the settings of the league change nothing: no mix has it")


def load_train_config(path: Path, overrides: Mapping[str, Any] | None = None) -> TrainConfig:
    """Reads settings from a YAML file, and takes others instead of those that are named.

    Paths in the file are relative to its folder.
    """
    if overrides:
        # What is wrong may be in the file, or be given besides.
        return read_train_config(load_settings(path, dict), overrides, path.parent)
    return load_settings(path, lambda data: read_train_config(data, None, path.parent))


def read_train_config(
    data: Mapping[Any, Any],
    overrides: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> TrainConfig:
    """The settings in plain data; those in `overrides` count more."""
    below, above = _in_folder(data, folder), overrides or {}
    if _is_part(above.get("reward")) and isinstance(below.get("reward"), str):
        # Some weights are given, and the others are in a file.
        below["reward"] = load_settings(below["reward"], dict)
    merged = merge(below, above)
    return build_settings(TrainConfig, merged, optional=_MAY_BE_NULL)


_MAY_BE_NULL = (
    *("teams", "observation", "episodes", "decisions", "minutes", "workers", "pool"),
    *("threads", "bridge", "name", "profile_name"),
)


class Whole(dict[Any, Any]):
    """A mapping that stands in place of what it is given for; others are merged with that."""


def merge(below: Mapping[Any, Any], above: Mapping[Any, Any]) -> dict[Any, Any]:
    """Both, with what is above in place of what is below; parts of the same name are merged."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(value, Whole):
            merged[key] = dict(value)
        elif isinstance(value, Mapping):
            merged[key] = merge(old if isinstance(old, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _is_part(value: object) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, Whole)


_FILES = ("teams", "reward", "bridge")


def _in_folder(data: Mapping[Any, Any], folder: Path | None) -> dict[Any, Any]:
    """Paths that a file names are meant as seen from where it is."""
    if folder is None:
        return dict(data)
    return {
        key: str(folder / value) if key in _FILES and isinstance(value, str) else value
        for key, value in data.items()
    }


def plain(config: object) -> Any:  # noqa: ANN401 - plain data
    """A dataclass of settings as plain data, which gives the same settings when it is read."""
    if hasattr(config, "__dataclass_fields__"):
        return {f.name: plain(getattr(config, f.name)) for f in fields(config)}  # type: ignore[arg-type]  # any dataclass
    if isinstance(config, list | tuple):
        return [plain(one) for one in config]
    if isinstance(config, Mapping):
        return {key: plain(value) for key, value in config.items()}
    return str(config) if isinstance(config, Path) else config


# Checks


def _at_least_one(settings: object, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < 1:
            raise ConfigError(f"{name} is {getattr(settings, name)}, but must be at least 1")


def _not_negative(settings: object, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < 0:
            raise ConfigError(f"{name} is {getattr(settings, name)}, but must be at least 0")


def _positive(settings: object, *names: str) -> None:
    for name in names:
        if not 0 < getattr(settings, name) < math.inf:
            raise ConfigError(f"{name} is {getattr(settings, name)}, but must be more than 0")


def _shares(settings: object, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(settings, name) <= 1:
            raise ConfigError(f"{name} is {getattr(settings, name)}, but must be from 0 to 1")
