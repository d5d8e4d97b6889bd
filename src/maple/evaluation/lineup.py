"""Who is meant by the words of a user, what they are called, and who plays whom."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.errors import ConfigError
from maple.agents import CheckpointMismatch, CheckpointUnreadable, find_checkpoint, load_checkpoint

from .defaults import FORMAT
from .entrants import NAMED, Entrant, Learned
from .report import Pair

__all__ = ["Lineup", "entrant_of", "file_name", "make_lineup", "pair_up"]

_CHECKPOINTS: Final = "checkpoints"


@dataclass(frozen=True, slots=True)
class Lineup:
    """Everybody who plays, and who plays whom.

    Args:
        entrants: Those who are asked about, then those whom they are to beat.
        pairs: An agent and its opponent each, by name.
        format: What the first of them has learned to play, or the usual format if none has.
    """

    entrants: tuple[Entrant, ...]
    pairs: tuple[Pair, ...]
    format: str

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(entrant.name for entrant in self.entrants)


@dataclass(frozen=True, slots=True)
class _Word:
    """Somebody as a user names them: one of those with names, or a file."""

    word: str
    file: Path | None

    @property
    def is_same_as(self) -> str | Path:
        return self.word if self.file is None else self.file.resolve()


def make_lineup(
    contestants: Sequence[str | Path], opponents: Sequence[str | Path], *, cross_play: bool
) -> Lineup:
    """Reads all checkpoints. With cross-play everybody plays everybody, also the opponents.

    Whoever is named on both sides is one, and does not play itself.
    """
    asked = [_find(word) for word in contestants]
    known = [one.is_same_as for one in asked]
    for number, one in enumerate(asked):
        if one.is_same_as in known[:number]:
            raise ConfigError(
                f"{one.word} is the same as {asked[known.index(one.is_same_as)].word}"
            )
    others: list[_Word] = []
    for word in opponents:
        found = _find(word)
        if found.is_same_as not in {*known, *(other.is_same_as for other in others)}:
            others.append(found)
    everybody = asked + others
    names = _names(everybody)
    made = [_make(one, name) for one, name in zip(everybody, names, strict=True)]
    either = {one.is_same_as for one in map(_find, opponents)}
    targets = [n for one, n in zip(everybody, names, strict=True) if one.is_same_as in either]
    return Lineup(
        tuple(entrant for entrant, _ in made),
        tuple(pair_up(names[: len(asked)], targets, cross_play=cross_play)),
        next((learned for _, learned in made if learned is not None), FORMAT),
    )


def pair_up(
    contestants: Sequence[str], opponents: Sequence[str], *, cross_play: bool
) -> list[Pair]:
    """Every contestant and every opponent, or with cross-play everybody and everybody else."""
    if cross_play:
        everybody = list(dict.fromkeys((*contestants, *opponents)))
        pairs = list(itertools.combinations(everybody, 2))
    else:
        pairs = []
        for one, two in itertools.product(contestants, opponents):
            if one != two and (two, one) not in pairs:
                pairs.append((one, two))
    if not pairs:
        raise ConfigError("there is nobody to play against: name others with --against")
    return pairs


def entrant_of(word: str | Path) -> Entrant:
    """Whoever has that name, or the checkpoint, or the best of the run, that is there."""
    found = _find(word)
    return _make(found, _name(found))[0]


def file_name(name: str) -> str:
    """A player's name as a part of the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "player"


def _find(word: str | Path) -> _Word:
    if str(word) in NAMED:
        return _Word(str(word), None)
    try:
        return _Word(str(word), find_checkpoint(word))
    except CheckpointUnreadable as error:
        raise CheckpointUnreadable(
            f"{error.message} (or one of {', '.join(NAMED)})"
            if not Path(word).exists()
            else error.message
        ) from error


def _make(one: _Word, name: str) -> tuple[Entrant, str | None]:
    """The entrant, and what it has learned to play."""
    if one.file is None:
        return Entrant.named(one.word), None
    checkpoint = load_checkpoint(one.file)
    try:
        observations = checkpoint.observations()
        network = checkpoint.network(observations)
    except (CheckpointMismatch, CheckpointUnreadable) as error:
        raise type(error)(f"{one.file}: {error.message}") from error
    return Entrant(name, Learned(network.eval(), observations)), checkpoint.format


# Names


def _names(everybody: Sequence[_Word]) -> list[str]:
    """A name for each; those that would have the same, in files too, are numbered."""
    names: list[str] = []
    taken: set[str] = {file_name(one.word) for one in everybody if one.file is None}
    for one in everybody:
        name = wanted = _name(one)
        if one.file is not None:
            for number in itertools.count(2):
                if file_name(name).lower() not in taken:
                    break
                name = f"{wanted} ({number})"
            taken.add(file_name(name).lower())
        names.append(name)
    return names


def _name(one: _Word) -> str:
    """A run is called by its folder, and a checkpoint of it by its file as well."""
    if one.file is None:
        return one.word
    file = one.file.resolve()
    is_of_run = file.parent.name == _CHECKPOINTS
    run = file.parent.parent.name if is_of_run else ""
    if Path(one.word).is_dir():
        return run or file.parent.name
    return f"{run}/{file.stem}" if run else file.stem
