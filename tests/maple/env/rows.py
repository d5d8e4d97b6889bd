"""Observations of random bytes, within what the spec allows, for tests that need no battle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maple.env.spec import Block, Field, ObservationSpec

SPEC = ObservationSpec.load()


def limit(block: Block, field: Field) -> int:
    """How many values a field can have."""
    if field.table is not None:
        return len(SPEC.names[field.table])
    if field.classes is not None:
        return len(SPEC.classes[field.classes])
    return 65536 if block.dtype == "u16" else 256


def random_rows(game: str, length: int, rows: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    random = np.random.default_rng(seed)
    raw = np.zeros((rows, length), np.uint8)
    for block in SPEC.layout(game).blocks:
        if block.offset >= length:
            continue
        for entry in range(block.count):
            for field in block.fields:
                values = random.integers(0, limit(block, field), rows)
                write(raw, block, entry, field.name, values)
    return raw


def write(
    raw: npt.NDArray[np.uint8],
    block: Block,
    entry: int,
    name: str,
    values: npt.ArrayLike,
) -> None:
    """Sets a field of an entry in every row."""
    at = block.at(entry, name)
    values = np.broadcast_to(np.asarray(values, np.int64), len(raw))
    raw[:, at] = values % 256
    if block.dtype == "u16":
        raw[:, at + 1] = values // 256
