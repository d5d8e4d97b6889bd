"""Reads typed settings from YAML: what is unknown, of the wrong type or missing is told by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from jsonargparse import ArgumentError, ArgumentParser

from .errors import ConfigError

__all__ = ["build_settings", "load_settings", "suggest"]

Settings = TypeVar("Settings")

_NAMES = 12
_KEY = re.compile(r'[Kk]ey "(?:settings\.)?(\w+)"')
_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    list: "a list, such as [a, b]",
    tuple: "a list, such as [a, b]",
    dict: "a mapping, such as {a: 1}",
    type(None): "null",
}
_LIKENESS = 0.5


def load_settings(path: str | Path, build: Callable[[Mapping[Any, Any]], Settings]) -> Settings:
    """What `build` makes of the mapping in a YAML file; its errors name the file."""
    try:
        data = yaml.safe_load(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {_yaml_problem(error)}") from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} is not a mapping of settings to values")
    try:
        return build(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}") from error


def build_settings(
    kind: type[Settings], data: Mapping[Any, Any], *, optional: Collection[str] = ()
) -> Settings:
    """A dataclass of settings from plain data; only those that are optional may be null.

    A setting that is a dataclass itself is given as a mapping; errors in it begin with its name.
    """
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]  # any dataclass
    for key in data:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}; {suggest(key, known)}")
        if data[key] is None and key not in optional:
            raise ConfigError(f"{key} has no value")
    hints = get_type_hints(kind)
    parts = {key: hints[key] for key in known if is_dataclass(hints[key])}
    built = {key: _build_part(key, parts[key], data[key]) for key in data if key in parts}
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, "settings", skip=set(parts))
    plain = {
        k: str(v) if isinstance(v, Path) else list(v) if isinstance(v, tuple) else v
        for k, v in data.items()
        if k not in parts
    }
    try:
        checked = parser.parse_object({"settings": plain})
        return kind(**vars(checked.settings), **built)
    except ArgumentError as error:
        raise ConfigError(_explain(str(error), plain, hints)) from error


def _build_part(name: str, kind: type[Any], data: object) -> object:
    if isinstance(data, kind):
        return data
    if not isinstance(data, Mapping):
        raise ConfigError(f"{name} is {data!r}, but must be a mapping of settings to values")
    may_be_null = [
        key for key, hint in get_type_hints(kind).items() if type(None) in get_args(hint)
    ]
    try:
        return build_settings(kind, data, optional=may_be_null)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}") from error


def suggest(name: object, known: Collection[str]) -> str:
    """What to say after a name that is not known: the one that was meant, or else those there are.

    >>> suggest("backwards", ["backward", "env_step"])
    "did you mean 'backward'?"
    """
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1, cutoff=_LIKENESS)
    if close:
        return f"did you mean {close[0]!r}?"
    if not names:
        return "there are none"
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_NAMES])}{more}"


def _yaml_problem(error: yaml.YAMLError) -> str:
    """What is wrong and where, in one line of the several that YAML takes."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error).partition("\n")[0]


def _explain(message: str, data: Mapping[str, Any], hints: Mapping[str, Any]) -> str:
    """Which key has which value, and what it must be; jsonargparse has types for that."""
    named = _KEY.search(message)
    if named is not None and named[1] in data:
        key = named[1]
        return f"{key} is {data[key]!r}, but must be {_describe(hints[key])}"
    return " ".join(line.strip() for line in message.replace("settings.", "").splitlines()[:2])


def _describe(kind: Any) -> str:  # noqa: ANN401 - a type
    """A type in words."""
    origin = get_origin(kind)
    if origin is Literal:
        return " or ".join(map(str, get_args(kind)))
    if origin in (Union, UnionType):
        return " or ".join(map(_describe, get_args(kind)))
    return _WORDS.get(origin or kind, getattr(kind, "__name__", str(kind)))
