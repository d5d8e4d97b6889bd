"""Who may ask, and how many at a time: tokens, pages of other sites, places for connections."""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ..errors import ConfigError

__all__ = ["Access", "Places", "guard"]

_ALWAYS_OPEN: Final = "/healthz"
# A name could have been pointed at this machine by a page that a browser shows (DNS rebinding).
_LOCAL_HOST: Final = re.compile(r"(localhost|[\d.]+|\[[\da-f:.]+\])(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Access:
    """What is asked of clients, and how many of them there may be."""

    token: str | None = field(default=None, repr=False)
    max_connections: int = 2048
    max_connections_per_address: int = 1024

    def __post_init__(self) -> None:
        if self.token == "":
            raise ConfigError("the token is empty: leave --token out, or give one")
        for name in ("max_connections", "max_connections_per_address"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 1")


def guard(token: str | None) -> Middleware:
    """A middleware that turns away who has no token, and what pages of other sites ask."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path != _ALWAYS_OPEN:
            _check_site(request, has_token=token is not None)
            if token is not None:
                _check_token(request, token)
        return await handler(request)

    return check


def _check_site(request: web.Request, *, has_token: bool) -> None:
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    if origin is not None and origin.partition("://")[2].lower() != host.lower():
        raise web.HTTPForbidden(text=f"Pages of {origin} may not ask {host}.\n")
    if not has_token and not _LOCAL_HOST.fullmatch(host):
        raise web.HTTPForbidden(
            text=f"Ask for localhost or for an address instead of {host!r}: without a --token, "
            "a server answers to no other name.\n"
        )


def _check_token(request: web.Request, token: str) -> None:
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    given = bearer.strip() if scheme.lower() == "bearer" else request.query.get("token", "")
    if not hmac.compare_digest(_bytes(given), _bytes(token)):
        raise web.HTTPUnauthorized(
            text="The token of this server is missing or wrong: add ?token=TOKEN to the URL, or "
            "send the header 'Authorization: Bearer TOKEN'.\n",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class Places:
    """Counts who is connected, in all and by address."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._by_address: Counter[str] = Counter()

    def __repr__(self) -> str:
        taken, addresses = self._by_address.total(), len(self._by_address)
        return f"<Places: {taken} of {self._access.max_connections}, {addresses} addresses>"

    @contextmanager
    def take(self, address: str) -> Iterator[None]:
        """Holds a place, or turns the request away."""
        if self._by_address.total() >= self._access.max_connections:
            raise web.HTTPServiceUnavailable(
                text=f"There are {self._access.max_connections} connections already, and no more "
                "are allowed (--max-connections).\n"
            )
        if self._by_address[address] >= self._access.max_connections_per_address:
            raise web.HTTPServiceUnavailable(
                text=f"There are {self._access.max_connections_per_address} connections from "
                f"{address} already, and no more are allowed (--max-connections-per-address).\n"
            )
        self._by_address[address] += 1
        try:
            yield
        finally:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]
