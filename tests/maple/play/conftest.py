"""A server that the tests of a module share, and a look at what they leave behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import psutil
import pytest
from poke_env.ps_client.server_configuration import ServerConfiguration

from bridge.serve.websocket import websocket_url
from tests.maple.observation.matchups import GIVEN
from tests.maple.observation.recorded import Matchup, RecordedBattle, record
from tests.maple.play.cast import Stage
from tests.serving import QUICK, servers, still_there

MATCHUPS = [
    Matchup("gen9randombattle", 5),
    Matchup("gen9randomdoublesbattle", 5),
    Matchup("gen4randombattle", 5),
    Matchup("gen1randombattle", 5),
    *(Matchup(name, 5, teams) for name, teams in GIVEN),
]


@pytest.fixture(scope="session")
def battles(own_cache: None) -> list[RecordedBattle]:
    """Battles of several kinds, as the bridge has them."""
    return record(MATCHUPS)


@pytest.fixture(scope="module")
def url(own_cache: None) -> Iterator[str]:
    """`python -m bridge.serve`, as whoever has a WebSocket reaches it."""
    with servers() as start:
        server = start(*QUICK)
        url = websocket_url(server.url())
        server.wait_for("event=ready")
        yield url


@pytest.fixture
async def stage(url: str) -> AsyncIterator[Stage]:
    """With poke-env's own client of a server."""
    stage = Stage(ServerConfiguration(url, ""))
    yield stage
    await stage.close()


def observing() -> list[psutil.Process]:
    """The processes that this one has started to observe, and that are still there."""
    return [child for child in psutil.Process().children(recursive=True) if _observes(child)]


def _observes(process: psutil.Process) -> bool:
    try:
        return any(word.endswith("observe.js") for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(autouse=True)
def nobody_observes_any_more() -> Iterator[None]:
    yield
    left = still_there(observing(), seconds=2.0)
    for process in left:
        process.kill()
    assert not left, f"the test left processes behind: {left}"
