"""The life of `python -m bridge.serve`: binds a port, keeps a pool, and leaves no trace."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import resource
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, NoReturn

import structlog
from aiohttp import web

from ..config import BridgeConfig
from ..errors import BridgeError, ConfigError
from ..registry import ControllerRegistry
from .access import Access
from .display import Display
from .endpoints import build_app
from .figures import Gauge
from .service import Phase, Service
from .signals import EndSignals
from .websocket import websocket_url

__all__ = ["CannotBind", "bind", "require_token_off_loopback", "serve"]

log = structlog.get_logger("bridge.serve")

_LAST_ANSWERS: Final = 1.0
# Several hundred players of one script connect at the same moment.
_BACKLOG: Final = 1024
_OTHER_FILES: Final = 512


class CannotBind(BridgeError):
    """Raised when the address to serve at cannot be had."""


class _Ending(Exception):
    """Raised into an installation that nobody waits for any more."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens, or `CannotBind` at once."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except socket.gaierror as error:
        raise CannotBind(f"{host!r} is no address of this machine: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"port {port} of {host} is in use: end who uses it, or choose another --port"
        else:
            reason = f"cannot listen on port {port} of {host}: {os.strerror(error.errno or 0)}"
        raise CannotBind(reason) from None


def require_token_off_loopback(listener: socket.socket, token: str | None) -> None:
    """Raises `ConfigError` if other machines could open battles without a word."""
    host = listener.getsockname()[0]
    if token is None and not ipaddress.ip_address(host).is_loopback:
        raise ConfigError(
            f"other machines can reach {host}, so it takes a --token that they have to know (or "
            "MAPLE_TOKEN in the environment); without one, leave --host out"
        )


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return (
        f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"
    )


async def serve(
    config: BridgeConfig, listener: socket.socket, display: Display, access: Access
) -> None:
    """Serves a pool until a signal ends it; raises what makes that impossible.

    The endpoints answer from the first moment, so that whoever waits for the pool sees it come up.
    """
    signals = EndSignals(before_forced_end=display.close)
    service = Service(ControllerRegistry(config), url_of(listener))
    runner = web.AppRunner(
        build_app(service, access), access_log=None, shutdown_timeout=_LAST_ANSWERS
    )
    await runner.setup()
    display.open()
    _allow_files(access.max_connections + _OTHER_FILES)
    reason = "the server is stopping"
    keeping = asyncio.create_task(_keep_up(service, display, signals))
    showing = asyncio.create_task(_show(service, display))
    ending = asyncio.create_task(signals.wait())
    try:
        await web.SockSite(runner, listener, backlog=_BACKLOG).start()
        log.info("listening", url=service.url, websocket=websocket_url(service.url))
        done, _ = await asyncio.wait(
            (keeping, showing, ending), return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
        log.info("stopping", rooms=service.registry.stats(round_trips=False)["pool"]["rooms"])
    except BridgeError as error:
        reason = f"the server failed: {error}"
        raise
    finally:
        service.become(Phase.STOPPING)
        await _cancel(keeping, ending)
        await service.registry.close()
        await service.lobby.close(reason)
        await _cancel(showing)
        await runner.cleanup()
        display.close()
    log.info("stopped")


def _allow_files(wanted: int) -> None:
    """Lets this process have so many files open, as far as it may say so itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log.warning(
            "too few files for all connections: raise ulimit -n, or lower --max-connections",
            allowed=allowed,
            wanted=wanted,
        )


async def _keep_up(service: Service, display: Display, signals: EndSignals) -> NoReturn:
    """Starts the pool; raises what breaks it, then or later."""
    await service.registry.start(_report_to(display, signals))
    service.become(Phase.SERVING)
    log.info("ready", url=service.url, controllers=service.registry.config.pool)
    raise await service.registry.failure()


def _report_to(display: Display, signals: EndSignals) -> Callable[[str], None]:
    """Takes progress from the loop, and from the thread of an installation, which it can end."""
    loop = asyncio.get_running_loop()
    loop_thread = threading.get_ident()

    def report(line: str) -> None:
        if threading.get_ident() == loop_thread:
            display.progress(line)
        elif signals.asked:
            raise _Ending
        else:
            loop.call_soon_threadsafe(display.progress, line)

    return report


async def _show(service: Service, display: Display) -> NoReturn:
    gauge = Gauge(service)
    while True:
        display.show(gauge.read())
        await asyncio.sleep(display.interval)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
