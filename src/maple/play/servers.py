"""Servers that agents play on, and how they log in there: over WebSocket, as any client does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

import aiohttp
from poke_env.ps_client import AccountConfiguration, PSClient
from poke_env.ps_client.ps_client import BattleMessageCallback
from poke_env.ps_client.server_configuration import (
    LocalhostServerConfiguration,
    ShowdownServerConfiguration,
)

from bridge.errors import BridgeError, ConfigError, ConnectionLost, PlayerFailed
from bridge.poke_env import RemoteServerConfiguration, install
from bridge.poke_env.client import RemoteClient

__all__ = ["SHOWDOWN", "AgentClient", "AgentServer", "find_server"]

SHOWDOWN: Final = "showdown"
_SHOWDOWN_PAGES: Final = "https://play.pokemonshowdown.com"
_PATH: Final = "/showdown/websocket"
_SCHEMES: Final = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_LOG_IN_SECONDS: Final = 15.0


class AgentServer(RemoteServerConfiguration):
    """A server over WebSocket, for a player whose battles do not end with one that fails."""

    def make_client(self, *arguments: Any, **named: Any) -> PSClient:
        return AgentClient(*arguments, **named)

    @property
    def address(self) -> str:
        """Where it is, without what is secret in its URL."""
        return self.websocket_url.partition("?")[0]

    @property
    def is_showdown(self) -> bool:
        return self.websocket_url == ShowdownServerConfiguration.websocket_url

    def page_of(self, room: str) -> str:
        """Where a battle can be looked at, if that is known."""
        return f"{_SHOWDOWN_PAGES}/{room}" if self.is_showdown else room


class AgentClient(RemoteClient):
    """Tells whoever listens what fails, and goes on with all else.

    A start that is refused ends no battle, and a battle that breaks ends no other.
    """

    def __init__(
        self,
        account_configuration: AccountConfiguration,
        *,
        on_battle_message: BattleMessageCallback | None = None,
        **named: Any,
    ) -> None:
        self.on_refused: Callable[[BridgeError], None] | None = None
        """Told why a battle that was asked for does not begin."""
        self.on_broken: Callable[[str, BridgeError], None] | None = None
        """Told which battle has no end, and why."""
        self.on_lost: Callable[[BridgeError], None] | None = None
        """Told why there is no connection any more."""
        super().__init__(account_configuration, on_battle_message=on_battle_message, **named)

    def fail(self, error: BridgeError) -> None:
        if error.room is None:
            if self.on_refused is not None:
                self.on_refused(error)
            return
        conversation = self._conversations.pop(error.room, None)
        if conversation is not None:
            conversation.stop()
        if isinstance(error, PlayerFailed):
            self._send(f"{error.room}|/forfeit")
        if self.on_broken is not None:
            self.on_broken(error.room, error)

    def lose(self, error: BridgeError) -> None:
        super().lose(error)
        if self.on_lost is not None:
            self.on_lost(error)

    async def log_in(self, split_message: list[str]) -> None:
        """Takes the name, with a password if there is one."""
        assertion = ""
        if self.account_configuration.password:
            try:
                assertion = await self._prove_who_it_is("|".join(split_message[2:]))
            except ConnectionLost as error:
                self.lose(error)
                return
        await self.send_message(f"/trn {self.username},0,{assertion}")
        if self._avatar is not None:
            # At once: poke-env's own way looks again and again whether it is logged in.
            await self.send_message(f"/avatar {self._avatar}")

    async def _prove_who_it_is(self, challenge: str) -> str:
        """What the login server gives for a name and its password."""
        form = {
            "act": "login",
            "name": self.username,
            "pass": self.account_configuration.password or "",
            "challstr": challenge,
        }
        url = self.server_configuration.authentication_url
        timeout = aiohttp.ClientTimeout(total=_LOG_IN_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(url, data=form) as answer,
            ):
                text = await answer.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ConnectionLost(
                f"{self.username} cannot log in at {url}: {type(error).__name__}: {error}"
            ) from error
        return self._read_assertion(text, url)

    def _read_assertion(self, text: str, url: str) -> str:
        try:
            # A bracket stands before it, so that no page can run it as a script.
            assertion = json.loads(text.removeprefix("]"))["assertion"]
        except (ValueError, KeyError, TypeError):
            raise ConnectionLost(
                f"{self.username} cannot log in: {url} answers {text[:100]!r}"
            ) from None
        if not isinstance(assertion, str) or not assertion or assertion.startswith(";"):
            why = str(assertion or "").strip("; ") or "the name and the password do not fit"
            raise ConnectionLost(f"{self.username} cannot log in: {why}")
        return assertion


def find_server(name: str, token: str | None = None) -> AgentServer:
    """The server that is meant by "showdown", a host and port, or a URL."""
    install()
    authentication = LocalhostServerConfiguration.authentication_url
    if name == SHOWDOWN:
        return AgentServer(*ShowdownServerConfiguration)
    parts = urlsplit(name if "://" in name else f"ws://{name}")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0:
        raise ConfigError(
            f"{name!r} is no server: give it as localhost:8000, as a URL such as "
            f"wss://sim.example.com{_PATH}, or as {SHOWDOWN}"
        )
    path = parts.path if parts.path.strip("/") else _PATH
    query = parts.query
    if token is not None:
        query = f"{query}&" * bool(query) + f"token={quote(token)}"
    url = urlunsplit((_SCHEMES[parts.scheme], parts.netloc, path, query, ""))
    return AgentServer(url, authentication)
