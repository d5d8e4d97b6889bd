"""Keeps the controllers of a pool warm: starts, recycles and replaces them. Knows no rooms."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog

from .config import BridgeConfig
from .controller import Controller, ControllerState, Death, Traffic
from .errors import BridgeError
from .placement import Limits, Reading, backoff, reason_to_recycle
from .runtime import Runtime
from .timing import RoundTrips

__all__ = ["Pool", "PoolCounters", "Progress", "Tenant"]

log = structlog.get_logger("bridge.pool")

Progress = Callable[[str], None]


class Tenant(Protocol):
    """Who puts rooms on the controllers, and is told what becomes of these."""

    def controller_ready(self) -> None:
        """There are new places."""

    def controller_died(self, controller: Controller, death: Death) -> None:
        """What was on the controller is to go elsewhere."""

    def move_out(self, controller: Controller) -> None:
        """The controller has been recycled; what is still on it is to go elsewhere."""

    def pool_failed(self, error: BridgeError) -> None:
        """Controllers do not come up any more."""


@dataclass(slots=True)
class PoolCounters:
    """What has happened to processes since the pool started."""

    starts: int = 0
    failed_starts: int = 0
    deaths: int = 0
    recycled: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Berth:
    """A place in the pool; it outlives the controllers that fill it.

    `successor` is a controller that warms while the one that it is to replace still works.
    """

    controller: Controller | None = None
    successor: Controller | None = None
    limits: Limits | None = None
    failures: int = 0
    recycle: str | None = None
    attention: asyncio.Event = field(default_factory=asyncio.Event)


class Pool:
    """A fixed number of berths, each with a controller, or with one on its way."""

    def __init__(
        self, config: BridgeConfig, runtime: Runtime, trips: RoundTrips, tenant: Tenant
    ) -> None:
        self.counters = PoolCounters()
        self._config = config
        self._runtime = runtime
        self._trips = trips
        self._tenant = tenant
        self._berths = [Berth() for _ in range(config.pool)]
        self._draining: set[Controller] = set()
        self._gone = Traffic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0
        self._is_up = False
        self._warmed = asyncio.Event()
        self._has_warned_of_memory = False
        self._said_of_turbo: set[str] = set()
        self._warnings: set[str] = set()

    def __repr__(self) -> str:
        return (
            f"<Pool: {len(self.ready())} of {self._config.pool} ready, "
            f"{len(self._draining)} draining, {self.counters.deaths} deaths>"
        )

    def ready(self) -> list[Controller]:
        """The controllers that take rooms."""
        return [
            berth.controller
            for berth in self._berths
            if berth.controller is not None and berth.controller.state is ControllerState.READY
        ]

    def alive(self) -> list[Controller]:
        """All of them: those that take rooms, that warm to replace one, and that drain."""
        holders = [berth.controller for berth in self._berths]
        successors = [berth.successor for berth in self._berths]
        return [
            controller
            for controller in (*holders, *successors, *self._draining)
            if controller is not None and controller.state is not ControllerState.DEAD
        ]

    def warmth(self) -> float:
        """How warm the pool is as a whole, from 0 to 1; a berth that is empty is cold."""
        warmths = [controller.vitals.warmth for controller in self.ready()]
        return sum(warmths) / self._config.pool

    async def warmed(self) -> None:
        """Waits until every berth has a controller that is warm, or the pool is closed."""
        while self._is_up and self.warmth() < 1:
            self._warmed.clear()
            await self._warmed.wait()

    def traffic(self) -> Traffic:
        """What went over all pipes, also those of processes that are gone."""
        total = Traffic()
        for traffic in (self._gone, *(controller.traffic for controller in self.alive())):
            total.add(traffic)
        return total

    async def start(self, progress: Progress | None = None) -> None:
        """Brings the pool up: one controller alone, where a broken set-up shows, then the rest."""
        await self._fill(self._berths[0], progress)
        try:
            async with asyncio.TaskGroup() as group:
                for berth in self._berths[1:]:
                    group.create_task(self._fill(berth, progress))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        self._is_up = True
        for berth in self._berths:
            self._spawn(self._keep(berth))

    async def close(self) -> None:
        """Ends every process and task."""
        self._is_up = False
        self._warmed.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(controller.stop() for controller in self.alive()))

    def consider_recycling(self, controller: Controller) -> None:
        """Has a controller replaced, if it has done enough."""
        berth = self._berth_of(controller)
        if berth is None or berth.limits is None or berth.recycle is not None or berth.successor:
            return
        age = asyncio.get_running_loop().time() - controller.started
        reading = Reading(controller.battles, controller.vitals.rss, age)
        berth.recycle = reason_to_recycle(reading, berth.limits)
        if berth.recycle is not None:
            berth.attention.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the pool failed", exc_info=error)
            failure = BridgeError(f"the pool failed: {error!r}")
            failure.__cause__ = error
            self._tenant.pool_failed(failure)

    def _on_beat(self, controller: Controller) -> None:
        self._warmed.set()
        self._warn_of_turbo(controller)
        for berth in self._berths:
            if berth.successor is controller:
                berth.attention.set()
        self.consider_recycling(controller)

    def _on_warnings(self, warnings: list[str]) -> None:
        """Passes on what a process warns of, once for all of them."""
        for warning in warnings:
            if warning not in self._warnings:
                self._warnings.add(warning)
                log.warning("Node warns", warning=warning)

    def _berth_of(self, controller: Controller) -> Berth | None:
        return next((berth for berth in self._berths if berth.controller is controller), None)

    async def _keep(self, berth: Berth) -> None:
        """Replaces the berth's controller: at once when it died, by a warm one when it is due."""
        while True:
            await berth.attention.wait()
            berth.attention.clear()
            former = berth.controller
            reason, berth.recycle = berth.recycle, None
            if former is not None and former.state is ControllerState.READY and reason is None:
                continue
            try:
                await self._fill(berth)
            except BridgeError as error:
                log.error("the pool cannot be kept up", cause=str(error))
                self._tenant.pool_failed(error)
                return
            if former is not None and former.state is ControllerState.READY and reason is not None:
                self._recycle(former, reason)

    async def _fill(self, berth: Berth, progress: Progress | None = None) -> None:
        controller = await self._come_up(berth)
        while not await self._warm(berth, controller):
            berth.failures += 1
            await asyncio.sleep(backoff(berth.failures, self._config))
            controller = await self._come_up(berth)
        berth.failures = 0
        # Whatever was asked for meanwhile was meant for the former one.
        berth.recycle = None
        berth.controller, berth.successor = controller, None
        berth.limits = self._draw_limits(controller)
        controller.admit()
        self._warmed.set()
        if progress is not None:
            progress(f"{len(self.ready())} of {self._config.pool} controllers are ready")
        self._tenant.controller_ready()

    async def _come_up(self, berth: Berth) -> Controller:
        while True:
            try:
                return await self._start_controller()
            except BridgeError:
                self.counters.failed_starts += 1
                berth.failures += 1
                # Before the pool is up, a controller that fails means a broken installation.
                given_up = berth.failures >= self._config.start_attempts and not self.ready()
                if not self._is_up or given_up:
                    raise
                await asyncio.sleep(backoff(berth.failures, self._config))

    async def _warm(self, berth: Berth, newcomer: Controller) -> bool:
        """Lets a newcomer warm for as long as the one that it is to replace works.

        Returns whether it lives to be used, as warm as it could become.
        """
        berth.successor = newcomer
        former = berth.controller

        def may_warm() -> bool:
            return (
                former is not None
                and former.state is ControllerState.READY
                and newcomer.state is ControllerState.WARMING
                and newcomer.vitals.warmth < 1
            )

        try:
            async with asyncio.timeout(self._config.start_timeout):
                while may_warm():
                    berth.attention.clear()
                    await berth.attention.wait()
        except TimeoutError:
            log.warning("a controller is used before it is warm", pid=newcomer.pid)
        return newcomer.state is ControllerState.WARMING

    def _draw_limits(self, controller: Controller) -> Limits:
        """How much a fresh controller may do; its memory is limited only if it starts out below."""
        limits = Limits.draw(self._config, random.random())
        if not limits.memory or controller.vitals.rss < limits.memory:
            return limits
        if not self._has_warned_of_memory:
            self._has_warned_of_memory = True
            log.warning(
                "recycle_memory_mb is less than a fresh process uses, and is passed over",
                recycle_memory_mb=self._config.recycle_memory_mb,
                fresh_mb=controller.vitals.rss // 1_000_000,
            )
        return replace(limits, memory=0)

    async def _start_controller(self) -> Controller:
        self._number += 1
        controller = Controller(
            self._number,
            self._config,
            self._runtime,
            trips=self._trips,
            on_beat=self._on_beat,
            on_warnings=self._on_warnings,
            on_death=self._on_death,
        )
        self.counters.starts += 1
        await controller.start()
        self._warn_of_turbo(controller)
        return controller

    def _warn_of_turbo(self, controller: Controller) -> None:
        """Says once what turbo leaves to vanilla: all controllers load the same simulator."""
        if not self._config.turbo:
            return
        found = controller.identity
        if found.turbo:
            fact, parts = "turbo leaves parts to vanilla", found.left
        else:
            fact, parts = "the simulator is without turbo", found.left or ["all of it"]
        news = [part for part in parts if part not in self._said_of_turbo]
        if news:
            self._said_of_turbo.update(news)
            log.warning(fact, simulator=found.simulator, left=news)

    def _recycle(self, controller: Controller, reason: str) -> None:
        log.info("recycling", pid=controller.pid, reason=reason, rooms=len(controller.rooms))
        self.counters.recycled[reason] = self.counters.recycled.get(reason, 0) + 1
        controller.drain()
        self._draining.add(controller)
        self._spawn(self._retire(controller))

    async def _retire(self, controller: Controller) -> None:
        """Lets the battles of a replaced controller end, moves those that do not, and ends it."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._config.drain_timeout):
                    await controller.emptied.wait()
            self._tenant.move_out(controller)
        finally:
            await controller.stop()

    def _on_death(self, controller: Controller, death: Death) -> None:
        self._draining.discard(controller)
        self._gone.add(controller.traffic)
        if not death.expected:
            self.counters.deaths += 1
        for berth in self._berths:
            if controller in (berth.controller, berth.successor):
                berth.attention.set()
        self._tenant.controller_died(controller, death)
