"""Turns the bytes that Node encodes into what a network reads: features, ids, action masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bridge.errors import ProtocolViolation
from bridge.settings import build_settings, load_settings

from .actions import Actions, Row
from .errors import ObservationMismatch
from .spec import Block, Field, Layout, ObservationSpec

if TYPE_CHECKING:
    from gymnasium.spaces import Dict

__all__ = ["ObservationConfig", "ObservationSpec", "Observations", "load_observation_config"]

Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationConfig:
    """What an agent observes.

    Args:
        groups: The groups of an observation, by name. `decision` is in every one.
    """

    groups: tuple[str, ...] = field(default_factory=lambda: ObservationSpec.load().default_groups)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", ObservationSpec.load().select(self.groups))


def load_observation_config(path: str | Path) -> ObservationConfig:
    """Reads settings from a YAML file; keys that are not given keep their defaults."""
    return load_settings(path, lambda data: build_settings(ObservationConfig, data))


class Observations:
    """Expands observations of one game and generation, of the groups that were asked for.

    A handful of operations makes all features of a batch, and the columns stand in their order:
    scaled bytes, scaled words, classes, then what each table knows of its ids. `ids` are for
    embeddings: ids in tables first, then classes that have too many members to be features.
    """

    def __init__(self, game: str, generation: int, groups: Sequence[str] | None = None) -> None:
        spec = ObservationSpec.load()
        layout = spec.layout(game)
        self.spec = spec
        self.game = game
        self.generation = generation
        self.groups = spec.default_groups if groups is None else spec.select(groups)
        self.actions = Actions(game, generation)
        self.bytes = _length(spec, layout, self.groups)
        self._layout = layout
        self._words = max(b.offset + b.bytes for b in layout.blocks if b.dtype == "u16")
        values = list(_values(block for block in layout.blocks if block.group in self.groups))
        self._scaled = _Scaled([v for v in values if v.field.divisor and not v.wide])
        self._scaled_words = _Scaled([v for v in values if v.field.divisor and v.wide])
        self._classes = _Classes([v for v in values if v.field.classes and not v.field.ids], spec)
        self._tables = _Tables([v for v in values if v.field.table], spec, generation)
        self._embedded = _Embedded([v for v in values if v.field.ids], spec)
        self._features = (self._scaled, self._scaled_words, self._classes, self._tables)
        self.feature_count = sum(part.count for part in self._features)
        self.id_count = self._tables.id_count + self._embedded.count

    def __repr__(self) -> str:
        return (
            f"<Observations of {self.game} in generation {self.generation}: "
            f"{self.feature_count} features, {self.id_count} ids>"
        )

    # Batches

    def stack(self, observations: Sequence[bytes]) -> Bytes:
        """Observations as they come from Node, one a row."""
        raw = np.frombuffer(b"".join(observations), np.uint8)
        if raw.size != len(observations) * self.bytes:
            wrong = next(len(one) for one in observations if len(one) != self.bytes)
            raise self._wrong_length(wrong)
        return raw.reshape(len(observations), self.bytes)

    def expand(self, raw: Bytes) -> dict[str, npt.NDArray[Any]]:
        """What a network reads of rows of bytes: uint8[rows, bytes].

        `features` float32[rows, …], `ids` int32[rows, …], and `action_mask` int8[rows, actions] in
        singles, int8[rows, 2, actions] in doubles.
        """
        if raw.ndim != 2 or raw.shape[1] != self.bytes:
            raise self._wrong_length(raw.shape[-1])
        features = np.empty((len(raw), self.feature_count), np.float32)
        ids = np.empty((len(raw), self.id_count), np.int32)
        words = raw[:, : self._words].view("<u2")
        at = self._scaled.fill(features, 0, raw)
        at = self._scaled_words.fill(features, at, words)
        at = self._classes.fill(features, at, raw)
        self._tables.fill(features, at, ids, words)
        self._embedded.fill(ids, self._tables.id_count, raw)
        return {"features": features, "ids": ids, "action_mask": self.actions.masks(raw)}

    def feature_names(self) -> list[str]:
        """What each column of the features is: group, entry, block, field, and what of it."""
        return [name for part in self._features for name in part.names()]

    def id_names(self) -> list[str]:
        """What each column of the ids is."""
        return self._tables.id_names() + self._embedded.names()

    def id_kinds(self) -> list[str]:
        """The table or class that each id is of; ids of one kind can share an embedding."""
        return self._tables.id_kinds() + self._embedded.kinds()

    def id_sizes(self) -> list[int]:
        """How many values each id can have."""
        sizes = {kind: len(names) for kind, names in (self.spec.names | self.spec.classes).items()}
        return [sizes[kind] for kind in self.id_kinds()]

    @property
    def space(self) -> Dict:
        """Gymnasium's description of one expanded observation."""
        from gymnasium.spaces import Box, Dict, MultiBinary

        bounds = np.concatenate([part.bounds() for part in self._features], axis=1)
        highest = np.array(self.id_sizes(), np.int32) - 1
        slots, size = self.actions.slots, self.actions.size
        return Dict(
            {
                "features": Box(bounds[0], bounds[1], dtype=np.float32),
                "ids": Box(np.zeros_like(highest), highest, dtype=np.int32),
                "action_mask": MultiBinary(size if slots == 1 else [slots, size]),
            }
        )

    # What a checkpoint has learned from

    @property
    def signature(self) -> dict[str, Any]:
        """What makes two observations the same kind, as plain data to store with a checkpoint."""
        return {
            "hash": self.spec.hash,
            "version": self.spec.version,
            "game": self.game,
            "generation": self.generation,
            "groups": list(self.groups),
        }

    def require(self, signature: Mapping[str, Any]) -> None:
        """Raises ObservationMismatch, which names the difference, unless it is ours."""
        own = self.signature
        different = [
            f"{key} is {own.get(key)}, not {signature.get(key)}"
            for key in own | dict(signature)
            if own.get(key) != signature.get(key)
        ]
        if different:
            raise ObservationMismatch(
                f"these observations are another kind: {'; '.join(different)}"
            )

    # One row, for people

    def decode(self, row: Row) -> dict[str, dict[str, list[Any]]]:
        """Everything that an observation says, by group and block, with names in place of numbers.

        A value is the integer that the feature is scaled from.
        """
        if len(row) != self.bytes:
            raise self._wrong_length(len(row))
        decoded: dict[str, dict[str, list[Any]]] = {}
        for block in self._layout.blocks:
            if block.group in self.groups:
                decoded.setdefault(block.group, {})[block.name] = self._decode_block(block, row)
        return decoded

    def _decode_block(self, block: Block, row: Row) -> list[Any]:
        if (block.group, block.name) == ("decision", "mask"):
            return [
                {action: self.actions.describe_one(action) for action in legal}
                for legal in self.actions.legal(row)
            ]
        entries = [
            {f.name: self._decode_value(f, _read(row, block, entry, f.name)) for f in block.fields}
            for entry in range(block.count)
        ]
        return (
            entries if len(block.fields) > 1 else [v for entry in entries for v in entry.values()]
        )

    def _decode_value(self, field: Field, value: int) -> int | str:
        if not (field.table or field.classes):
            return value - field.offset
        names = (
            self.spec.names[field.table] if field.table else self.spec.classes[field.classes or ""]
        )
        return names[value] if value < len(names) else f"{value}, which has no name"

    # Inside

    def _wrong_length(self, length: int) -> ObservationMismatch:
        return ObservationMismatch(
            f"an observation has {length} bytes, but {self.game} with the groups "
            f"{', '.join(self.groups)} has {self.bytes}"
        )


class _Value(NamedTuple):
    """A field of an entry: its whole name and its place in the bytes."""

    name: str
    at: int
    wide: bool
    field: Field


def _values(blocks: Iterable[Block]) -> Iterator[_Value]:
    for block in blocks:
        for entry in range(block.count):
            for one in block.fields:
                name = f"{block.group}.{entry}.{block.name}.{one.name}"
                yield _Value(name, block.at(entry, one.name), block.dtype == "u16", one)


def _columns(values: Iterable[_Value]) -> npt.NDArray[np.intp]:
    """Where the values stand in rows of bytes, or of words if they are words."""
    return np.array([v.at // 2 if v.wide else v.at for v in values], np.intp)


def _length(spec: ObservationSpec, layout: Layout, groups: tuple[str, ...]) -> int:
    wide = any(group in spec.optional_groups for group in groups)
    return layout.bytes_with_all if wide else layout.bytes


def _read(row: Row, block: Block, entry: int, name: str) -> int:
    at = block.at(entry, name)
    return int.from_bytes(bytes(row[at : at + block.width]), "little")


class _Scaled:
    """Features that are a value less its offset, divided; those with an offset stand in front."""

    def __init__(self, values: list[_Value]) -> None:
        self._values = sorted(values, key=lambda value: not value.field.offset)
        self.count = len(values)
        self._at = _columns(self._values)
        self._moved = sum(1 for value in values if value.field.offset)
        self._offsets = np.array([v.field.offset for v in self._values[: self._moved]], np.float32)
        self._divisors = np.array([value.field.divisor for value in self._values], np.float32)

    def fill(self, features: Floats, at: int, source: Integers) -> int:
        """Writes the columns from `at` on, and says where the next ones go."""
        values = source.take(self._at, axis=1)
        moved, end = at + self._moved, at + self.count
        front = features[:, at:moved]
        np.subtract(values[:, : self._moved], self._offsets, out=front)
        np.divide(front, self._divisors[: self._moved], out=front)
        np.divide(
            values[:, self._moved :], self._divisors[self._moved :], out=features[:, moved:end]
        )
        return end

    def names(self) -> list[str]:
        return [value.name for value in self._values]

    def bounds(self) -> Floats:
        """The lowest and the highest that each can be."""
        most = np.array([65535 if value.wide else 255 for value in self._values], np.float32)
        offsets = np.array([value.field.offset for value in self._values], np.float32)
        return np.stack([-offsets / self._divisors, (most - offsets) / self._divisors])


class _Classes:
    """Features of which one is 1 for each value: the class that it is."""

    def __init__(self, values: list[_Value], spec: ObservationSpec) -> None:
        self._names = [
            [f"{v.name}.{c}" for c in spec.classes[v.field.classes or ""]] for v in values
        ]
        self._values = values
        self._sizes = np.array([len(names) for names in self._names], np.intp)
        self.count = int(self._sizes.sum())
        self._at = _columns(values)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def fill(self, features: Floats, at: int, source: Bytes) -> int:
        values = source.take(self._at, axis=1)
        _check(values, self._sizes, self._values)
        features[:, at : at + self.count] = 0
        rows = np.arange(len(features)) * features.shape[1] + at
        features.reshape(-1)[values + self._starts + rows[:, None]] = 1
        return at + self.count

    def names(self) -> list[str]:
        return [name for names in self._names for name in names]

    def bounds(self) -> Floats:
        return np.stack([np.zeros(self.count, np.float32), np.ones(self.count, np.float32)])


class _Embedded:
    """Ids that are classes: too many of them to be features for every Pokémon."""

    def __init__(self, values: list[_Value], spec: ObservationSpec) -> None:
        self._values = values
        self.count = len(values)
        self._at = _columns(values)
        self._sizes = np.array([len(spec.classes[kind]) for kind in self.kinds()], np.intp)

    def fill(self, ids: npt.NDArray[np.int32], at: int, source: Bytes) -> None:
        values = source.take(self._at, axis=1)
        _check(values, self._sizes, self._values)
        ids[:, at : at + self.count] = values

    def names(self) -> list[str]:
        return [value.name for value in self._values]

    def kinds(self) -> list[str]:
        return [value.field.classes or "" for value in self._values]


def _check(classes: Bytes, sizes: npt.NDArray[np.intp], values: list[_Value]) -> None:
    """Raises ProtocolViolation for what is no member of its classes."""
    if (classes >= sizes).any():
        row, column = np.argwhere(classes >= sizes)[0]
        raise ProtocolViolation(
            f"an observation says {classes[row, column]} for {values[column].name}, "
            f"which has {sizes[column]} classes"
        )


class _Known(NamedTuple):
    """What is known of each id of a table in a generation: features, and ids of classes."""

    features: Floats
    feature_names: list[str]
    ids: npt.NDArray[np.int32]
    id_names: list[str]
    id_kinds: list[str]


class _Tables:
    """Features and ids that are looked up in tables, one table after another."""

    def __init__(self, values: list[_Value], spec: ObservationSpec, generation: int) -> None:
        self._known = {kind: _know(spec, generation, kind) for kind in spec.columns}
        self._values = {kind: [v for v in values if v.field.table == kind] for kind in self._known}
        self._at = _columns([value for some in self._values.values() for value in some])
        each = [(len(self._values[kind]), known) for kind, known in self._known.items()]
        self.count = sum(n * known.features.shape[1] for n, known in each)
        self.id_count = sum(n * (1 + known.ids.shape[1]) for n, known in each)

    def fill(self, features: Floats, at: int, ids: npt.NDArray[np.int32], source: Integers) -> None:
        found = source.take(self._at, axis=1).astype(np.intp)
        ids[:, : found.shape[1]] = found
        start, id_at = 0, found.shape[1]
        for kind, known in self._known.items():
            some = found[:, start : start + len(self._values[kind])]
            start += some.shape[1]
            try:
                at = _look_up(known.features, some, features, at)
            except IndexError:
                raise self._no_name(kind, some) from None
            if known.id_names:
                id_at = _look_up(known.ids, some, ids, id_at)

    def names(self) -> list[str]:
        return [
            f"{value.name}.{column}"
            for kind, known in self._known.items()
            for value in self._values[kind]
            for column in known.feature_names
        ]

    def bounds(self) -> Floats:
        # At least 0 to 1, also for what no member of a generation has.
        each = [
            np.tile(
                np.stack([known.features.min(0, initial=0), known.features.max(0, initial=1)]),
                len(self._values[kind]),
            )
            for kind, known in self._known.items()
        ]
        return np.concatenate(each, axis=1)

    def id_names(self) -> list[str]:
        own = [value.name for some in self._values.values() for value in some]
        return own + [
            f"{value.name}.{column}"
            for kind, known in self._known.items()
            for value in self._values[kind]
            for column in known.id_names
        ]

    def id_kinds(self) -> list[str]:
        own = [kind for kind, some in self._values.items() for _ in some]
        return own + [
            column
            for kind, known in self._known.items()
            for _ in self._values[kind]
            for column in known.id_kinds
        ]

    def _no_name(self, kind: str, ids: Integers) -> ProtocolViolation:
        size = len(self._known[kind].features)
        row, column = np.argwhere(ids >= size)[0]
        return ProtocolViolation(
            f"an observation says {ids[row, column]} for {self._values[kind][column].name}, "
            f"but there are {size} {kind}"
        )


def _look_up(table: npt.NDArray[Any], indices: Integers, out: npt.NDArray[Any], at: int) -> int:
    """Writes the table's rows for the indices side by side, and says where the next ones go."""
    end: int = at + indices.shape[1] * table.shape[1]
    out[:, at:end] = table.take(indices, axis=0).reshape(len(out), end - at)
    return end


@cache
def _know(spec: ObservationSpec, generation: int, kind: str) -> _Known:
    """The table of a kind with its columns made features; zeros for what a generation lacks."""
    columns = spec.columns[kind]
    rows = spec.tables(generation)[kind]
    width = len(columns)
    known = np.array([row is not None for row in rows])
    data = np.array([[0] * width if row is None else row for row in rows], np.int64)
    features: dict[str, npt.NDArray[np.float64]] = {}
    id_names, id_kinds, ids = [], [], []
    for index, column in enumerate(columns):
        values = data[:, index]
        if column.divisor:
            features[column.name] = (values - column.offset) / column.divisor * known
        elif column.classes and column.ids:
            id_names.append(column.name)
            id_kinds.append(column.classes)
            ids.append(values)
        elif column.classes:
            for number, member in enumerate(spec.classes[column.classes]):
                name = f"{column.multi or column.name}.{member}"
                is_it = (values == number) & known
                features[name] = np.maximum(features.get(name, 0.0), is_it)
    return _Known(
        np.stack(list(features.values()), axis=1).astype(np.float32),
        list(features),
        np.array(ids, np.int32).reshape(len(ids), len(rows)).T.copy(),
        id_names,
        id_kinds,
    )
