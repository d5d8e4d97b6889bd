"""The one name of poke-env that is replaced, and how it is put back.

`Player` makes its client itself: `poke_env.player.player.PSClient(...)`. That name is made to mean
a function that looks at the server configuration and makes the client that belongs to it. For any
configuration that is not ours, that is poke-env's own, as before.
"""

from __future__ import annotations

from typing import Any, Final

import poke_env.player.player as player_module
from poke_env.ps_client import PSClient
from poke_env.ps_client.server_configuration import ServerConfiguration

__all__ = ["install", "restore"]

_NAME: Final = "PSClient"


def install() -> None:
    """Lets players find our servers; `local_server` does this by itself."""
    setattr(player_module, _NAME, make_client)


def restore() -> None:
    """Puts poke-env's own client back for players that are made from now on."""
    setattr(player_module, _NAME, PSClient)


def make_client(
    *arguments: Any, server_configuration: ServerConfiguration, **named: Any
) -> PSClient:
    """The client that belongs to a server configuration."""
    from .client import LocalClient, RemoteClient
    from .servers import LocalServerConfiguration, RemoteServerConfiguration

    named["server_configuration"] = server_configuration
    if isinstance(server_configuration, LocalServerConfiguration):
        return LocalClient(server_configuration.server, *arguments, **named)
    if isinstance(server_configuration, RemoteServerConfiguration):
        return RemoteClient(*arguments, **named)
    return PSClient(*arguments, **named)
