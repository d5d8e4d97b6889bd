"""The rooms of a pool: opens them, places them on controllers, moves them when these die."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from . import seeds
from .config import BridgeConfig, load_config
from .controller import Controller, ControllerState, Death, Traffic
from .errors import (
    BattlePoisoned,
    BattleRejected,
    BridgeError,
    ControllerDied,
    InstallationFailed,
    PoolExhausted,
    ProtocolViolation,
    RegistryClosed,
    RoomClosed,
)
from .formats import FormatFacts
from .journal import Journal, Player
from .memo import Memo
from .observation import LINES, View
from .placement import place
from .pool import Pool, PoolCounters, Progress
from .room import BattleRoom
from .runtime import Runtime, find_runtime
from .timing import RoundTrips, Trips
from .wire import Frame

__all__ = ["ControllerRegistry"]

log = structlog.get_logger("bridge.registry")

_STRIKES = 2
# A room in whose hands controllers die of signals from outside, again and again without a step
# forward, may be what makes somebody send them (the kernel, for memory). Innocent rooms never get
# this far.
_DEATHS_IN_HAND = 10
# Whoever is at fault, no room is moved for ever without a step forward.
_SETBACKS = 30
# A question that so many controllers have not lived to answer may be what they die of.
_DEATHS_ASKED = 3
_QUIET = 1.0
# How many formats and teams are remembered; a team has a kilobyte, and never more than 25.
_FORMATS = 512
_TEAMS = 1024
# Node says what is too long for a format or a team, but must be able to read it.
_LONGEST = 100_000


@dataclass(slots=True)
class Counters:
    """What has happened to battles since the registry started."""

    battles_opened: int = 0
    battles_ended: int = 0
    battles_moved: int = 0
    battles_poisoned: int = 0
    decisions: int = 0
    decisions_ended: int = 0
    """Those in battles that were played to their end, as all turns that are counted."""
    turns: int = 0


class ControllerRegistry:
    """A pool of Node processes that run battles, and are kept warm.

    >>> async with ControllerRegistry(pool=8) as registry:
    ...     room = await registry.open("gen9randombattle", seed=7)
    """

    def __init__(
        self,
        config: BridgeConfig | str | Path | None = None,
        *,
        runtime: Runtime | None = None,
        **settings: Any,
    ) -> None:
        """Settings are a BridgeConfig, a YAML file, or given by name."""
        if config is None:
            base = BridgeConfig()
        elif isinstance(config, str | Path):
            base = load_config(config)
        elif isinstance(config, BridgeConfig):
            base = config
        else:
            raise TypeError(f"settings are given by name, as in pool=8, not as {config!r}")
        self.config = base.replace(**settings) if settings else base
        self.max_frame = self.config.max_frame_bytes
        self.runtime = runtime
        self.counters = Counters()
        self.trips = RoundTrips(on=self.config.timing)
        self._pool: Pool | None = None
        self._rooms: dict[str, BattleRoom] = {}
        self._moving: deque[BattleRoom] = deque()
        self._waiting: deque[asyncio.Future[Controller]] = deque()
        self._emptied = asyncio.Event()
        self._came_up = asyncio.Event()
        self._formats = Memo(_FORMATS, self._ask_format)
        self._teams = Memo(_TEAMS, self._ask_team)
        self._room_number = 0
        self._started: float | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._failure: BridgeError | None = None
        self._failed = asyncio.Event()
        self._starting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._drains = True
        self._open = False

    def __repr__(self) -> str:
        state = "open" if self._open else "closed" if self._closing else "not started"
        return (
            f"<ControllerRegistry: {state}, {len(self._ready())} of {self.config.pool} ready, "
            f"{len(self._rooms)} rooms, {len(self._moving)} moving, {len(self._waiting)} waiting>"
        )

    async def __aenter__(self) -> ControllerRegistry:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close(drain=kind is None)

    # Life

    async def start(self, progress: Progress | None = None) -> None:
        """Brings the pool up: one controller alone, where a broken set-up shows, then the rest.

        `progress` is told how that goes, on the first use also from the thread that installs the
        simulator; without it, an installation is logged.
        """
        if self._starting is not None or self._closing is not None:
            raise RegistryClosed("a registry is started once")
        self._started = asyncio.get_running_loop().time()
        # A task of its own, for a close to end at any moment.
        self._starting = asyncio.create_task(self._bring_up(progress))
        try:
            await asyncio.wait((self._starting,))
            if not self._starting.cancelled():
                self._starting.result()
        except BaseException:
            await self.close(drain=False)
            raise
        if self._closing is not None:
            raise self._failure or RegistryClosed("the registry was closed while it started")

    async def _bring_up(self, progress: Progress | None) -> None:
        self.runtime = self.runtime or await self._find_runtime(progress or log.info)
        self._pool = Pool(self.config, self.runtime, self.trips, self)
        await self._pool.start(progress)
        self._open = True
        self._schedule_sweep()

    async def _find_runtime(self, progress: Progress) -> Runtime:
        """Looks in a thread, which ends with this, even in the middle of an installation."""
        cancelled = threading.Event()

        def report(line: str) -> None:
            if cancelled.is_set():
                raise InstallationFailed("the installation was cancelled")
            progress(line)

        # Not on the loop's own executor, whose threads would stay.
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="maple-runtime")
        find = partial(find_runtime, self.config.node, progress=report)
        finding = asyncio.get_running_loop().run_in_executor(executor, find)
        try:
            return await asyncio.shield(finding)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.gather(finding, return_exceptions=True)
            raise
        finally:
            executor.shutdown(wait=False)

    async def close(self, *, drain: bool = True) -> None:
        """Lets battles that are being played end, for a while, then ends every process and task.

        Without `drain` it does not wait for battles, nor does a close that has begun before.
        """
        await asyncio.shield(self._begin_to_close(drain=drain))

    def _begin_to_close(self, *, drain: bool) -> asyncio.Task[None]:
        self._open = False
        self._came_up.set()
        if not drain:
            self._drains = False
            self._emptied.set()
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        return self._closing

    async def warmed(self) -> None:
        """Waits until all controllers are warm; battles need not wait for that."""
        self._require_open()
        assert self._pool is not None
        await self._pool.warmed()
        self._require_open()

    async def set_timing(self, on: bool) -> None:
        """Switches the timing of round trips on or off, while battles go on."""
        self.trips.switch(on)
        pings = [controller.ping() for controller in (self._pool.alive() if self._pool else ())]
        for outcome in await asyncio.gather(*pings, return_exceptions=True):
            # One that has died needs no telling: its successor hears it from the first beat on.
            if isinstance(outcome, BaseException) and not isinstance(outcome, ControllerDied):
                raise outcome

    async def failure(self) -> BridgeError:
        """Waits until the pool cannot be kept up any more, and returns why."""
        await self._failed.wait()
        assert self._failure is not None
        return self._failure

    async def _close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        self._open = False
        error = self._failure or RegistryClosed("the registry is closed")
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)
        await self._drain()
        if self._sweep is not None:
            self._sweep.cancel()
        for room in list(self._rooms.values()):
            room.fail(RoomClosed("the registry was closed", room=room.tag))
        if self._pool is not None:
            await self._pool.close()
        await self._formats.settle()
        await self._teams.settle()

    async def _drain(self) -> None:
        """Waits for battles, but not for rooms that have waited a second for their players."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.config.drain_timeout
        while self._rooms and self._drains:
            quiet = max(room.quiet_since for room in self._rooms.values()) + _QUIET
            until = min(deadline, quiet)
            if until <= loop.time():
                log.warning("closing with battles under way", rooms=len(self._rooms))
                return
            self._emptied.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._emptied.wait()

    # What becomes of controllers

    def controller_ready(self) -> None:
        self._came_up.set()
        self._pump()

    def controller_died(self, controller: Controller, death: Death) -> None:
        if death.in_hand is not None:
            self._blame(death)
        for room in self._rooms_on(controller):
            self._vacate(room, controller)
            if room.is_over:
                room.controller_gone()
            else:
                self._line_up(room, death.error)
        self._pump()

    def move_out(self, controller: Controller) -> None:
        for room in self._rooms_on(controller):
            if not room.is_over:
                room.withdraw()
                self._vacate(room, controller)
                self._line_up(room)
        self._pump()

    def pool_failed(self, error: BridgeError) -> None:
        self._failure = error
        self._failed.set()
        for room in list(self._rooms.values()):
            room.fail(error.about(room.tag))
        self._begin_to_close(drain=False)

    def _ready(self) -> list[Controller]:
        return self._pool.ready() if self._pool is not None else []

    def _blame(self, death: Death) -> None:
        assert death.in_hand is not None
        room = self._rooms.get(death.in_hand.fields.get("room", ""))
        if room is None or room.is_over:
            return
        room.deaths_in_hand += 1
        room.last_crash = death.error.message
        if death.blamed:
            room.strikes += 1

    # Rooms

    async def open(
        self,
        format: str,
        *,
        seed: seeds.Seed | None = None,
        p1: str | Player = "Player 1",
        p2: str | Player = "Player 2",
        rated: str | None = None,
        view: View | tuple[View, View] = LINES,
        timeout: float | None = None,
    ) -> BattleRoom:
        """Starts a battle on the least loaded controller, the warmest of several.

        A seed, a number or one in the simulator's own notation, decides the whole battle with its
        random teams. `p1` and `p2` are names, or Players with a team (packed or export text).
        `rated` is what the log calls a battle that counts; "Rated battle" has no words of its own.
        `view` is what the sides are shown, one for both or one for each.
        Waits for a place up to `timeout` seconds, or as configured.
        """
        if not isinstance(format, str):
            raise BattleRejected(f"a format is a text, not {format!r}")
        seed = seeds.settle(seed)
        journal = Journal(
            format=format,
            seed=seed if isinstance(seed, str) else seeds.derive(seed, "battle"),
            p1=_seat(p1, seed, "p1"),
            p2=_seat(p2, seed, "p2"),
            rated=rated,
            view=_views(view),
        )
        controller = await self._find_place(timeout)
        room = self._new_room(journal)
        with self._opening(room, "the battle was not opened"):
            self._take_promised_place(room, controller)
            await room.open()
        return room

    async def resume(self, journal: Journal) -> BattleRoom:
        """Opens a room in the state that a journal leads to, as after the death of a controller."""
        controller = await self._find_place(None)
        room = self._new_room(journal.copy())
        with self._opening(room, "the battle was not resumed"):
            self._take_promised_place(room, controller)
            await room.replay_on(controller)
        return room

    @contextlib.contextmanager
    def _opening(self, room: BattleRoom, otherwise: str) -> Iterator[None]:
        """Counts a room that comes to be, and gives up one that does not."""
        try:
            yield
        except BaseException:
            room.abandon(RoomClosed(otherwise, room=room.tag))
            raise
        self.counters.battles_opened += 1

    def _new_room(self, journal: Journal) -> BattleRoom:
        self._room_number += 1
        room = BattleRoom(
            f"battle-{_identifier(journal.format)}-{self._room_number}", journal, self
        )
        self._rooms[room.tag] = room
        return room

    def _take_promised_place(self, room: BattleRoom, controller: Controller) -> None:
        self.adopt(room, controller)
        controller.reserved -= 1

    async def _find_place(self, timeout: float | None) -> Controller:
        """A ready controller with a place that is promised: give it back, or let a room take it."""
        seconds = self.config.open_timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                while True:
                    controller = await self._promised_place()
                    if self._open and controller.state is ControllerState.READY:
                        return controller
                    controller.reserved -= 1
        except TimeoutError:
            raise PoolExhausted(
                f"no place for another battle within {seconds:g} s: {len(self._ready())} of "
                f"{self.config.pool} controllers are ready, with {self.config.rooms_per_controller}"
                f" places each, and there are {len(self._rooms)} rooms. End some, or raise pool, "
                "rooms_per_controller or open_timeout"
            ) from None

    async def _promised_place(self) -> Controller:
        self._require_open()
        waiter: asyncio.Future[Controller] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._pump()
        try:
            return await waiter
        except BaseException:
            with contextlib.suppress(ValueError):
                self._waiting.remove(waiter)
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                waiter.result().reserved -= 1
                self._pump()
            raise

    def _require_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._open:
            raise RegistryClosed(
                "the registry is not running: use `async with`, or start() and close()"
            )

    def _pump(self) -> None:
        """Gives free places to rooms that lost theirs, then to those that wait to open."""
        if not self._moving and not self._waiting:
            return
        ready = self._ready()
        loads = [controller.load for controller in ready]
        avoid = [ready.index(r.avoid) if r.avoid in ready else None for r in self._moving]
        waiting = len(self._moving) + len(self._waiting)
        warmth = [controller.vitals.warmth for controller in ready]
        for index in place(loads, waiting, self.config.rooms_per_controller, avoid, warmth):
            controller = ready[index]
            if self._moving:
                room = self._moving.popleft()
                self.adopt(room, controller)
                room.settle_on(controller)
                self.counters.battles_moved += 1
            elif (waiter := self._first_in_line()) is not None:
                controller.reserved += 1
                waiter.set_result(controller)

    def _first_in_line(self) -> asyncio.Future[Controller] | None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                return waiter
        return None

    def _rooms_on(self, controller: Controller) -> list[BattleRoom]:
        return [self._rooms[tag] for tag in controller.rooms if tag in self._rooms]

    def _vacate(self, room: BattleRoom, controller: Controller) -> None:
        controller.rooms.discard(room.tag)
        if not controller.rooms:
            controller.emptied.set()

    def _line_up(self, room: BattleRoom, error: BridgeError | None = None) -> None:
        """A room has lost its place: it waits for another, unless it breaks controllers."""
        room.avoid = room.controller
        room.suspend()
        room.setbacks += error is not None
        if room.strikes >= _STRIKES or room.deaths_in_hand >= _DEATHS_IN_HAND:
            self._poison(room, error)
        elif error is not None and room.setbacks >= _SETBACKS:
            room.fail(error.about(room.tag))
        else:
            self._moving.append(room)

    def _poison(self, room: BattleRoom, error: BridgeError | None) -> None:
        self.counters.battles_poisoned += 1
        path = self._write_input_log(room)
        log.error("battle poisoned", room=room.tag, input_log=str(path))
        how = f"`python -m bridge.replay {path}` shows how" if path else "its log was not written"
        times = max(room.strikes, room.deaths_in_hand)
        room.fail(
            BattlePoisoned(
                f"the battle failed {times} times; {how}. The last time: {room.last_crash}",
                room=room.tag,
                pid=error.pid if error else room.avoid and room.avoid.pid,
                exit_status=error.exit_status if error else None,
                stderr=error.stderr if error else "",
                input_log=path,
            )
        )

    def _write_input_log(self, room: BattleRoom) -> Path | None:
        """Writes what was put into a battle, with what nobody answered, to be replayed."""
        try:
            return room.pending_journal().write_input_log(self.config.poison_folder, room.tag)
        except OSError as error:
            log.error("cannot write the input log", room=room.tag, cause=str(error))
            return None

    def _schedule_sweep(self) -> None:
        seconds = self.config.idle_timeout / 4
        self._sweep = asyncio.get_running_loop().call_later(seconds, self._close_idle_rooms)

    def _close_idle_rooms(self) -> None:
        oldest = asyncio.get_running_loop().time() - self.config.idle_timeout
        for room in [room for room in self._rooms.values() if room.quiet_since < oldest]:
            log.warning("closing an idle room", room=room.tag)
            room.abandon(
                RoomClosed(f"nobody chose for {self.config.idle_timeout:g} s", room=room.tag)
            )
        self._schedule_sweep()

    # What rooms ask for

    def adopt(self, room: BattleRoom, controller: Controller) -> None:
        room.controller = controller
        controller.rooms.add(room.tag)
        controller.emptied.clear()
        controller.battles += 1

    def leave(self, room: BattleRoom) -> None:
        if self._rooms.pop(room.tag, None) is None:
            return
        self.counters.decisions += room.decisions
        if room.turns is not None:
            self.counters.battles_ended += 1
            self.counters.decisions_ended += room.decisions
            self.counters.turns += room.turns
        with contextlib.suppress(ValueError):
            self._moving.remove(room)
        if room.controller is not None:
            self._vacate(room, room.controller)
            if self._pool is not None:
                self._pool.consider_recycling(room.controller)
        if not self._rooms:
            self._emptied.set()
        self._pump()

    def move(self, room: BattleRoom) -> None:
        if room.controller is not None:
            self._vacate(room, room.controller)
        self._line_up(room)
        self._pump()

    async def fork(self, room: BattleRoom) -> BattleRoom:
        self._require_open()
        copy = self._new_room(room.journal.copy())
        with self._opening(copy, "the fork did not happen"):
            controller = room.controller
            if (
                controller is None
                or controller.state is not ControllerState.READY
                or controller.load >= self.config.rooms_per_controller
            ):
                await self._fork_elsewhere(room, copy)
            else:
                await self._fork_there(room, copy, controller)
        return copy

    async def _fork_there(self, room: BattleRoom, copy: BattleRoom, controller: Controller) -> None:
        controller.reserved += 1
        try:
            await room.fork_into(copy)
        finally:
            controller.reserved -= 1
            self._pump()

    async def _fork_elsewhere(self, room: BattleRoom, copy: BattleRoom) -> None:
        """Finds a place for a copy that cannot stay with its original."""
        copy.start_as(room)
        controller = await self._find_place(None)
        if copy.is_over:
            controller.reserved -= 1
            self._pump()
            copy.raise_failure()
        self._take_promised_place(copy, controller)
        copy.settle_on(controller)

    # Formats and teams

    async def describe_format(self, name: str) -> FormatFacts:
        """What a format is; raises BattleRejected if there is none, or none for two players."""
        self._require_open()
        if not isinstance(name, str):
            raise BattleRejected(f"a format is a text, not {name!r}")
        return await self._formats.get(name)

    async def validate_team(self, format: str, team: str | None) -> str | None:
        """The team as packed, or None where the format makes teams by itself.

        Raises BattleRejected for a team that is not legal, with its `problems` one by one.
        """
        self._require_open()
        if not isinstance(format, str):
            raise BattleRejected(f"a format is a text, not {format!r}")
        if not isinstance(team, str | None):
            raise BattleRejected(f"a team is a text, not {team!r}"[:300])
        return await self._teams.get((format, team))

    async def _ask_format(self, name: str) -> FormatFacts:
        facts = (await self._query("describe", format=name)).facts
        if facts is None:
            raise ProtocolViolation("Node described a format without its facts")
        return facts

    async def _ask_team(self, entry: tuple[str, str | None]) -> str | None:
        return (await self._query("validate", format=entry[0], team=entry[1])).team

    async def _query(self, operation: str, **fields: str | None) -> Frame:
        """Asks any controller, and another one if it dies."""
        for name, text in fields.items():
            if text is not None and len(text) > _LONGEST:
                problem = f"{len(text)} characters are too many for a {name}"
                raise BattleRejected(problem, problems=(problem,))
        seconds = self.config.open_timeout
        deaths = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    controller = await self._any_ready()
                    try:
                        frame = await controller.query(operation, **fields)
                    except ControllerDied:
                        self._require_open()
                        deaths += 1
                        if deaths >= _DEATHS_ASKED:
                            raise
                        continue
                    return _admitted(frame, controller.pid)
        except ValueError as error:
            raise BattleRejected(str(error)) from error
        except TimeoutError:
            raise PoolExhausted(
                f"no controller answered {operation} within {seconds:g} s"
            ) from None

    async def _any_ready(self) -> Controller:
        """The least loaded controller, as soon as there is one."""
        self._require_open()
        while not (ready := self._ready()):
            self._came_up.clear()
            await self._came_up.wait()
            self._require_open()
        return min(ready, key=lambda controller: controller.load)

    # Figures

    def keep_trips(self, count: int) -> None:
        """Keeps at least so many of the latest round trips one by one; 0 for none."""
        self.trips.keep(count)

    def latest_trips(self) -> Trips:
        """The round trips that were kept: whose they were, and what Node did when."""
        return self.trips.latest()

    def stats(self, *, round_trips: bool = True) -> dict[str, Any]:
        """Plain data: the pool, each controller, counters, traffic, and round-trip histograms.

        The histograms take some milliseconds to encode; who looks often may leave them out.
        """
        loop = asyncio.get_running_loop()
        pool = self._pool
        rooms = self._rooms.values()
        return {
            "uptime": 0.0 if self._started is None else loop.time() - self._started,
            "pool": {
                "size": self.config.pool,
                "ready": len(self._ready()),
                "warmth": pool.warmth() if pool else 0.0,
                "rooms": len(self._rooms),
                "moving": len(self._moving),
                "waiting": len(self._waiting),
                "capacity": self.config.pool * self.config.rooms_per_controller,
            },
            "controllers": [_describe(controller) for controller in (pool.alive() if pool else ())],
            "counters": asdict(pool.counters if pool else PoolCounters())
            | asdict(self.counters)
            | {"decisions": self.counters.decisions + sum(room.decisions for room in rooms)},
            "traffic": asdict(pool.traffic() if pool else Traffic()),
            "round_trips": self.trips.summary() if round_trips else {},
        }


def _describe(controller: Controller) -> dict[str, Any]:
    return {
        "number": controller.number,
        "pid": controller.pid,
        "state": controller.state.value,
        "rooms": len(controller.rooms),
        "battles": controller.battles,
        "age": asyncio.get_running_loop().time() - controller.started
        if controller.started
        else 0.0,
        "rss": controller.vitals.rss,
        "heap": controller.vitals.heap,
        "cpu": controller.vitals.cpu,
        "node": controller.identity.node,
        "simulator": controller.identity.simulator,
        "turbo": controller.identity.turbo,
        "left": controller.identity.left,
        "warm": list(controller.vitals.warm),
    }


def _seat(player: str | Player, seed: seeds.Seed, side: str) -> Player:
    given = Player(player) if isinstance(player, str) else player
    if not isinstance(given, Player):
        raise BattleRejected(f"{side} is a name or a Player, not {player!r}")
    return replace(given, seed=given.seed or seeds.derive(seed, side))


def _views(view: View | tuple[View, View]) -> tuple[View, View]:
    if isinstance(view, View):
        return view, view
    match view:
        case (View() as first, View() as second):
            return first, second
    raise BattleRejected(f"a view is a View, or two of them, not {view!r}")


def _admitted(frame: Frame, pid: int) -> Frame:
    """The answer to a question about a format or a team, unless it is a refusal."""
    error = frame.error
    if error is None:
        return frame
    if error.code in ("rejected", "bad_field"):
        raise BattleRejected(error.message, problems=tuple(error.problems or ()), pid=pid)
    raise ProtocolViolation(f"{error.code}: {error.message}", pid=pid)


def _identifier(format: str) -> str:
    """The simulator's own way to make an id of a name."""
    return re.sub(r"[^a-z0-9]", "", format.partition("@@@")[0].lower())[:60] or "unknown"
