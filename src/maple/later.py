"""Names of a package that are imported when they are asked for: some bring torch, which is slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["come_later"]


def come_later(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package, from the module that has each name."""

    def find(name: str) -> Any:  # noqa: ANN401 - whatever has the name
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{modules[name]}", package), name)

    return find
