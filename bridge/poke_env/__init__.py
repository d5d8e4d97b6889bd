"""poke-env over the pool: one argument, and its players need no server."""

try:
    import poke_env as _poke_env  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "bridge.poke_env needs poke-env: pip install 'maple[poke-env]'", name="poke_env"
    ) from error

from .installation import install, restore
from .servers import (
    LocalServerConfiguration,
    RemoteServerConfiguration,
    local_server,
    remote_server,
)

__all__ = [
    "LocalServerConfiguration",
    "RemoteServerConfiguration",
    "install",
    "local_server",
    "remote_server",
    "restore",
]
