"""The baselines of training: workers with an environment of poke-env on a Showdown server.

It owns their lives, and finds the server's best settings; what they play is the workers' own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from bridge.benchmarks.child import Child, RowFailed
from bridge.benchmarks.rows import Plan, Source, fastest
from bridge.benchmarks.sample import Sample
from bridge.benchmarks.showdown_server import ServerSettings, ShowdownServer
from bridge.runtime import Runtime

__all__ = ["Amounts", "ShowdownEnv", "start_child", "start_on_showdown"]

_TRIES = 3
_PATIENCE = 30.0
_SECONDS_EACH = {"battles": 5.0, "decisions": 0.05}  # twenty times what one takes


def start_child(stack: ExitStack, module: str, arguments: dict[str, Any]) -> Child:
    """A worker of this package that is ready."""
    command = [sys.executable, "-m", f"maple.benchmarks.{module}", json.dumps(arguments)]
    child = stack.enter_context(Child(command))
    child.read()
    return child


class ShowdownEnv:
    """A worker that plays so many battles, or decisions, as `unit` has it; replaced when it hangs.

    Now and then, on a busy machine, an environment of poke-env waits for ever. Its sample is then
    taken anew, and the hang is counted.
    """

    def __init__(
        self, start: Callable[[], Child], unit: str = "battles", patience: float = _PATIENCE
    ) -> None:
        self._start = start
        self._unit = unit
        self._patience = patience
        self._child = start()
        self.hung = 0

    def play(self, amount: int) -> Sample:
        patience = self._patience + _SECONDS_EACH[self._unit] * amount
        for _ in range(_TRIES):
            try:
                [answer] = self._child.order(patience=patience, **{self._unit: amount})
            except RowFailed:
                self.hung += 1
                self._child.kill()
                self._child = self._start()
            else:
                return Sample(**answer)
        raise RowFailed(f"poke-env's environment hung {_TRIES} times in a row")


class Amounts(NamedTuple):
    """How much is played: in each trial, to be warm, before each sample, and in it."""

    search: int
    warm: int
    lead_in: int
    sample: int


@contextmanager
def start_on_showdown(
    runtime: Runtime,
    plan: Plan,
    row: str,
    module: str,
    unit: str,
    amounts: Amounts,
    **settings: Any,
) -> Iterator[Source]:
    """A worker on the real server with as many simulator processes as are best for it."""

    def start(processes: int, stack: ExitStack) -> ShowdownEnv:
        server = stack.enter_context(
            ShowdownServer(runtime.simulator, runtime.node, ServerSettings(processes))
        )
        where = {"url": server.websocket_url, "server_pid": server.pid}
        return ShowdownEnv(lambda: start_child(stack, module, where | settings), unit)

    def search() -> int:
        tried: list[tuple[int, float]] = []
        for processes in plan.simulator_processes:
            with ExitStack() as stack:
                env = start(processes, stack)
                env.play(amounts.search)
                trials = [env.play(amounts.search) for _ in range(plan.search_rounds)]
                tried += [(processes, trial.decisions_per_s) for trial in trials]
        return fastest(tried)

    [processes, *others] = plan.simulator_processes
    if others:
        processes = search()
    with ExitStack() as stack:
        env = start(processes, stack)
        notes = {"simulator_processes": processes, "times_hung": env.hung}
        env.play(amounts.warm)

        def sample(_number: int) -> dict[str, Sample]:
            env.play(amounts.lead_in)
            taken = env.play(amounts.sample)
            notes["times_hung"] = env.hung
            return {row: taken}

        yield Source(sample, notes={row: notes})
