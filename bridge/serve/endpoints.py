"""The HTTP application: figures for whoever asks, and the lobby. Binds no port, starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import orjson
from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from .access import Access, guard
from .metrics import LobbyCollector, RegistryCollector
from .service import Service
from .websocket import PATH, WebSocketEndpoint, websocket_url

__all__ = ["build_app"]

_INDEX: Final = """\
<!doctype html>
<meta charset="utf-8">
<title>Maple</title>
<h1>Maple</h1>
<p>A pool of {pool} warm Pokémon Showdown simulators, {status}.</p>
<p>Scripts for a Pokémon Showdown server play at <code>{websocket}</code>:
{connections} connections, {users} users, {games} games.</p>
<ul>
<li><a href="/healthz">/healthz</a>: 200 when battles can be opened, 503 when not (JSON)
<li><a href="/metrics">/metrics</a>: counters, gauges and round-trip histograms for Prometheus
<li><a href="/api/stats">/api/stats</a>: all figures, the settings and versions (JSON)
</ul>
"""


def build_app(service: Service, access: Access | None = None) -> web.Application:
    """The application of a service; whatever else is to be served on its port adds routes to it."""
    access = access or Access()
    app = web.Application(middlewares=[guard(access.token)])
    app.add_routes(_Figures(service).routes())
    app.add_routes([web.get(PATH, WebSocketEndpoint(service, access).handle, allow_head=False)])
    return app


class _Figures:
    """The endpoints that only read."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._metrics = CollectorRegistry()
        self._metrics.register(RegistryCollector(service.registry))
        self._metrics.register(LobbyCollector(service.lobby))
        ProcessCollector(registry=self._metrics)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._index),
            web.get("/healthz", self._health),
            web.get("/metrics", self._prometheus),
            web.get("/api/stats", self._stats),
        ]

    async def _index(self, _request: web.Request) -> web.Response:
        _, health = self._service.health()
        text = _INDEX.format(
            pool=health["pool"]["size"],
            status=health["status"],
            websocket=websocket_url(self._service.url),
            **self._service.lobby.stats(),
        )
        return web.Response(text=text, content_type="text/html")

    async def _health(self, _request: web.Request) -> web.Response:
        healthy, health = self._service.health()
        return _json(health, status=200 if healthy else 503)

    async def _stats(self, _request: web.Request) -> web.Response:
        return _json(self._service.report())

    async def _prometheus(self, request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        # A thousand lines of text, and the loop that would write them drives battles.
        body = await asyncio.to_thread(encode, _Collected(self._metrics))
        return web.Response(body=body, headers={"Content-Type": content_type})


class _Collected(CollectorRegistry):
    """Metrics as they are now, which can be read in another thread."""

    def __init__(self, metrics: CollectorRegistry) -> None:
        super().__init__()
        self._metrics = list(metrics.collect())

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


def _json(data: dict[str, Any], *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(data), status=status, content_type="application/json")
