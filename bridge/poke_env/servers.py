"""The server configurations that users pass to poke-env."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from poke_env.ps_client import PSClient
from poke_env.ps_client.server_configuration import (
    LocalhostServerConfiguration,
    ServerConfiguration,
)

from ..config import BridgeConfig, load_config
from ..errors import ConfigError
from ..seeds import Seed
from .installation import install
from .local import LocalServer

__all__ = [
    "LocalServerConfiguration",
    "RemoteServerConfiguration",
    "local_server",
    "remote_server",
]

# A configuration that is pickled twice, for two environments of a child process, is one pool there.
_servers: weakref.WeakValueDictionary[str, LocalServer] = weakref.WeakValueDictionary()
if hasattr(os, "register_at_fork"):
    # A child that is forked has none of the threads that these run in.
    os.register_at_fork(after_in_child=_servers.clear)


class LocalServerConfiguration(ServerConfiguration):
    """Where players of this process meet without a server. Pickled, it means the same elsewhere."""

    server: LocalServer
    settings: Mapping[str, Any]
    seed: Seed | None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.websocket_url, dict(self.settings), self.seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def stats(self) -> dict[str, Any]:
        """Figures of the pool and of the lobby, as plain data."""
        return self.server.stats()

    def close(self) -> None:
        """Ends the processes of the pool; otherwise they end with the program."""
        self.server.close()


class RemoteServerConfiguration(ServerConfiguration):
    """A server over WebSocket, whose failures reach the caller of a player's methods."""

    def make_client(self, *arguments: Any, **named: Any) -> PSClient:
        """A player's client of this server."""
        from .client import RemoteClient

        return RemoteClient(*arguments, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_remote, tuple(self)


def local_server(
    config: BridgeConfig | str | Path | None = None,
    *,
    seed: Seed | None = None,
    **settings: Any,
) -> LocalServerConfiguration:
    """A server configuration for poke-env whose players play over a pool of this process.

    >>> player = RandomPlayer(server_configuration=local_server(pool=2, seed=7))

    Settings are those of `ControllerRegistry`; by default the pool has two processes, or one where
    there are two cores, and in a child process. With a seed, the battles between any two players
    are the same each time.
    """
    if config is not None:
        given = load_config(config) if isinstance(config, str | Path) else config
        settings = given.describe() | settings
    BridgeConfig().replace(**settings)
    if seed is not None and not isinstance(seed, int | str):
        raise ConfigError(f"a seed is a number or a text, not {seed!r}")
    return _restore(f"maple://{uuid.uuid4().hex}", settings, seed)


def remote_server(
    url: str = LocalhostServerConfiguration.websocket_url,
    authentication_url: str = LocalhostServerConfiguration.authentication_url,
    *,
    token: str | None = None,
) -> RemoteServerConfiguration:
    """A server configuration for `python -m bridge.serve`, or any other Showdown server.

    Battles are played as with poke-env's own, but what fails is raised where it is waited for.
    """
    if token is not None:
        url = f"{url}{'&' if '?' in url else '?'}token={quote(token)}"
    return _restore_remote(url, authentication_url)


def _restore(url: str, settings: Mapping[str, Any], seed: Seed | None) -> LocalServerConfiguration:
    install()
    configuration = LocalServerConfiguration(url, "")
    server = _servers.get(url)
    if server is None:
        server = _servers[url] = LocalServer(settings, seed)
    configuration.server = server
    configuration.settings = settings
    configuration.seed = seed
    return configuration


def _restore_remote(url: str, authentication: str) -> RemoteServerConfiguration:
    install()
    return RemoteServerConfiguration(url, authentication)
