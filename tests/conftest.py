"""What tests share: quick settings, event loops, and a look at what a test left behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import uvloop

from bridge import BridgeConfig

# In the background of a shell the tests, and whatever they start to interrupt, would ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LoopFactory = Callable[[], asyncio.AbstractEventLoop]
LOOPS: dict[str, LoopFactory] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what tests leave in a cache out of the user's; they share one, as processes do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAPLE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture
def settings(tmp_path: Path) -> BridgeConfig:
    """One controller that is not warmed up, and whatever waits does not wait for long."""
    return BridgeConfig(
        pool=1,
        warmup_battles=0,
        open_timeout=30.0,
        start_timeout=30.0,
        response_timeout=3.0,
        drain_timeout=5.0,
        poison_folder=tmp_path / "poisoned",
    )


@pytest.fixture(params=list(LOOPS.values()), ids=list(LOOPS))
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """Runs coroutines on the stock event loop and on uvloop."""
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


async def until(condition: Callable[[], object]) -> None:
    """Waits for what nobody announces, for as long as the test has."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def controllers() -> set[psutil.Process]:
    """The Node controllers that this process has started and that are still there."""
    return {child for child in psutil.Process().children(recursive=True) if is_controller(child)}


def is_controller(process: psutil.Process) -> bool:
    try:
        return any(word.endswith("controller.js") for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(autouse=True)
def no_controller_is_left_behind() -> Iterator[None]:
    before = controllers()
    yield
    left = controllers() - before
    for process in left:
        process.kill()
    assert not left, f"the test left controllers behind: {left}"
