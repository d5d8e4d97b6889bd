"""Reads teams from a file or a folder. Whether they are legal, the simulator says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.errors import ConfigError
from bridge.settings import load_settings, suggest

__all__ = ["TeamFiles", "read_teams"]

_WEIGHTS = "weights.yml"
_ENDINGS = (".txt", ".team", ".packed")


@dataclass(frozen=True, slots=True)
class TeamFiles:
    """Teams, packed or as export text, the files that they are of, and how often each is drawn."""

    names: tuple[str, ...]
    teams: tuple[str, ...]
    weights: tuple[float, ...]


def read_teams(path: Path) -> TeamFiles:
    """The team in a file, or those in a folder, drawn as often as its weights.yml says."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in _ENDINGS)
        if not files:
            endings = ", ".join(_ENDINGS)
            raise ConfigError(f"there is no team in {path}: their files end with {endings}")
        weights = _read_weights(path / _WEIGHTS, [file.name for file in files])
    else:
        files, weights = [path], {}
    return TeamFiles(
        tuple(file.name for file in files),
        tuple(_read(file) for file in files),
        tuple(weights.get(file.name, 1.0) for file in files),
    )


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"cannot read the team {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the team {file} is not text in UTF-8") from error
    if not text:
        raise ConfigError(f"there is no team in {file}: it is empty")
    return text


def _read_weights(file: Path, names: list[str]) -> dict[str, float]:
    if not file.exists():
        return {}

    def check(data: Mapping[Any, Any]) -> dict[str, float]:
        for name, weight in data.items():
            if name not in names:
                raise ConfigError(f"there is no team {name!r}; {suggest(name, names)}")
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < float("inf"):
                raise ConfigError(f"the weight of {name} is {weight!r}, but must be more than 0")
        return {name: float(weight) for name, weight in data.items()}

    return load_settings(file, check)
