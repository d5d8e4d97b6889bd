"""Workers: how old a rollout may be, what one that is killed has done, the same weights twice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil
import pytest

from maple.agents import weights_of
from maple.train.config import TrainConfig
from maple.train.crew import Gathered, WorkerCrew
from maple.train.interruption import Interruption
from maple.train.layout import lay_out
from maple.train.orders import Order
from maple.train.rollout import Rollout
from maple.train.threads import Threads
from maple.train.trainer import Trainer

from .conftest import stage_of
from .test_collector import order as ask

Small = Callable[..., TrainConfig]

pytestmark = pytest.mark.timeout(240)

DECISIONS = 120
MAX_LAG = 1


@contextmanager
def one_worker(small: Small) -> Iterator[tuple[WorkerCrew, Callable[[int], None]]]:
    """A crew, and what publishes a version of the weights to it; the first is published."""
    stage = stage_of(small())
    network = stage.make_network()
    crew = WorkerCrew(
        stage,
        network,
        workers=1,
        battles=4,
        pool=1,
        decisions=DECISIONS,
        seed=3,
        threads=Threads(1, "as was asked for"),
        synchronous=False,
        max_lag=MAX_LAG,
    )

    def publish(version: int) -> None:
        crew.publish(weights_of(network), version)

    try:
        publish(1)
        yield crew, publish
    finally:
        crew.close()


def await_next(crew: WorkerCrew, *, is_heard: bool) -> int:
    """Waits until the worker has filled what it was asked for; how much there is to learn from.

    The learner has heard of it already, or has not yet.
    """
    [worker] = crew._workers
    [buffer] = worker.asked
    assert worker.pipe is not None
    assert worker.pipe.poll(60)
    while is_heard and not crew._full:
        crew._hear()
    return len(worker.rollouts[buffer].known)


# How old a rollout may be


def test_a_rollout_is_as_old_as_when_it_is_handed_out_and_is_dropped_if_that_is_too_old(
    small: Small,
) -> None:
    with one_worker(small) as (crew, publish):
        [first] = crew.gather(ask(DECISIONS))
        assert first.lag == 0
        await_next(crew, is_heard=True)
        assert [one.lag for one in crew._full] == [0]
        publish(2)
        # As old as it may be.
        [second] = crew.gather(ask(DECISIONS))
        assert (second.report.version, second.lag) == (1, MAX_LAG)
        assert second.place != first.place
        crew.release([first, second])
        dropped, version = 0, 2
        for is_heard in (True, False):
            assert crew.dropped == dropped
            [first] = crew.gather(ask(DECISIONS))
            assert (first.report.version, first.lag) == (version, 0)
            dropped += await_next(crew, is_heard=is_heard)
            crew.release([first])
            for _ in range(3):
                version += 1
                publish(version)
            # What was filled meanwhile goes back, and what is asked for now is learned from.
            [fresh] = crew.gather(ask(DECISIONS))
            assert crew.dropped == dropped
            assert (fresh.report.version, fresh.lag) == (version, 0)
            assert fresh.place == first.place
            crew.release([fresh])
        assert dropped >= 2 * (DECISIONS - 8)
        assert crew.lost == 0


# What one that is killed has done


class Witness:
    """Looks at what is handed to the learner, and kills a worker in the middle of a rollout."""

    def __init__(self, crew: WorkerCrew) -> None:
        self.decisions: set[tuple[Any, ...]] = set()
        """What is held by rollouts: decisions that are in two, as they are carried over, once."""
        self.known = 0
        self.ends = 0
        self.lost_rows = 0
        """What the worker that was killed had written down of the rollout that it was at."""
        self._crew = crew
        self._gather, self._hear = crew.gather, crew._hear
        crew.gather = self.gather  # type: ignore[method-assign]
        crew._hear = self.hear  # type: ignore[method-assign]

    def gather(self, order: Order) -> list[Gathered]:
        gathered = self._gather(order)
        for one in gathered:
            self._look(one.rollout, one.place[0])
        return gathered

    def _look(self, rollout: Rollout, worker: int) -> None:
        # Of what is seen last nothing has been decided yet.
        *decided, _ = rollout.rounds
        for rows in decided:
            for row in range(rows.start, rows.stop):
                seen = (rollout.raw[row].tobytes(), float(rollout.chances[row]))
                self.decisions.add((worker, int(rollout.agents[row]), *seen))
        self.known += len(rollout.known)
        is_end = rollout.is_known[: len(rollout)] & rollout.is_last[: len(rollout)]
        self.ends += int((is_end & (rollout.agents[: len(rollout)] % 2 == 0)).sum())

    def hear(self) -> None:
        """Once the first worker has handed a rollout over, and is in the middle of the next.

        The second is stopped until then, so that the learner still waits with the first in hand.
        """
        first, second = self._crew._workers
        if first.started == 1 and second.process is not None:
            assert second.process.pid is not None
            os.kill(second.process.pid, signal.SIGSTOP)
        if self._crew._full and not self.lost_rows:
            self._kill(first)
        self._hear()
        if first.started == 2 and second.process is not None:
            assert second.process.pid is not None
            os.kill(second.process.pid, signal.SIGCONT)

    def _kill(self, worker: Any) -> None:  # noqa: ANN401
        [full] = self._crew._full
        assert full.place == (0, 0)
        process = psutil.Process(worker.process.pid)
        at = worker.rollouts[1]
        while len(at) < 40:
            time.sleep(0.001)
        process.suspend()
        assert not worker.pipe.poll()
        self.lost_rows = len(at)
        process.kill()


def test_a_worker_that_is_killed_counts_for_what_it_has_handed_over_and_for_nothing_else(
    small: Small,
) -> None:
    config = small(workers=2, batch=1000, parallel=4, max_lag=100)
    trainer = Trainer(config, stage_of(config), lay_out(config))
    try:
        crew = trainer._crew
        assert isinstance(crew, WorkerCrew)
        witness = Witness(crew)
        for _ in range(2):
            trainer.update()
    finally:
        trainer.close()
    assert crew.lost == 1
    assert witness.lost_rows >= 40
    assert crew.dropped == 0
    assert trainer.counters.decisions == len(witness.decisions)
    # What is known of a decision is known once; of a few nothing is known yet.
    open_at_most = 3 * 2 * config.parallel
    assert len(witness.decisions) - open_at_most <= witness.known <= len(witness.decisions)
    assert trainer.counters.battles == witness.ends > 0
    assert trainer._tally.battles == witness.ends


# The same twice


def test_two_workers_that_take_turns_with_the_learner_give_the_same_weights_twice(
    small: Small,
) -> None:
    found = []
    for _ in range(2):
        config = small(workers=2, synchronous=True, batch=128, decisions=384)
        trainer = Trainer(config, stage_of(config), lay_out(config))
        try:
            before = weights_of(trainer.network).copy()
            trainer.run(Interruption())
        finally:
            trainer.close()
        assert trainer.counters.updates == 3
        found.append(weights_of(trainer.network))
        assert not np.array_equal(found[-1], before)
    np.testing.assert_array_equal(found[0], found[1])
