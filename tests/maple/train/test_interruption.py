"""Signals while a run is under way: the first is a wish, the second is as it was before."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from maple.train.interruption import Interrupted, Interruption

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture(autouse=True)
def heard() -> Iterator[list[int]]:
    """The signals that came to whoever heard them before."""
    found: list[int] = []
    before = {one: signal.signal(one, lambda number, _: found.append(number)) for one in SIGNALS}
    yield found
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_a_wish(number: signal.Signals, heard: list[int]) -> None:
    with Interruption() as interruption:
        assert not interruption.is_wanted
        signal.raise_signal(number)
        assert interruption.is_wanted
    assert heard == []


@pytest.mark.parametrize("number", SIGNALS)
def test_the_wish_is_raised_at_once_where_it_does_no_harm(number: signal.Signals) -> None:
    reached = []

    def work() -> None:
        reached.append("before")
        signal.raise_signal(number)
        reached.append("after")

    with Interruption() as interruption:
        with pytest.raises(Interrupted), interruption.allowed():
            work()
        assert interruption.is_wanted
    assert reached == ["before"]


def test_a_wish_from_before_is_raised_before_anything_is_done() -> None:
    reached = []
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted), interruption.allowed():
            reached.append("inside")
    assert reached == []


def test_after_what_may_be_left_the_wish_waits_again(heard: list[int]) -> None:
    with Interruption() as interruption:
        with interruption.allowed():
            pass
        with pytest.raises(ZeroDivisionError), interruption.allowed():
            _ = 1 / 0
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted), interruption.allowed():
            pass
    assert heard == []


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_is_as_before(
    first: signal.Signals, second: signal.Signals, heard: list[int]
) -> None:
    with Interruption():
        signal.raise_signal(first)
        signal.raise_signal(second)
    assert heard == [second]


def test_ctrl_c_twice_ends_what_does_not_end_by_itself() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Interruption():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as told:
            signal.raise_signal(signal.SIGINT)
    assert told.type is KeyboardInterrupt


def test_afterwards_signals_are_as_before(heard: list[int]) -> None:
    with Interruption() as interruption:
        pass
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    assert heard == SIGNALS
    assert not interruption.is_wanted


def test_who_hears_of_no_interruption_else_takes_it_for_ctrl_c() -> None:
    assert issubclass(Interrupted, KeyboardInterrupt)


def test_beside_the_main_thread_signals_are_left_alone(heard: list[int]) -> None:
    """There Python lets nobody hear them."""
    found: list[bool] = []

    def run() -> None:
        with Interruption() as interruption, interruption.allowed():
            found.append(interruption.is_wanted)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]
    signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT]
