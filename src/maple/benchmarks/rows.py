"""The rows of the benchmark that train: what each one runs, and how they are to compare."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bridge.benchmarks.child import Child, RowFailed
from bridge.benchmarks.rows import Plan, RowSpec, Source, fastest
from bridge.benchmarks.run import Target
from bridge.benchmarks.sample import Sample
from bridge.benchmarks.showdown_server import ServerSettings, ShowdownServer
from bridge.runtime import Runtime

__all__ = ["ROWS", "TARGETS"]

_TRIES = 3
_PATIENCE = 30.0
_SECONDS_A_BATTLE = 5.0  # twenty times what one takes


def start_child(stack: ExitStack, module: str, arguments: dict[str, Any]) -> Child:
    """A worker of this package that is ready."""
    command = [sys.executable, "-m", f"maple.benchmarks.{module}", json.dumps(arguments)]
    child = stack.enter_context(Child(command))
    child.read()
    return child


class SinglesEnvs:
    """The baseline's worker on a server, replaced when it hangs.

    Now and then, on a busy machine, an environment of poke-env waits for ever: for an answer that
    the server has given, or has not. Its sample is then taken anew, and the hang is counted.
    """

    def __init__(self, server: ShowdownServer, format: str, stack: ExitStack) -> None:
        self._where = {"url": server.websocket_url, "server_pid": server.pid, "format": format}
        self._stack = stack
        self._child = start_child(stack, "singles_env", self._where)
        self.hung = 0

    def play(self, battles: int) -> Sample:
        for _ in range(_TRIES):
            try:
                [answer] = self._child.order(
                    battles=battles, patience=_PATIENCE + _SECONDS_A_BATTLE * battles
                )
            except RowFailed:
                self.hung += 1
                self._child.kill()
                self._child = start_child(self._stack, "singles_env", self._where)
            else:
                return Sample(**answer)
        raise RowFailed(f"poke-env's environment hung {_TRIES} times in a row")


@contextmanager
def start_singles_env(runtime: Runtime, plan: Plan) -> Iterator[Source]:
    """poke-env's SinglesEnv with a RandomPlayer on the real server, at its best settings."""
    row = "singles_env_showdown"

    def start(processes: int, stack: ExitStack) -> SinglesEnvs:
        settings = ServerSettings(processes)
        server = stack.enter_context(ShowdownServer(runtime.simulator, runtime.node, settings))
        return SinglesEnvs(server, plan.format, stack)

    tried: list[tuple[int, float]] = []
    for processes in plan.simulator_processes:
        with ExitStack() as stack:
            envs = start(processes, stack)
            envs.play(plan.env_battles)
            trials = [envs.play(plan.env_battles) for _ in range(plan.search_rounds)]
            tried += [(processes, trial.decisions_per_s) for trial in trials]
    processes = fastest(tried)
    with ExitStack() as stack:
        envs = start(processes, stack)
        notes = {"simulator_processes": processes, "hung": envs.hung}
        # With one battle at a time, the server is warm when one of its processes is.
        envs.play(min(plan.warmup, 5 * plan.env_battles))

        def sample(_number: int) -> dict[str, Sample]:
            envs.play(1)
            taken = envs.play(plan.env_battles)
            notes["hung"] = envs.hung
            return {row: taken}

        yield Source(sample, notes={row: notes})


ROWS: dict[str, RowSpec] = {
    "singles_env_showdown": RowSpec(
        "poke-env's SinglesEnv on a Showdown server, a policy", start_singles_env
    ),
}
TARGETS: tuple[Target, ...] = ()
