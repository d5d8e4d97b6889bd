"""The settings of a run as a command line: `--learning.rate 1e-3` for each key of the YAML.

Knows how settings are named and described; what they mean is in `config`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import docstring_parser
import yaml

from bridge.errors import ConfigError
from bridge.settings import suggest

from .config import TrainConfig, Whole

__all__ = ["describe_settings", "read_overrides"]

# What is given for these is not YAML: a run may be called 1, or by a date.
_TEXTS = (str, str | None, Path)
_LISTS = (list[str], list[str] | None)
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")


def read_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """What is given as `--key value` or `--part.key=value`; a key by itself is switched on."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if not argument.startswith("--") or argument == "--":
            raise ConfigError(f"{argument!r} is no setting: they are given as --key value")
        name, equals, text = argument[2:].partition("=")
        if not equals:
            is_switch = at == len(arguments) or _is_option(arguments[at])
            text = "true" if is_switch else arguments[at]
            at += not is_switch
        path = name.replace("-", "_").split(".")
        _put(found, path, _read(name, text, _kind_of(path)))
    return found


def describe_settings(kind: type[Any] = TrainConfig, above: str = "") -> Iterator[tuple[str, str]]:
    """Each setting as it is given on a command line, and what it is."""
    documented = docstring_parser.parse(kind.__doc__ or "")
    texts = {one.arg_name: one.description or "" for one in documented.params}
    hints = get_type_hints(kind)
    for field in fields(kind):
        name = f"{above}{field.name}"
        if is_dataclass(hints[field.name]):
            part = hints[field.name]
            assert isinstance(part, type)
            yield from describe_settings(part, f"{name}.")
            continue
        text = " ".join(texts.get(field.name, "").split())
        yield f"--{name.replace('_', '-')}", f"{text} ({_default(field)})"


def names_of_settings(kind: type[Any] = TrainConfig) -> list[str]:
    return [name for name, _ in describe_settings(kind)]


def _default(field: Field[Any]) -> str:
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    return (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _is_option(text: str) -> bool:
    return text.startswith("--")


def _read(name: str, text: str, kind: Any) -> Any:  # noqa: ANN401 - plain data
    if kind in _TEXTS:
        return None if text == "null" else text
    if kind in _LISTS and not text.startswith("[") and text != "null":
        return text.split(",")
    # YAML takes 1e-3 for text: it wants a dot.
    if _NUMBER.fullmatch(text):
        value = float(text)
        return int(value) if value.is_integer() else value
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"--{name} is {text!r}, which is not valid YAML") from error
    return Whole(read) if isinstance(read, dict) else read


def _put(found: dict[str, Any], path: Sequence[str], value: object) -> None:
    *parts, last = path
    for part in parts:
        inner = found.setdefault(part, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"--{'.'.join(path)} is inside of --{part}, which is given as well")
        found = inner
    found[last] = value


def _kind_of(path: Sequence[str]) -> Any:  # noqa: ANN401 - a type
    """The type of a setting; what is inside of one that is a mapping is for whoever reads that."""
    kind: Any = TrainConfig
    for depth, name in enumerate(path):
        if not is_dataclass(kind):
            return None
        assert isinstance(kind, type)
        hints: Mapping[str, Any] = get_type_hints(kind)
        if name not in hints:
            given = ".".join(path[: depth + 1]).replace("_", "-")
            known = [one.removeprefix("--") for one in names_of_settings()]
            raise ConfigError(f"unknown setting --{given}; {suggest(given, known)}")
        kind = hints[name]
    return kind
