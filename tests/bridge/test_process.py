"""A Node process as the system sees it, on the stock event loop and on uvloop."""

from __future__ import annotations

import asyncio

import psutil
import pytest

from bridge.process import NodeProcess
from bridge.runtime import find_runtime

pytestmark = pytest.mark.timeout(60)


def sleeper() -> list[str]:
    """A process that does nothing until it is ended, and takes any argument."""
    return [str(find_runtime().node), "--eval", "setInterval(() => {}, 1000)", "--"]


@pytest.mark.parametrize("steps", range(12))
def test_a_start_that_is_cancelled_ends_when_its_process_is_gone(
    runner: asyncio.Runner, steps: int
) -> None:
    # Python's own tracker of resources, if another test has started processes.
    before = psutil.Process().children()

    async def main() -> None:
        starting = asyncio.ensure_future(NodeProcess.start(sleeper()))
        for _ in range(steps):
            await asyncio.sleep(0)
        if starting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await starting
        else:
            process, channel = starting.result()
            channel.close()
            await process.stop(patience=5)
            process.close()
        assert psutil.Process().children() == before
        assert asyncio.all_tasks() == {asyncio.current_task()}

    runner.run(main())
