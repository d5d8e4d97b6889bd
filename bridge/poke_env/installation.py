"""What of poke-env is replaced, and how it is put back.

`Player` makes its client itself: `poke_env.player.player.PSClient(...)`. That name is made to mean
a function that looks at the server configuration and makes the client that belongs to it. For any
configuration that is not ours, that is poke-env's own, as before.

Besides, some methods of its model of a battle are replaced by faster ones: see `hot_paths`.
"""

from __future__ import annotations

from typing import Any, Final

import poke_env.player.player as player_module
from poke_env.ps_client import PSClient
from poke_env.ps_client.server_configuration import ServerConfiguration

from . import hot_paths

__all__ = ["install", "restore"]

_NAME: Final = "PSClient"


def install() -> None:
    """Lets players find our servers; `local_server` does this by itself."""
    setattr(player_module, _NAME, make_client)
    hot_paths.replace()


def restore() -> None:
    """Puts back what is poke-env's own; players that were made before keep their clients."""
    setattr(player_module, _NAME, PSClient)
    hot_paths.restore()


def make_client(
    *arguments: Any, server_configuration: ServerConfiguration, **named: Any
) -> PSClient:
    """The client that belongs to a server configuration."""
    from .client import LocalClient
    from .servers import LocalServerConfiguration, RemoteServerConfiguration

    named["server_configuration"] = server_configuration
    if isinstance(server_configuration, LocalServerConfiguration):
        return LocalClient(server_configuration.server, *arguments, **named)
    if isinstance(server_configuration, RemoteServerConfiguration):
        return server_configuration.make_client(*arguments, **named)
    return PSClient(*arguments, **named)
