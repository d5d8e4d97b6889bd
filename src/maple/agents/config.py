"""The settings of a network: one typed object, loadable from YAML. Imports no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from bridge.errors import ConfigError
from bridge.settings import build_settings, load_settings, suggest

__all__ = [
    "EMBEDDED",
    "NetworkConfig",
    "NetworkKind",
    "build_network_config",
    "load_network_config",
]

NetworkKind: TypeAlias = Literal["mlp", "lstm", "attention"]

EMBEDDED: Final = {
    "species": "species_size",
    "moves": "move_size",
    "items": "item_size",
    "abilities": "ability_size",
    "types": "type_size",
}
"""The kinds of ids that can have learned embeddings, and the settings that say how wide."""

_WITHOUT: Final[dict[str, Any]] = dict.fromkeys(EMBEDDED.values(), 0)
_WITH: Final[dict[str, Any]] = {
    "species_size": 16,
    "move_size": 16,
    "item_size": 8,
    "ability_size": 8,
    "type_size": 4,
}
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "mlp": {"hidden": (256, 256), "moves": 64, **_WITHOUT},
    "lstm": {"hidden": (256, 256), "moves": 64, "memory": 256, **_WITHOUT},
    "attention": {"hidden": (256,), "moves": 64, "entity": 48, "heads": 2, "layers": 1, **_WITH},
}
"""The settings of each kind; those that are not among them it does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """What an agent decides with.

    What is null becomes the default of the kind, and stays null where the kind has no such thing;
    there, anything else is an error.

    Args:
        kind: "mlp" for layers one after another, "lstm" for a network that remembers the decisions
            before, "attention" for one in which the twelve Pokémon look at each other.
        hidden: The widths of the hidden layers, of all kinds. They come before the memory of an
            lstm, and after attention. By default [256, 256], and [256] for attention.
        moves: The width of a layer that judges the moves of those who may act, one by one and all
            alike, and adds to the logits of using them; 0 for none. Of all kinds, 64 by default.
        memory: Of lstm: how many numbers it gives on from decision to decision, 256 by default; it
            keeps as many again to itself.
        entity: Of attention: the width of a Pokémon's vector, 48 by default. A multiple of `heads`.
        heads: Of attention: in how many ways each looks at the others in a layer, 2 by default.
        layers: Of attention: how often they look at each other, 1 by default; 0 for never.
        species_size: How many numbers are learned for each species, beside what is known of it,
            such as its base stats; 0 for none. Of all kinds, as are those that follow; they are 0
            by default for mlp and lstm. 16 by default for attention.
        move_size: The same for each move; 16 by default for attention.
        item_size: The same for each item; 8 by default for attention.
        ability_size: The same for each ability; 8 by default for attention.
        type_size: The same for each type, such as those of moves; 4 by default for attention.
    """

    kind: NetworkKind = "mlp"
    hidden: tuple[int, ...] | None = None
    moves: int | None = None
    memory: int | None = None
    entity: int | None = None
    heads: int | None = None
    layers: int | None = None
    species_size: int | None = None
    move_size: int | None = None
    item_size: int | None = None
    ability_size: int | None = None
    type_size: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in _DEFAULTS:
            raise ConfigError(f"unknown kind {self.kind!r}; {suggest(self.kind, _DEFAULTS)}")
        defaults = _DEFAULTS[self.kind]
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if value is None:
                object.__setattr__(self, name, defaults.get(name))
            elif name != "kind" and name not in defaults:
                raise ConfigError(f"{name} is for {_kinds_with(name)}, not for {self.kind}")
        object.__setattr__(self, "hidden", tuple(self.hidden or ()))
        self._check()

    def _check(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(
                f"hidden is {list(self.hidden or ())}, but must be one or more widths of at least 1"
            )
        for name in ("memory", "entity", "heads"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 1")
        for name in ("moves", "layers", *EMBEDDED.values()):
            if getattr(self, name) is not None and getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 0")
        if self.entity and self.heads and self.entity % self.heads:
            raise ConfigError(
                f"entity is {self.entity}, which is no multiple of {self.heads} heads"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Those of the hidden layers."""
        return self.hidden or ()

    @property
    def embeddings(self) -> dict[str, int]:
        """How many numbers are learned for each id, by kind of id; only of those that have some."""
        sizes = {kind: self.size(name) for kind, name in EMBEDDED.items()}
        return {kind: size for kind, size in sizes.items() if size}

    def size(self, name: str) -> int:
        """A setting that this kind of network has, as a number."""
        value = getattr(self, name)
        if not isinstance(value, int):
            raise ConfigError(f"{name} is for {_kinds_with(name)}, not for {self.kind}")
        return value

    def describe(self) -> dict[str, Any]:
        """The settings as plain data, from which `build_network_config` makes them again."""
        return dataclasses.asdict(self) | {"hidden": list(self.widths)}


def load_network_config(path: str | Path) -> NetworkConfig:
    """Reads settings from a YAML file; keys that are not given keep their defaults."""
    return load_settings(path, build_network_config)


def build_network_config(data: Mapping[Any, Any]) -> NetworkConfig:
    """A network's settings from plain data."""
    optional = [field.name for field in fields(NetworkConfig) if field.name != "kind"]
    return build_settings(NetworkConfig, data, optional=optional)


def _kinds_with(name: str) -> str:
    return " and ".join(kind for kind, settings in _DEFAULTS.items() if name in settings)
