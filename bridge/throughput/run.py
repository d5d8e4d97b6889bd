"""Plays battles on a registry of its own and measures them. Shows nothing: a Watcher does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any, Protocol

from ..config import BridgeConfig
from ..errors import BridgeError, ConfigError
from ..registry import ControllerRegistry
from ..room import Result
from ..workload import Workload, play_battles
from .machine import load_average
from .measurement import Measurement, Subject
from .reading import ProcessWatch
from .report import Report

__all__ = ["Interrupted", "Watcher", "measure_battles", "stop_on_signals"]


class Interrupted(Exception):
    """Raised when somebody ended a measurement before there was anything to report."""


class Watcher(Protocol):
    """Whoever wants to see how a measurement comes along."""

    def note(self, line: str) -> None:
        """Something was reached on the way to the first battle."""

    def battle_ended(self, ended: int) -> None:
        """So many battles have ended by now."""

    def looked(self, measurement: Measurement) -> None:
        """A reading was added, as one is every interval."""


@contextlib.contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event that SIGINT and SIGTERM set, in place of what they otherwise do."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def measure_battles(
    config: BridgeConfig,
    workload: Workload,
    *,
    watcher: Watcher,
    stop: asyncio.Event,
    interval: float = 2.0,
    command: str = "",
) -> Report:
    """Plays a workload on a warm pool and reports what it took, from the first battle to the last.

    When `stop` is set it ends early, with what was measured so far; a failure does the same, and
    the report names it. Raises if there was nothing to measure.
    """
    _require_fitting(config, workload)
    load = load_average()
    registry = ControllerRegistry(config)
    try:
        await _start(registry, watcher, stop)
        bench = _Bench(registry, _subject(config, workload, command), load)
        return await bench.measure(workload, watcher, stop, interval)
    finally:
        await registry.close(drain=False)


def _require_fitting(config: BridgeConfig, workload: Workload) -> None:
    if workload.battles < 1 or workload.rooms < 1:
        raise ConfigError(
            f"{workload.battles} battles, {workload.rooms} at a time, are nothing to measure"
        )
    places = config.pool * config.rooms_per_controller
    if min(workload.rooms, workload.battles) > places:
        raise ConfigError(
            f"{workload.rooms} rooms do not fit on {_plural(config.pool, 'controller')} of "
            f"{config.rooms_per_controller} rooms each: {places} at most"
        )


def _subject(config: BridgeConfig, workload: Workload, command: str) -> Subject:
    text = (
        f"{_plural(workload.battles, 'battle')} of {workload.format}, "
        f"{min(workload.rooms, workload.battles)} at a time on {_plural(config.pool, 'controller')}"
    )
    settings = {
        "battles": workload.battles,
        "rooms": workload.rooms,
        "format": workload.format,
        "seed": workload.first_seed,
        **config.describe(),
    }
    return Subject("run", text, command, settings)


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


async def _start(registry: ControllerRegistry, watcher: Watcher, stop: asyncio.Event) -> None:
    """Brings the pool up and lets it warm, unless somebody stops that."""
    loop = asyncio.get_running_loop()

    def note(line: str) -> None:
        # It may come from the thread of an installation, which only an exception can end.
        if stop.is_set():
            raise Interrupted
        loop.call_soon_threadsafe(watcher.note, line)

    async def start() -> None:
        await registry.start(note)
        if registry.config.warmup_battles:
            watcher.note("warming up")
        await registry.warmed()

    starting = asyncio.create_task(start())
    await _first_of(starting, asyncio.create_task(stop.wait()))
    if starting.cancelled():
        raise Interrupted
    starting.result()


async def _first_of(*tasks: asyncio.Task[Any]) -> None:
    """Waits until one task is done, and ends the others."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _end(*tasks)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Bench:
    """A warm registry with instruments attached."""

    def __init__(self, registry: ControllerRegistry, subject: Subject, load: float) -> None:
        self._registry = registry
        self._watch = ProcessWatch(os.getpid())
        self._looking_cpu = 0.0
        self._ended = 0
        self._measurement = Measurement(subject, self._watch.look(registry.stats()), load=load)

    async def measure(
        self, workload: Workload, watcher: Watcher, stop: asyncio.Event, interval: float
    ) -> Report:
        playing = asyncio.create_task(self._play(workload, watcher))
        looking = asyncio.create_task(self._look_every(interval, watcher))
        stopping = asyncio.create_task(stop.wait())
        tasks = (playing, looking, stopping)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # Now, before anything is cancelled: closing the rooms is not part of it.
            self._look()
            if looking.done():
                looking.result()
            return self._conclude(playing)
        finally:
            await _end(*tasks)

    async def _play(self, workload: Workload, watcher: Watcher) -> None:
        def ended(_number: int, _result: Result) -> None:
            self._ended += 1
            watcher.battle_ended(self._ended)

        await play_battles(self._registry, workload, on_battle=ended)

    async def _look_every(self, interval: float, watcher: Watcher) -> None:
        while True:
            await asyncio.sleep(interval)
            self._look()
            watcher.looked(self._measurement)

    def _look(self) -> None:
        began = time.thread_time()
        self._measurement.add(self._watch.look(self._registry.stats()))
        self._looking_cpu += time.thread_time() - began

    def _conclude(self, playing: asyncio.Task[None]) -> Report:
        failure = _failure_of(playing)
        report = self._measurement.report(
            ending="failed" if failure else "complete" if playing.done() else "interrupted",
            failure=failure.message if failure else None,
            looking_cpu=self._looking_cpu,
        )
        if not report.counts.decisions:
            raise failure or Interrupted
        return report


def _failure_of(playing: asyncio.Task[None]) -> BridgeError | None:
    """Why the battles could not be played to their end; the first reason, if each had its own."""
    error = playing.exception() if playing.done() else None
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None and not isinstance(error, BridgeError):
        raise error
    return error
