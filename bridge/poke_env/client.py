"""poke-env's client, with other transports under it, and with failures that reach the caller."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from poke_env.environment.env import _EnvPlayer
from poke_env.player import Player
from poke_env.ps_client import AccountConfiguration, PSClient
from poke_env.ps_client.ps_client import BattleMessageCallback

from ..errors import (
    BattleFailed,
    BattleRejected,
    BridgeError,
    ConnectionLost,
    NameTaken,
    PlayerFailed,
)
from .calls import Calls
from .conversations import Conversation
from .episodes import Episode
from .starts import Starts

if TYPE_CHECKING:
    from ..lobby import Connection
    from .local import LocalServer

__all__ = ["LocalClient", "RemoteClient", "SupervisedClient"]

# Of what was said in a room that is there no more: as our lobby says it, and as Showdown does.
_TOO_LATE: Final = ('|error|You tried to send "/', '|popup|You tried to send "/')


class SupervisedClient(PSClient):
    """Takes messages room by room, and ends the calls of its player when something fails.

    It is used on the player's loop alone, but where a method says otherwise.
    """

    def __init__(
        self,
        account_configuration: AccountConfiguration,
        *,
        on_battle_message: BattleMessageCallback | None = None,
        **named: Any,
    ) -> None:
        self._conversations: dict[str, Conversation] = {}
        self._starts = Starts(account_configuration.username, self._send)
        owner = getattr(on_battle_message, "__self__", None)
        self.calls = (
            Calls(owner, settle=self._starts.settle, end_all=self.end_calls)
            if isinstance(owner, Player)
            else None
        )
        super().__init__(account_configuration, on_battle_message=on_battle_message, **named)

    def __repr__(self) -> str:
        state = "logged in" if self.logged_in.is_set() else "not logged in"
        return f"<{type(self).__name__} {self.username}: {state}, {len(self._conversations)} rooms>"

    # What the server says

    def take(self, room: str, text: str) -> None:
        """Takes lines of a room, or of none."""
        if self.logger.isEnabledFor(logging.INFO):
            self.logger.info("\033[92m\033[1m<<<\033[0m %s", f">{room}\n{text}" if room else text)
        if not room:
            self._take_global(text)
            return
        conversation = self._conversations.get(room)
        if conversation is None:
            if not text.startswith("|init|"):
                # Of a room that the player has left.
                return
            if not self._is_wanted(room):
                self._send(f"{room}|/forfeit")
                return
            conversation = self._begin_conversation(room)
        if text.startswith("|bigerror|") and text.endswith("|tie\n|deinit"):
            cause = text[len("|bigerror|") :].partition("\n")[0]
            self.fail(BattleFailed(cause, room=room))
        else:
            conversation.hear(text)

    def _is_wanted(self, room: str) -> bool:
        # The battles of a set begin by themselves.
        is_of_set = room.startswith("battle-") and any(
            other.startswith("game-") for other in self._conversations
        )
        return is_of_set or self._starts.begin()

    def _begin_conversation(self, room: str) -> Conversation:
        conversation = Conversation(
            room, self._handle_battle_message, failed=self._player_failed, ended=self._room_ended
        )
        self._conversations[room] = conversation
        return conversation

    def _take_global(self, text: str) -> None:
        if text.startswith("|updatesearch|"):
            self._starts.hear_search(not text.startswith('|updatesearch|{"searching":[]'))
            return
        if text.startswith("|nametaken|"):
            _, _, name, reason = (*text.split("|", 3), "", "")[:4]
            self.lose(NameTaken(f"{self.username!r} cannot log in: {reason or name}"))
            return
        if text.startswith(_TOO_LATE):
            # The room was over when it came: the other player gave up, say.
            self.logger.debug("%s", text)
            return
        if text.startswith("|popup|") and self._starts.refuse(text):
            self.fail(BattleRejected(text[len("|popup|") :].replace("||", "\n")))
            return
        if text.startswith("|pm|"):
            _, _, sender, receiver, message = (*text.split("|", 4), "", "", "")[:5]
            if self._starts.hear_message(sender, receiver, message):
                self.fail(BattleRejected(message.removeprefix("/nonotify ")))
            elif message == "/challenge" and self.calls is not None:
                # After the tasks that have yet to take the challenge itself.
                self.loop.call_soon(self.calls.forget_challenge, sender)
        task = self.loop.create_task(self._handle_message(text))
        self._active_tasks.add(task)
        task.add_done_callback(self._on_handled)

    def _on_handled(self, task: asyncio.Task[None]) -> None:
        self._active_tasks.discard(task)
        if task.cancelled() or (cause := task.exception()) is None or self.logged_in.is_set():
            return
        error = ConnectionLost(f"{self.username} cannot log in: {type(cause).__name__}: {cause}")
        error.__cause__ = cause
        self.lose(error)

    def _room_ended(self, conversation: Conversation) -> None:
        if self._conversations.get(conversation.room) is conversation:
            del self._conversations[conversation.room]

    def _player_failed(self, conversation: Conversation, cause: Exception) -> None:
        error = PlayerFailed(
            f"{self.username} failed in a battle: {type(cause).__name__}: {cause}",
            room=conversation.room,
        )
        error.__cause__ = cause
        self.fail(error)

    # What fails

    def fail(self, error: BridgeError) -> None:
        """Ends the calls of the player with an error, and gives up all that they have begun."""
        if not self.end_calls(error):
            self.logger.error("%s", error)

    def end_calls(self, error: BridgeError, episode: Episode | None = None) -> bool:
        """The same, and returns whether anybody was told."""
        self._give_up()
        return self.calls is not None and self.calls.fail(error, episode)

    def lose(self, error: BridgeError) -> None:
        """The connection is of no more use: ends the calls of the player, now and later."""
        if rooms := self._drop_conversations():
            error = error.about(", ".join(rooms))
        if self.calls is not None:
            self.calls.lose(error)
            self.calls.forget_battles()

    def _give_up(self) -> None:
        for room in self._drop_conversations():
            self._send(f"{room}|/forfeit")
        self._starts.withdraw()
        if self.calls is not None:
            self.calls.forget_battles()

    def _drop_conversations(self) -> list[str]:
        conversations, self._conversations = self._conversations, {}
        for conversation in conversations.values():
            conversation.stop()
        return list(conversations)

    # What the player says

    async def send_message(
        self, message: str, room: str = "", message_2: str | None = None
    ) -> None:
        text = f"{room}|{message}|{message_2}" if message_2 else f"{room}|{message}"
        if self.logger.isEnabledFor(logging.INFO):
            self.logger.info("\033[93m\033[1m>>>\033[0m %s", text)
        if not room:
            self._starts.ask(message)
        self._send(text)

    def _send(self, text: str) -> None:
        raise NotImplementedError


class LocalClient(SupervisedClient):
    """Speaks with a lobby of this process. It is its own transport."""

    def __init__(self, server: LocalServer, *arguments: Any, **named: Any) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._arrived: deque[tuple[str, str]] = deque()
        owner = getattr(named.get("on_battle_message"), "__self__", None)
        self.is_of_environment = isinstance(owner, _EnvPlayer)
        """Whether its loop has a thread of its own, which lives as long as the program."""
        super().__init__(*arguments, **named)

    async def listen(self) -> None:
        """Enters the lobby, which is started if this is its first player."""
        try:
            self._connection = await self._server.enter(self)
        except BridgeError as error:
            self.logger.error("%s", error)
            self.lose(error)
        except Exception as cause:  # noqa: BLE001 - whatever it is, the player has no pool
            lost = ConnectionLost(f"the pool did not start: {type(cause).__name__}: {cause}")
            lost.__cause__ = cause
            self.lose(lost)
        else:
            self._take_arrived()

    async def log_in(self, split_message: list[str]) -> None:
        """Takes the name: passwords are for servers that others reach too."""
        await self.send_message(f"/trn {self.username},0,")
        if self._avatar is not None:
            # At once, and not when it is logged in: a battle could begin without it in between.
            await self.send_message(f"/avatar {self._avatar}")

    def _send(self, text: str) -> None:
        connection, lobby = self._connection, self._server.lobby
        if connection is None or lobby is None or not connection.is_open:
            return
        if self.loop is self._server.loop:
            lobby.receive(connection, text)
        else:
            assert self._server.loop is not None
            self._server.loop.call_soon_threadsafe(lobby.receive, connection, text)

    async def _stop_listening(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._server.leave(connection)
        self.lose(ConnectionLost(f"{self.username} has stopped listening"))

    # On the loop of the lobby

    def deliver(self, room: str, text: str) -> None:
        if self.loop is self._server.loop:
            self.take(room, text)
            return
        self._arrived.append((room, text))
        if len(self._arrived) == 1:
            self._hand_over(self._take_arrived)

    def close(self, reason: str) -> None:
        self._hand_over(self.lose, ConnectionLost(reason))

    def _hand_over(self, act: Callable[..., None], *arguments: BridgeError) -> None:
        try:
            self.loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:
            # Its loop is closed: the player went without a word.
            if self._connection is not None and self._server.lobby is not None:
                self._server.lobby.disconnect(self._connection)

    def _take_arrived(self) -> None:
        arrived = self._arrived
        # The greeting may be here before the connection is.
        while arrived and self._connection is not None:
            # Taken out last: what comes meanwhile, from the other thread, is for this loop too.
            try:
                self.take(*arrived[0])
            except Exception:
                self.logger.exception("cannot take %s", arrived[0])
            arrived.popleft()


class RemoteClient(SupervisedClient):
    """Speaks with a server over WebSocket, as poke-env's own client does."""

    _listening: asyncio.Task[Any] | None = None

    async def listen(self) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        reason = "the server has closed the connection"
        self._listening = asyncio.current_task()
        try:
            async with connect(
                self.websocket_url,
                max_queue=None,
                max_size=None,
                open_timeout=self._open_timeout,
                ping_interval=self._ping_interval,
                ping_timeout=self._ping_timeout,
            ) as websocket:
                self.websocket = websocket
                async for message in websocket:
                    self._take_frame(str(message))
                if websocket.close_reason:
                    reason = f"{reason}: {websocket.close_reason}"
        except (OSError, WebSocketException, TimeoutError) as error:
            reason = f"{type(error).__name__}: {error}"
        except asyncio.CancelledError:
            reason = "it has stopped listening"
            raise
        except Exception as error:
            self.logger.exception("the connection ends by a fault of this program")
            reason = f"{type(error).__name__}: {error}"
        finally:
            if "HTTP 401" in reason:
                reason += ": give its token to remote_server(url, token=...)"
            # Without the query, which may have a token in it.
            url = self.websocket_url.partition("?")[0]
            where = f"{self.username} has no connection to {url}"
            self.lose(ConnectionLost(f"{where}: {reason}"))

    def _take_frame(self, message: str) -> None:
        if message.startswith(">"):
            room, _, text = message[1:].partition("\n")
            # A frame without lines, or of a room that poke-env knows nothing of.
            if text and room.startswith(("battle", "game")):
                self.take(room, text)
        elif message:
            self.take("", message)

    def _send(self, text: str) -> None:
        websocket = getattr(self, "websocket", None)
        if websocket is not None:
            task = self.loop.create_task(self._write(text))
            self._active_tasks.add(task)
            task.add_done_callback(self._active_tasks.discard)

    async def _stop_listening(self) -> None:
        if hasattr(self, "websocket"):
            await self.websocket.close()
        elif self._listening is not None:
            # A server may take its time until it greets.
            self._listening.cancel()

    async def _write(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self.websocket.send(text)
        except ConnectionClosed:
            # `listen` says so to everybody.
            return
