"""Who is to be met next: the stages of a run, and the league of past selves. Plays nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bridge.errors import ConfigError
from bridge.settings import suggest
from maple.agents import CheckpointMismatch, find_checkpoint, load_checkpoint
from maple.env import Observations
from maple.env.mixture import NAMED, SELF

from .config import OpponentsConfig, TrainConfig
from .mixes import read_mix
from .orders import Ended

__all__ = ["LEAGUE", "League", "Member", "Opponents", "check_opponents"]

LEAGUE: Final = "league"
_KNOWN: Final = {SELF, LEAGUE, *NAMED}
# What a member counts at least that the agent always wins against: nobody is forgotten.
_LEAST: Final = 0.05
# What a member counts in that was met so often: until then it is as if half were lost.
_PRIOR: Final = 4.0
# The weight of each member relative to the one after it, with those that are recent met most.
_RECENCY: Final = 0.8


@dataclass(slots=True)
class Member:
    """A past self, and how battles against it went."""

    name: str
    battles: float = 0.0
    losses: float = 0.0

    @property
    def loss_rate(self) -> float:
        """A guess that begins at a half."""
        return (self.losses + _PRIOR / 2) / (self.battles + _PRIOR)


class League:
    """Past selves, oldest first, whose checkpoints are in a folder by their names."""

    def __init__(self, config: OpponentsConfig, folder: Path | None = None) -> None:
        self._config = config
        self._folder = folder
        self.members: list[Member] = []
        self._retired: list[tuple[int, str]] = []
        """Who has left after which update. Checkpoints from before still have them as members."""

    def file(self, name: str) -> Path:
        assert self._folder is not None
        return (self._folder / f"{name}.pt").absolute()

    def add(self, name: str, update: int) -> None:
        """Takes in a past self; others leave if the league is too large now."""
        self.members.append(Member(name))
        # It may be to be smaller than it was.
        while len(self.members) > self._config.league_size:
            # The very first stays: whoever forgets how to win against it is noticed.
            gone = self.members.pop(1 if len(self.members) > 2 else 0)
            self._retired.append((update, gone.name))

    def forget_retired(self, oldest: int) -> list[Path]:
        """The checkpoints of those who are members in none of what was kept since an update."""
        gone = [name for update, name in self._retired if update < oldest]
        self._retired = [one for one in self._retired if one[0] >= oldest]
        return [self.file(name) for name in gone]

    def hear(self, ended: Iterable[Ended]) -> None:
        by_name = {member.name: member for member in self.members}
        for one in ended:
            member = by_name.get(one.opponent)
            if member is not None and one.score is not None:
                member.battles += 1
                member.losses += 1 - one.score

    def weights(self) -> dict[str, float]:
        """How often each is met, relative to the others."""
        members = self.members
        match self._config.league_choice:
            case "uniform":
                found = [1.0] * len(members)
            case "recent":
                found = [_RECENCY ** (len(members) - 1 - n) for n in range(len(members))]
            case _:
                found = [max(_LEAST, member.loss_rate) for member in members]
        total = sum(found)
        return {m.name: weight / total for m, weight in zip(members, found, strict=True)}

    def state(self) -> dict[str, Any]:
        return {
            "members": [[m.name, m.battles, m.losses] for m in self.members],
            "retired": [list(one) for one in self._retired],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.members = [Member(*fields) for fields in state["members"]]
        self._retired = [(update, name) for update, name in state["retired"]]


class Opponents:
    """The mix that is in force. Goes to the next stage when the agent wins often enough."""

    def __init__(self, config: OpponentsConfig, league: Path | None = None) -> None:
        self._config = config
        self.league = League(config, league)
        self.stage = 0
        self._latest: deque[float] = deque()
        self.files = {
            name: str(_checkpoint(name))
            for mix in config.mixes
            for name in read_mix(mix)
            if name not in _KNOWN
        }
        """The checkpoint of each name in a mix that is a path."""

    @property
    def text(self) -> str:
        """The mix as it was written."""
        return self._config.mixes[self.stage]

    @property
    def has_league(self) -> bool:
        """Whether past selves are met now or later."""
        return any(LEAGUE in read_mix(mix) for mix in self._config.mixes[self.stage :])

    @property
    def measured(self) -> list[str]:
        """Those in the mix whose strength does not change, so that wins against them say much."""
        return [name for name in read_mix(self.text) if name not in (SELF, LEAGUE)]

    def mix(self) -> dict[str, float]:
        """How often each is met. While the league is empty the agent itself stands in for it."""
        mix = read_mix(self.text)
        share = mix.pop(LEAGUE, 0.0)
        if share and not self.league.members:
            mix[SELF] = mix.get(SELF, 0.0) + share
        elif share:
            for name, weight in self.league.weights().items():
                mix[name] = share * weight
        return mix

    @property
    def known(self) -> set[str]:
        """All who may be met, now or in another stage."""
        named = {name for mix in self._config.mixes for name in read_mix(mix)}
        return named | {member.name for member in self.league.members}

    def past(self) -> dict[str, str]:
        """The checkpoints of those in the mix that are some."""
        members = {m.name: str(self.league.file(m.name)) for m in self.league.members}
        files = self.files | members
        return {name: files[name] for name in self.mix() if name in files}

    def hear(self, ended: Sequence[Ended]) -> bool:
        """Takes note of how battles ended; whether another stage begins."""
        self.league.hear(ended)
        stages = self._config.stages
        if self.stage >= len(stages):
            return False
        stage = stages[self.stage]
        # Battles of the stage before may be under way, or opened ahead.
        met = self.mix().keys() - {SELF}
        self._latest.extend(
            one.score for one in ended if one.score is not None and one.opponent in met
        )
        while len(self._latest) > stage.battles:
            self._latest.popleft()
        if len(self._latest) < stage.battles:
            return False
        if sum(self._latest) / stage.battles < stage.win_rate:
            return False
        self.stage += 1
        self._latest.clear()
        return True

    def state(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "latest": list(self._latest),
            "league": self.league.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        # There may be fewer than there were.
        self.stage = min(state["stage"], len(self._config.stages))
        self._latest = deque(state["latest"])
        self.league.restore(state["league"])


def check_opponents(config: TrainConfig, observations: Observations) -> None:
    """Raises for whoever is to be met at any time, and is not there or observes something else."""
    files = dict(Opponents(config.opponents).files)
    files |= {
        name: str(_checkpoint(name)) for name in config.evaluation.against if name not in NAMED
    }
    for name, file in files.items():
        try:
            load_checkpoint(file).require(observations)
        except CheckpointMismatch as error:
            raise CheckpointMismatch(f"{name}: {error.message}") from error


def _checkpoint(name: str) -> Path:
    if not Path(name).exists():
        raise ConfigError(
            f"unknown opponent {name!r}, and no path of a checkpoint; {suggest(name, _KNOWN)}"
        )
    return find_checkpoint(Path(name)).absolute()
