"""What every error of the bridge carries, also to another room or another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge import errors
from bridge.errors import BattlePoisoned, BridgeError, ControllerUnresponsive

ERRORS: list[type[BridgeError]] = [getattr(errors, name) for name in errors.__all__]
OWN_FACTS: dict[type[BridgeError], dict[str, object]] = {
    BattlePoisoned: {"input_log": Path("battle.log")},
    ControllerUnresponsive: {"held": True},
}
WAYS: dict[str, Callable[[BridgeError], BridgeError]] = {
    "copied": copy.copy,
    "pickled": lambda error: pickle.loads(pickle.dumps(error)),
    "told": lambda error: error.about("a room"),
}


def make(kind: type[BridgeError]) -> BridgeError:
    facts = {"room": "a room", "pid": 7, "exit_status": -9, "stderr": "last words\n"}
    return kind("the message", **facts, **OWN_FACTS.get(kind, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_the_same_when(
    kind: type[BridgeError], way: Callable[[BridgeError], BridgeError]
) -> None:
    error = make(kind)
    same = way(error)
    assert type(same) is kind
    assert vars(same) == vars(error)
    assert str(same) == str(error) == "the message [room=a room, pid=7, exit_status=-9]\nlast words"


def test_an_error_that_is_told_to_a_room_keeps_its_cause_and_leaves_the_original_alone() -> None:
    error = BridgeError("the message")
    error.__cause__ = ValueError("the cause")
    told = error.about("a room")
    assert told.__cause__ is error.__cause__
    assert (told.room, error.room) == ("a room", None)


def test_all_errors_are_listed() -> None:
    defined = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BridgeError)
    }
    assert defined == set(errors.__all__)


def test_an_error_fits_in_one_line_with_the_last_that_a_process_said() -> None:
    error = BridgeError("it\ndied", stderr="first\n  last \n\n")
    assert error.in_one_line() == "it died last"
