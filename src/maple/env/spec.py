"""What an observation is, read from the file that Node encodes by: layouts, classes and tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from bridge.errors import ConfigError, InstallationFailed
from bridge.observation import load_spec, spec_path
from bridge.settings import suggest

__all__ = ["GENERATIONS", "Block", "Field", "Layout", "ObservationSpec"]

GENERATIONS = range(1, 10)


@dataclass(frozen=True, slots=True)
class Field:
    """One value of an entry.

    An id in a `table`, a value of which (value - offset) / divisor is the feature, one of
    `classes`, or, if it is none of these, plain. Classes with `ids` are for embeddings, as ids in
    tables are.
    In a table, classes that share a `multi` are one feature each, set by either.
    """

    name: str
    table: str | None = None
    divisor: int | None = None
    offset: int = 0
    classes: str | None = None
    ids: bool = False
    multi: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """So many entries of the same fields, entry by entry, from a fixed offset on."""

    group: str
    name: str
    dtype: str
    offset: int
    count: int
    fields: tuple[Field, ...]

    @property
    def width(self) -> int:
        """Bytes of one value."""
        return 2 if self.dtype == "u16" else 1

    @property
    def bytes(self) -> int:
        return self.count * len(self.fields) * self.width

    def at(self, entry: int, name: str) -> int:
        """The offset of a field of an entry, in bytes."""
        index = [field.name for field in self.fields].index(name)
        return self.offset + (entry * len(self.fields) + index) * self.width


@dataclass(frozen=True, slots=True)
class Layout:
    """The bytes of an observation in singles or in doubles."""

    game: str
    slots: int
    actions: int
    bytes: int
    bytes_with_all: int
    blocks: tuple[Block, ...]

    def block(self, group: str, name: str) -> Block:
        return next(b for b in self.blocks if (b.group, b.name) == (group, name))


@dataclass(frozen=True, eq=False)
class ObservationSpec:
    """The spec file as it was read; `hash` is what Node says that it encodes by."""

    hash: str
    version: int
    data: dict[str, Any]

    @staticmethod
    @cache
    def load() -> ObservationSpec:
        """The one file of this installation, read once."""
        data = load_spec()
        return ObservationSpec(data["hash"], data["version"], data)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Every group, in the order of the file."""
        return tuple(self.data["groups"]["all"])

    @cached_property
    def default_groups(self) -> tuple[str, ...]:
        return tuple(g for g in self.groups if g not in self.data["groups"]["optional"])

    @cached_property
    def required_groups(self) -> tuple[str, ...]:
        return tuple(self.data["groups"]["always"])

    @cached_property
    def optional_groups(self) -> tuple[str, ...]:
        """Groups that nobody gets who does not ask for them: they take bytes of their own."""
        return tuple(self.data["groups"]["optional"])

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(members) for name, members in self.data["classes"].items()}

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of each table's ids."""
        return {kind: tuple(table["names"]) for kind, table in self.data["tables"].items()}

    @cached_property
    def columns(self) -> dict[str, tuple[Field, ...]]:
        """What is known of the members of each table."""
        return {kind: _fields(columns) for kind, columns in self.data["columns"].items()}

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        return {game: _layout(game, data) for game, data in self.data["layouts"].items()}

    def layout(self, game: str) -> Layout:
        if game not in self.layouts:
            raise ConfigError(f"unknown game {game!r}; {suggest(game, self.layouts)}")
        return self.layouts[game]

    def select(self, groups: Iterable[str]) -> tuple[str, ...]:
        """The groups in the file's order, once each, with those that everybody needs."""
        groups = tuple(groups)
        for group in groups:
            if group not in self.groups:
                raise ConfigError(f"unknown group {group!r}; {suggest(group, self.groups)}")
        return tuple(g for g in self.groups if g in groups or g in self.required_groups)

    def tables(self, generation: int) -> dict[str, list[list[int] | None]]:
        """What is known of each id in a generation; nothing of those that it does not have."""
        check_generation(generation)
        name = f"gen{generation}"
        text = (spec_path().parent / "tables" / f"{name}.json").read_text(encoding="utf-8")
        if _fingerprint(text) != self.data["data"][name]:
            raise InstallationFailed(
                f"the tables of {name} are not those that spec.json names. "
                "Install the maple package again"
            )
        tables: dict[str, list[list[int] | None]] = json.loads(text)
        return {kind: tables[kind] for kind in self.columns}


def check_generation(generation: int) -> None:
    if generation not in GENERATIONS:
        raise ConfigError(f"generation is {generation}, but must be from 1 to {GENERATIONS[-1]}")


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _fields(data: list[dict[str, Any]]) -> tuple[Field, ...]:
    return tuple(Field(**field) for field in data)


def _layout(game: str, data: dict[str, Any]) -> Layout:
    blocks = tuple(
        Block(**{**block, "fields": _fields(block["fields"])}) for block in data["blocks"]
    )
    return Layout(game, **{**data, "blocks": blocks})
