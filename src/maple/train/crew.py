"""Who plays for the learner: a collector in its own process, or workers in processes of theirs.

Both are asked the same way, and run the same code. Knows neither what a network learns nor files.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import structlog

from maple.agents import Network, weight_count
from maple.env import VectorEnv
from maple.profiling import get_profiler, profile

from .collector import Collector
from .errors import WorkerFailed
from .orders import Order, Report
from .processes import Failed, end, inherited
from .rollout import Rollout, RolloutShape
from .shared import SharedWeights, shared_bytes
from .stage import Stage, derive_seed
from .threads import Threads
from .worker import Collect, Collected, Ready, Said, WorkerTask, work

__all__ = ["Crew", "Gathered", "SerialCrew", "WorkerCrew"]

log = structlog.get_logger("maple.train")

Weights = npt.NDArray[np.float32]

# Deaths of one worker in a row, with nothing collected in between, until no other is started.
_MOST_DEATHS: Final = 5
# After so long without a sign of life a worker is as dead as one that has ended.
_MOST_SILENCE: Final = 600.0


class Gathered(NamedTuple):
    """A full rollout, what is told of it, and by how many updates its network is older."""

    rollout: Rollout
    report: Report
    lag: int
    place: tuple[int, int]
    """The worker, and which of its rollouts it is."""


class Crew(Protocol):
    """Collects what a learner asks for."""

    lost: int
    """Workers that have died."""
    dropped: int
    """Decisions that were too old to be learned from."""

    def publish(self, weights: Weights, version: int) -> None:
        """Has these weights decide from the next rollout on."""

    def gather(self, order: Order) -> list[Gathered]:
        """Rollouts for an update, as soon as there are enough."""

    def release(self, gathered: Sequence[Gathered]) -> None:
        """Gives back rollouts that were learned from, to be filled again."""

    def close(self) -> None:
        """Ends all processes."""


class SerialCrew:
    """Plays in the process that learns, in turns with it, and with the learner's own network."""

    def __init__(self, collector: Collector, decisions: int) -> None:
        self.lost = 0
        self.dropped = 0
        self._collector = collector
        self._rollout = Rollout(collector.shape(decisions))

    def __repr__(self) -> str:
        return f"<SerialCrew: {self.env!r}>"

    @property
    def env(self) -> VectorEnv:
        """What is played in."""
        return self._collector.env

    def publish(self, weights: Weights, version: int) -> None:
        """The network is the learner's own."""

    def gather(self, order: Order) -> list[Gathered]:
        with profile("env_parallel_execution"):
            report = self._collector.collect(self._rollout, order)
        return [Gathered(self._rollout, report, 0, (0, 0))]

    def release(self, gathered: Sequence[Gathered]) -> None:
        """The only one is filled again anyway."""

    def close(self) -> None:
        self._collector.close()


@dataclass(slots=True)
class _Worker:
    """One place in a crew: the process in it, and the rollouts that it fills."""

    number: int
    battles: int
    pool: int
    buffers: list[object]
    rollouts: list[Rollout]
    process: SpawnProcess | None = None
    pipe: connection.Connection | None = None
    free: list[int] = field(default_factory=list)
    """Rollouts that nobody fills, and that nobody learns from."""
    asked: set[int] = field(default_factory=set)
    started: int = 0
    deaths: int = 0
    """In a row, with nothing collected in between."""
    last_words: str = ""
    is_ready: bool = False
    progress: tuple[object, ...] = ()
    """What it had done when somebody looked last."""
    alive_at: float = 0.0
    """When it was started or asked for something, or had done more than the time before."""

    def is_silent(self, now: float) -> bool:
        """Whether nothing has come of it for too long; what it writes down is in shared memory."""
        progress = (self.is_ready, *map(len, self.rollouts))
        is_idle = self.is_ready and not self.asked
        if is_idle or progress != self.progress:
            self.progress, self.alive_at = progress, now
        return now - self.alive_at > _MOST_SILENCE


class WorkerCrew:
    """Worker processes, replaced when they die.

    Args:
        stage: What they play.
        network: Made as theirs are, for its size.
        workers: How many; battles, Node processes and decisions are divided among them.
        synchronous: Whether each has one rollout, and all play while nobody learns. Else each has
            two, and plays on while the other is learned from.
    """

    def __init__(
        self,
        stage: Stage,
        network: Network,
        *,
        workers: int,
        battles: int,
        pool: int,
        decisions: int,
        seed: int,
        threads: Threads,
        synchronous: bool,
        max_lag: int,
    ) -> None:
        self.lost = 0
        self.dropped = 0
        self._stage = stage
        self._seed = seed
        self._threads = threads
        self._max_lag = max_lag
        self._parts = 1 if synchronous else 2
        self._decisions = -(-decisions // workers)
        self._context = multiprocessing.get_context("spawn")
        self._weights = SharedWeights(self._context, weight_count(network))
        self._should_end = shared_bytes(self._context, 1)
        self._version = 0
        self._full: list[Gathered] = []
        self._workers = []
        for number in range(workers):
            share = battles // workers + (number < battles % workers)
            shape = _shape_for(stage, network, share, self._decisions)
            buffers = [
                shared_bytes(self._context, shape.size) for _ in range(1 if synchronous else 2)
            ]
            self._workers.append(
                _Worker(
                    number,
                    share,
                    max(1, pool // workers + (number < pool % workers)),
                    buffers,
                    [Rollout(shape, buffer) for buffer in buffers],
                    free=list(range(len(buffers))),
                )
            )

    def __repr__(self) -> str:
        ready = sum(worker.is_ready for worker in self._workers)
        return f"<WorkerCrew: {ready} of {len(self._workers)} ready, {self.lost} lost>"

    @property
    def pids(self) -> list[int]:
        """Of the workers that are alive."""
        processes = (worker.process for worker in self._workers)
        return [p.pid for p in processes if p is not None and p.pid is not None and p.is_alive()]

    def publish(self, weights: Weights, version: int) -> None:
        self._weights.write(weights, version)
        self._version = version

    def gather(self, order: Order) -> list[Gathered]:
        order = replace(order, decisions=self._decisions)
        for worker in self._workers:
            if worker.process is None:
                self._start(worker)
        self._drop_what_is_old()
        while len(self._full) < len(self._workers):
            for worker in self._workers:
                self._ask(worker, order)
            with profile("workers_wait"):
                self._hear()
            self._drop_what_is_old()
        gathered = sorted(self._full[: len(self._workers)], key=lambda one: one.place)
        del self._full[: len(self._workers)]
        return [one._replace(lag=self._lag(one.report)) for one in gathered]

    def release(self, gathered: Sequence[Gathered]) -> None:
        for one in gathered:
            number, buffer = one.place
            self._workers[number].free.append(buffer)

    def close(self) -> None:
        ctypes.c_uint8.from_buffer(self._should_end).value = 1
        for worker in self._workers:
            if worker.pipe is not None:
                worker.pipe.close()
        end([worker.process for worker in self._workers if worker.process is not None])
        for worker in self._workers:
            worker.process = worker.pipe = None

    # Rollouts

    def _lag(self, report: Report) -> int:
        return self._version - report.version

    def _drop_what_is_old(self) -> None:
        """Gives back rollouts of a network that is too many updates older than the present one."""
        for one in [one for one in self._full if self._lag(one.report) > self._max_lag]:
            self._full.remove(one)
            self.dropped += len(one.rollout.known)
            self.release([one])

    # Workers

    def _start(self, worker: _Worker) -> None:
        profiler = get_profiler()
        worker.is_ready = False
        waiting = {one.place[1] for one in self._full if one.place[0] == worker.number}
        worker.asked.clear()
        worker.free = [n for n in range(len(worker.buffers)) if n not in waiting]
        task = WorkerTask(
            stage=self._stage,
            battles=worker.battles,
            pool=worker.pool,
            seed=derive_seed(self._seed, f"worker {worker.number}, start {worker.started}"),
            weights=self._weights,
            buffers=worker.buffers,
            decisions=self._decisions,
            parts=self._parts,
            threads=self._threads,
            should_end=self._should_end,
            profiling=profiler.for_workers() if profiler.enabled else None,
        )
        if worker.pipe is not None:
            worker.pipe.close()
        worker.pipe, theirs = self._context.Pipe()
        process = self._context.Process(
            target=work, args=(task, theirs), name=f"maple worker {worker.number}", daemon=True
        )
        with inherited(self._threads):
            process.start()
        worker.process = process
        worker.alive_at = time.monotonic()
        # The child has its own; with ours open nobody would notice that it is gone.
        theirs.close()
        worker.started += 1

    def _ask(self, worker: _Worker, order: Order) -> None:
        # Of one that has died its pipe may be at its end before its process is.
        if not worker.is_ready or worker.pipe is None:
            return
        while worker.free:
            buffer = worker.free.pop(0)
            worker.asked.add(buffer)
            worker.alive_at = time.monotonic()
            try:
                worker.pipe.send(Collect(buffer, self._for(worker, order)))
            except OSError:
                # Its end is noticed where everybody is heard.
                return

    def _for(self, worker: _Worker, order: Order) -> Order:
        """Battles that begin anew do so with a seed of each worker.

        That of the first is the one in the order, so that it plays what one process alone would.
        """
        if order.begin is None or not worker.number:
            return order
        return replace(order, begin=derive_seed(order.begin, f"worker {worker.number}"))

    def _hear(self) -> None:
        """Waits until a worker says something, or dies."""
        by_pipe = {worker.pipe: worker for worker in self._workers if worker.pipe is not None}
        by_end = {
            worker.process.sentinel: worker
            for worker in self._workers
            if worker.process is not None
        }
        heard = connection.wait([*by_pipe, *by_end], timeout=_MOST_SILENCE / 10)
        for one in heard:
            # What a process said last counts, also when it is dead by now.
            if isinstance(one, connection.Connection) and one in by_pipe:
                self._listen(by_pipe[one])
        for one in heard:
            if isinstance(one, int) and one in by_end:
                worker = by_end[one]
                self._listen(worker)
                self._bury(worker)
        self._end_the_silent()

    def _end_the_silent(self) -> None:
        """Kills workers that have stopped; that they are gone is noticed as if they had died."""
        for worker in self._workers:
            if worker.process is not None and worker.is_silent(time.monotonic()):
                worker.last_words = f"it had done nothing for {_MOST_SILENCE:g} s"
                worker.process.kill()

    def _listen(self, worker: _Worker) -> None:
        pipe = worker.pipe
        if pipe is None:
            return
        try:
            while pipe.poll():
                self._take(worker, pipe.recv())
        except (EOFError, OSError):
            # It has ended, which its sentinel tells; a pipe at its end would always be heard.
            pipe.close()
            worker.pipe = None

    def _take(self, worker: _Worker, message: object) -> None:
        match message:
            case Ready():
                worker.is_ready = True
            case Collected():
                self._keep(worker, message)
            case Said():
                said = log.warning if message.level in ("warning", "error") else log.info
                said(message.event, worker=worker.number, **message.facts)
            case Failed():
                worker.last_words = message.message
                log.error("a worker failed", worker=worker.number, trace=message.trace)

    def _keep(self, worker: _Worker, collected: Collected) -> None:
        worker.deaths = 0
        worker.asked.discard(collected.buffer)
        rollout, report = worker.rollouts[collected.buffer], collected.report
        self._full.append(
            Gathered(rollout, report, self._lag(report), (worker.number, collected.buffer))
        )

    def _bury(self, worker: _Worker) -> None:
        """Starts another one in the place of a worker that is dead."""
        process = worker.process
        assert process is not None
        process.join()
        code = process.exitcode
        process.close()
        worker.process = None
        self.lost += 1
        worker.deaths += 1
        cause = worker.last_words or f"it ended with status {code}"
        if worker.deaths >= _MOST_DEATHS or (
            worker.last_words and worker.started == 1 and not worker.is_ready
        ):
            raise WorkerFailed(
                f"worker {worker.number} does not work: {cause}. Try --workers 0, which plays in "
                "one process, to see where"
            )
        log.warning(
            "a worker died, and another one takes its place", worker=worker.number, cause=cause
        )
        if self._parts == 1:
            log.warning("from here on this run is not the one that its seed gives without a death")
        worker.last_words = ""
        self._start(worker)


def _shape_for(stage: Stage, network: Network, battles: int, decisions: int) -> RolloutShape:
    """That of `Collector.shape`, before there is a collector."""
    observations = stage.observations
    return Collector.shape_of(
        decisions,
        agents=2 * battles,
        row_bytes=observations.bytes,
        slots=observations.actions.slots,
        memory=network.memory,
    )
