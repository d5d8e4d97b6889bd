"""Servers in processes of their own for tests, and clients in Showdown's protocol to meet there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType

import aiohttp
import orjson
import psutil
from aiohttp import WSMsgType, web

from bridge.runtime import find_node
from bridge.serve.access import Access
from bridge.serve.endpoints import build_app
from bridge.serve.service import Service
from bridge.serve.websocket import PATH, websocket_url

__all__ = [
    "PATH",
    "PATIENCE",
    "QUICK",
    "REPOSITORY",
    "SERVE",
    "Client",
    "Server",
    "Start",
    "get",
    "node_that",
    "open_app",
    "servers",
    "still_there",
]

REPOSITORY = Path(__file__).resolve().parents[1]
NODE_SIDE = REPOSITORY / "node"
SERVE = (sys.executable, "-m", "bridge.serve")
QUICK = ("--port", "0", "--pool", "1", "--warmup-battles", "0")
PATIENCE = 20.0


class Server:
    """A server in a process of its own, and what it has logged."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[str] = []

    def wait_for(self, event: str) -> str:
        """Reads the log up to the line that has `event` in it, and returns that line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))
            if event in line:
                return self.log[-1]
        raise AssertionError(f"ended without {event!r}: {self.log}")

    def url(self) -> str:
        found = re.search(r"url=(http://\S+)", self.wait_for("event=listening"))
        assert found is not None
        return found[1]

    def children(self) -> list[psutil.Process]:
        """The processes it has started, of which there will be one."""
        while not (found := psutil.Process(self.process.pid).children(recursive=True)):
            time.sleep(0.01)
        return found

    def finish(self) -> int:
        """Waits for the end and reads the rest of the log."""
        assert self.process.stderr is not None
        self.log += self.process.stderr.read().splitlines()
        return self.process.wait(PATIENCE)


Start = Callable[..., Server]


@contextmanager
def servers() -> Iterator[Start]:
    """Starts servers, and ends those that a failed test has left."""
    with ExitStack() as stack:

        def start(*arguments: str, command: Sequence[str] = SERVE, **environment: str) -> Server:
            process = subprocess.Popen(
                [*command, *arguments],
                cwd=REPOSITORY,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return Server(process)

        yield start


def get(url: str, accept: str = "*/*") -> tuple[int, str, str]:
    """Status, content type and text of a page."""
    request = urllib.request.Request(url, headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers["Content-Type"], refusal.read().decode()


def still_there(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that run on after so many seconds; who only waits to be reaped does not run."""

    def running(process: psutil.Process) -> bool:
        try:
            return bool(process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    deadline = time.monotonic() + seconds
    while (left := [each for each in processes if running(each)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def node_that(path: Path, instead: str) -> str:
    """A Node that answers with its version, and does something else as a controller."""
    node = find_node().path
    path.write_text(f'#!/bin/sh\n[ "$1" = -p ] && exec "{node}" "$@"\n{instead}\n')
    path.chmod(0o755)
    return str(path)


@asynccontextmanager
async def open_app(service: Service, access: Access | None = None) -> AsyncIterator[str]:
    """Serves an app in this process; gives its URL."""
    runner = web.AppRunner(build_app(service, access), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


class Client:
    """Somebody with a name who says what a test says, and else chooses as the simulator would."""

    def __init__(self, url: str, name: str, *, plays: bool = True) -> None:
        self.name = name
        self.plays = plays
        self.ended: set[str] = set()
        self.close_reason: str | None = None
        self._url = websocket_url(url)
        self._session = aiohttp.ClientSession()

    async def __aenter__(self) -> Client:
        self.socket = await self._session.ws_connect(self._url, max_msg_size=0)
        await self.say(f"|/trn {self.name},0,")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.socket.close()
        await self._session.close()

    async def say(self, message: str) -> None:
        await self.socket.send_str(message)

    async def hear(self) -> str | None:
        """The next message, or None if there will be no more; answers requests by the way."""
        message = await self.socket.receive()
        if message.type is not WSMsgType.TEXT:
            self.close_reason = message.extra
            return None
        text: str = message.data
        room, _, lines = text.partition("\n")
        if "\n|win|" in text or "\n|tie\n" in text:
            self.ended.add(room)
        if self.plays and lines.startswith("|request|{"):
            request = orjson.loads(lines.removeprefix("|request|"))
            if not request.get("wait"):
                await self.say(f"{room[1:]}|/choose default|{request['rqid']}")
        return text

    async def hear_until(self, part: str) -> str:
        """The first message with `part` in it."""
        while (text := await self.hear()) is not None:
            if part in text:
                return text
        raise AssertionError(f"{self.name} was closed without {part!r}: {self.close_reason!r}")

    async def hear_all(self) -> None:
        """Listens and plays until the connection is closed."""
        while await self.hear() is not None:
            pass

    async def play(self, battles: int, format: str = "gen1randombattle") -> None:
        """Plays against whoever else searches, one battle after the other."""
        for number in range(battles):
            await self.say(f"|/search {format}")
            while len(self.ended) <= number:
                assert await self.hear() is not None, self.close_reason
