"""Reads spec.json for the tests, and observations as Node wrote them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tests.maple.observation.recorded import NODE_FOLDER

__all__ = ["NONE", "UNKNOWN", "Block", "Blocks", "Spec", "decode", "read_spec"]

Blocks = dict[str, npt.NDArray[np.int64]]
"""By group and name, what a block holds: a row for each entry, a column for each field."""

UNKNOWN: Final = 0
NONE: Final = 1


@dataclass(frozen=True)
class Block:
    """Where a part of an observation is, and what its fields are called."""

    name: str
    dtype: str
    offset: int
    count: int
    fields: tuple[str, ...]


class Spec:
    """What spec.json says of observations, less what is only there when asked for."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.classes: dict[str, list[str]] = content["classes"]
        self.names: dict[str, list[str]] = {
            kind: table["names"] for kind, table in content["tables"].items()
        }
        self.numbers = {
            kind: {name: number for number, name in enumerate(names)}
            for kind, names in self.names.items()
        }
        for alias, name in content["tables"]["species"]["aliases"].items():
            self.numbers["species"][alias] = self.numbers["species"][name]
        self.actions = {game: layout["actions"] for game, layout in content["layouts"].items()}
        self.blocks = {
            game: {
                block.name: block
                for block in map(_block, layout["blocks"])
                if block.offset < layout["bytes"]
            }
            for game, layout in content["layouts"].items()
        }

    def class_of(self, classes: str, name: str) -> int:
        return self.classes[classes].index(name)


def _block(block: dict[str, Any]) -> Block:
    return Block(
        name=f"{block['group']}.{block['name']}",
        dtype={"u8": "u1", "u16": "<u2"}[block["dtype"]],
        offset=block["offset"],
        count=block["count"],
        fields=tuple(field["name"] for field in block["fields"]),
    )


@cache
def read_spec() -> Spec:
    return Spec(json.loads((NODE_FOLDER / "observation" / "spec.json").read_text("utf-8")))


def decode(spec: Spec, game: str, observation: bytes) -> Blocks:
    """An observation as numbers."""
    return {name: _decode(block, observation) for name, block in spec.blocks[game].items()}


def _decode(block: Block, observation: bytes) -> npt.NDArray[np.int64]:
    width = len(block.fields)
    flat = np.frombuffer(observation, block.dtype, block.count * width, block.offset)
    return flat.reshape(block.count, width).astype(np.int64)
