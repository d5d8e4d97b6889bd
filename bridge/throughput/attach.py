"""Measures a running server through its /api/stats. Shows nothing: an Onlooker does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from yarl import URL

from ..errors import BridgeError
from .machine import load_average
from .measurement import Measurement, Subject
from .reading import ProcessWatch, Reading
from .report import Report

if TYPE_CHECKING:
    # A slow import, for those who measure a server alone.
    import aiohttp

__all__ = ["NotAServer", "Onlooker", "Schedule", "ServerGone", "measure_server", "stats_url"]

_ANSWER_SECONDS = 10.0
_EXPECTED = {"uptime", "pool", "controllers", "counters", "traffic", "round_trips"}


class ServerGone(BridgeError):
    """Raised when nothing answers at an address, or nothing any more."""


class NotAServer(BridgeError):
    """Raised when an address is none, or what answers there is not `python -m bridge.serve`."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often to look at a server, and when to have seen enough; by default, never."""

    interval: float = 2.0
    duration: float | None = None
    count: int | None = None


class Onlooker(Protocol):
    """Whoever watches a server."""

    def note(self, line: str) -> None:
        """Something happened to the measurement itself."""

    def looked(self, last: Report, whole: Report) -> None:
        """An interval is over: the report of it alone, and of all since the measurement began."""


async def measure_server(
    url: str,
    schedule: Schedule,
    *,
    onlooker: Onlooker,
    stop: asyncio.Event,
    command: str = "",
) -> Report:
    """Looks at a server until the schedule ends, or `stop` is set, and reports what it did.

    A server that goes away ends it too, and the report names that as the failure; one that was
    started anew is measured anew. Raises if there was nothing to measure.
    """
    async with _Server.at(stats_url(url)) as server:
        observation = _Observation(server, command, load_average())
        await observation.begin()
        try:
            async for _ in _ticks(schedule, stop):
                await observation.look(onlooker)
        except (ServerGone, NotAServer) as error:
            if not observation.seconds:
                raise
            return observation.report(failure=error)
        return observation.report()


def stats_url(text: str) -> URL:
    """Where the stats of a server are: `127.0.0.1:8000` will do as its address.

    Its query is kept, in which a server may want a token.
    """
    try:
        url = URL(text if "://" in text else f"http://{text}").with_fragment(None)
    except ValueError as error:
        raise NotAServer(f"{text} is not an address: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise NotAServer(f"{text} is not an http address")
    return url if url.path.endswith("/api/stats") else (url / "api/stats").with_query(url.query)


async def _ticks(schedule: Schedule, stop: asyncio.Event) -> AsyncIterator[None]:
    """Yields at the end of each interval, and of the duration, and when somebody stops it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    number = 0
    while schedule.count is None or number < schedule.count:
        number += 1
        until = number * schedule.interval
        over = schedule.duration is not None and until >= schedule.duration
        if over and schedule.duration is not None:
            until = schedule.duration
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(began + until):
                await stop.wait()
        yield
        if over or stop.is_set():
            return


class _Server:
    """The stats of a server, as it tells them."""

    def __init__(self, session: aiohttp.ClientSession, url: URL) -> None:
        self.url = url
        self._session = session

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, url: URL) -> AsyncIterator[_Server]:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            yield cls(session, url)

    @property
    def address(self) -> str:
        return str(self.url.with_query(None)).removesuffix("/api/stats")

    async def stats(self) -> dict[str, Any]:
        import aiohttp

        try:
            async with self._session.get(self.url) as response:
                if response.status != 200:
                    raise self._not_maple(f"{self.url.path} answers {response.status}")
                data = await response.json(content_type=None)
        except aiohttp.ClientConnectorError as error:
            reason = error.os_error.strerror or str(error.os_error)
            raise ServerGone(
                f"nothing listens at {self.address}: {reason} "
                "(python -m bridge.serve starts a server)"
            ) from None
        except TimeoutError:
            raise ServerGone(f"{self.address} gave no answer for {_ANSWER_SECONDS:g} s") from None
        except ValueError:
            raise self._not_maple(f"{self.url.path} is not JSON") from None
        except aiohttp.ClientError as error:
            raise ServerGone(
                f"{self.address} broke off: {str(error) or type(error).__name__}"
            ) from None
        if not isinstance(data, dict) or not data.keys() >= _EXPECTED:
            raise self._not_maple(f"{self.url.path} has no round trips")
        return data

    def _not_maple(self, reason: str) -> NotAServer:
        return NotAServer(f"{self.address} is not a Maple server: {reason}")


class _Observation:
    """A server under watch: all of it so far, and the last interval."""

    def __init__(self, server: _Server, command: str, load: float) -> None:
        self._server = server
        self._command = command
        self._load = load
        self._watch = ProcessWatch()
        self._whole: Measurement | None = None

    @property
    def seconds(self) -> float:
        return self._whole.seconds if self._whole else 0.0

    async def begin(self) -> None:
        self._whole = self._measurement(await self._read())

    async def look(self, onlooker: Onlooker) -> None:
        assert self._whole is not None
        previous = self._whole.latest
        reading = await self._read()
        if reading.uptime < previous.uptime:
            onlooker.note("the server was started anew, and so is the measurement")
            self._watch = ProcessWatch()
            self._whole = self._measurement(self._watch.look(reading.stats))
            return
        self._whole.add(reading)
        last = self._measurement(previous)
        last.add(reading)
        onlooker.looked(last.report(), self._whole.report())

    def report(self, failure: BridgeError | None = None) -> Report:
        assert self._whole is not None
        if failure is None:
            return self._whole.report()
        return self._whole.report(ending="failed", failure=failure.message)

    async def _read(self) -> Reading:
        return self._watch.look(await self._server.stats())

    def _measurement(self, first: Reading) -> Measurement:
        settings = {"url": self._server.address, **first.stats.get("config", {})}
        subject = Subject(
            "attach", f"the server at {self._server.address}", self._command, settings
        )
        return Measurement(subject, first, local=self._watch.is_local, load=self._load)
