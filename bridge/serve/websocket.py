"""Showdown's WebSocket: a client of the lobby per connection. Knows nothing of what they say."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from itertools import count
from typing import Final

import structlog
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.abc import AbstractStreamWriter

from ..lobby import Connection
from .access import Access, Places
from .service import Phase, Service

__all__ = ["PATH", "SocketTransport", "WebSocketEndpoint", "websocket_url"]

log = structlog.get_logger("bridge.serve")

PATH: Final = "/showdown/websocket"

# A script that was started with the server gives up first, after ten seconds or so.
_STARTING_SECONDS: Final = 60.0
# Who thinks hard may not answer a ping for half of this; whoever has vanished never does.
_HEARTBEAT: Final = 120.0
_CLOSE_SECONDS: Final = 2.0
_LINGER_SECONDS: Final = 10.0
_MESSAGES_A_TURN: Final = 32
_UNREAD_BYTES: Final = 16 * 1024 * 1024
_WRITE_BYTES: Final = 256 * 1024
_LONGEST_REASON: Final = 123

_TEXT_FRAME: Final = 0x81
_MEDIUM_HEADER: Final = struct.Struct("!BBH").pack
_LONG_HEADER: Final = struct.Struct("!BBQ").pack


def websocket_url(url: str) -> str:
    """Where a service at that URL takes clients of the lobby."""
    return f"ws{url.removeprefix('http')}{PATH}"


class WebSocketEndpoint:
    """Takes clients into the lobby of a service."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service = service
        self._places = Places(access)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serves one client for as long as it is connected."""
        limits = self._service.lobby.limits
        socket = web.WebSocketResponse(
            timeout=_CLOSE_SECONDS,
            heartbeat=_HEARTBEAT,
            max_msg_size=limits.longest_message + 1,
            # It costs more than it saves where both ends are on one machine.
            compress=False,
        )
        if not socket.can_prepare(request):
            raise web.HTTPUpgradeRequired(text="This is a WebSocket: ask for it with ws://.\n")
        with self._places.take(request.remote or ""):
            await self._wait_for_pool()
            if request.transport is None:
                raise web.HTTPServiceUnavailable(text="The client did not wait.\n")
            await self._serve(request, socket)
        return socket

    async def _wait_for_pool(self) -> None:
        try:
            async with asyncio.timeout(_STARTING_SECONDS):
                await self._service.started()
        except TimeoutError:
            raise web.HTTPServiceUnavailable(
                text="The pool still starts: /healthz says when it is ready.\n"
            ) from None
        if self._service.phase is Phase.STOPPING:
            raise web.HTTPServiceUnavailable(text="The server is stopping.\n")

    async def _serve(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        writer = await socket.prepare(request)
        if request.transport is None:
            return
        transport = SocketTransport(socket, writer, request.transport)
        lobby = self._service.lobby
        connection = lobby.connect(transport)
        writing = asyncio.create_task(transport.write())
        try:
            await self._listen(socket, transport, connection)
        finally:
            lobby.disconnect(connection)
            transport.close("")
            await writing

    async def _listen(
        self, socket: web.WebSocketResponse, transport: SocketTransport, connection: Connection
    ) -> None:
        receive = self._service.lobby.receive
        for number in count(1):
            message = await socket.receive()
            if message.type is WSMsgType.BINARY:
                transport.close("messages are text", WSCloseCode.UNSUPPORTED_DATA)
            if message.type is not WSMsgType.TEXT or transport.is_closing:
                return
            receive(connection, message.data)
            if number % _MESSAGES_A_TURN == 0:
                # Messages that have come already are received without a wait: others have a turn.
                await asyncio.sleep(0)


class SocketTransport:
    """What the lobby knows of a client: keeps what is delivered until the socket takes it."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        writer: AbstractStreamWriter,
        transport: asyncio.Transport,
    ) -> None:
        self._socket = socket
        self._writer = writer
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._frames: deque[bytes] = deque()
        self._size = 0
        self._sleep: asyncio.Future[None] | None = None
        self._farewell: tuple[int, bytes] | None = None

    @property
    def is_closing(self) -> bool:
        return self._farewell is not None

    def deliver(self, room: str, text: str) -> None:
        """Takes lines to the client: those of a room, or of none if `room` is empty."""
        if self._farewell is not None:
            return
        # No text from the other side of a socket has half a character in it, but a team may.
        payload = (f">{room}\n{text}" if room else text).encode("utf-8", "replace")
        frame = _header(len(payload)) + payload
        self._frames.append(frame)
        self._size += len(frame)
        if self._size > _UNREAD_BYTES:
            self._give_up()
        elif self._sleep is not None:
            self._wake()

    def close(self, reason: str, code: int = WSCloseCode.GOING_AWAY) -> None:
        """Ends the connection, after what was delivered."""
        if self._farewell is None:
            self._farewell = (code, _shorten(reason))
            self._wake()
            # Nobody else ends a connection whose client reads nothing.
            self._loop.call_later(_LINGER_SECONDS, self._transport.abort)

    def _give_up(self) -> None:
        address = self._transport.get_extra_info("peername")
        log.warning("a client does not read", client=address, unread_bytes=self._size)
        self._frames.clear()
        self._size = 0
        reason = f"more than {_UNREAD_BYTES} bytes were not read"
        self.close(reason, WSCloseCode.POLICY_VIOLATION)

    def _wake(self) -> None:
        sleep, self._sleep = self._sleep, None
        if sleep is not None and not sleep.done():
            sleep.set_result(None)

    async def write(self) -> None:
        """Writes what is delivered, at the client's pace, until the connection ends."""
        try:
            while self._farewell is None or self._frames:
                if not self._frames:
                    self._sleep = self._loop.create_future()
                    await self._sleep
                elif self._transport.is_closing():
                    return
                else:
                    # Whole frames, as the socket writes its own: no two can get mixed up.
                    self._transport.write(self._take())
                    await self._writer.drain()
            code, reason = self._farewell
            await self._socket.close(code=code, message=reason)
        except ConnectionError:
            # The one who listens is told the same.
            return

    def _take(self) -> bytes:
        """As many frames as are written at once: a write has its price, whatever its size."""
        if self._size <= _WRITE_BYTES:
            data = b"".join(self._frames)
            self._frames.clear()
            self._size = 0
            return data
        frames = []
        size = 0
        while self._frames and size < _WRITE_BYTES:
            frames.append(self._frames.popleft())
            size += len(frames[-1])
        self._size -= size
        return b"".join(frames)


def _header(size: int) -> bytes:
    """What stands before a text of so many bytes that a server sends in one frame."""
    if size < 126:
        return bytes((_TEXT_FRAME, size))
    if size < 65_536:
        return _MEDIUM_HEADER(_TEXT_FRAME, 126, size)
    return _LONG_HEADER(_TEXT_FRAME, 127, size)


def _shorten(reason: str) -> bytes:
    """As much of a reason as a frame of the protocol has space for."""
    return reason.encode("utf-8", "replace")[:_LONGEST_REASON].decode(errors="ignore").encode()
