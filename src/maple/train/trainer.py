"""One training run, from its first update to its last: asks, learns, keeps, tells.

What is played is the crew's, how it is learned ppo's; here is what happens in which order.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
import structlog
import torch

from bridge.errors import ConfigError
from maple.agents import (
    Checkpoint,
    CheckpointNotWritten,
    save_checkpoint,
    weights_of,
)
from maple.env import VectorEnv
from maple.evaluation.intervals import wilson
from maple.profiling import get_profiler, profile

from .budget import Budget, Counters
from .config import TrainConfig
from .crew import Crew, Gathered, SerialCrew, WorkerCrew
from .errors import LossNotFinite, RunUnusable
from .interruption import Interrupted, Interruption
from .layout import Layout
from .metrics import Metrics
from .opponents import Opponents
from .orders import Order, Report
from .ppo import Learner, UpdateFigures
from .rewards import load_reward_schedules
from .run_folder import RunFolder
from .schedules import make_rate, make_value
from .stage import Stage, derive_seed
from .status import Standing, Status
from .tally import Tally

__all__ = ["Ending", "Trainer", "choose_device"]

log = structlog.get_logger("maple.train")

Show: TypeAlias = Callable[[Status], None]

# Of what a run needs to go on, in its checkpoints.
_VERSION: Final = 1
# Decisions of an agent in which hardly a battle comes to its end.
_FEW: Final = 100
# Speeds are those of about so many seconds.
_RECENT: Final = 30.0


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


def choose_device(name: str) -> torch.device:
    """Raises ConfigError for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        told = str(error).partition("\n")[0]
        raise ConfigError(f"device is {name}, and torch says: {told}") from error


class Trainer:
    """A run that is under way.

    Args:
        config: Its settings.
        stage: What is played.
        layout: Which processes there are.
        folder: Where it is kept; None to keep nothing.
        checkpoint: What it goes on from; None to begin.
        show: Hears how it goes after every update.
    """

    def __init__(
        self,
        config: TrainConfig,
        stage: Stage,
        layout: Layout,
        folder: RunFolder | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        show: Show = lambda status: None,
    ) -> None:
        self.config = config
        self.stage = stage
        self.layout = layout
        self.folder = folder
        self.counters = Counters()
        self._show = show
        self._budget = Budget(config)
        self._opponents = Opponents(config.opponents, None if folder is None else folder.league)
        self._tally = Tally(config.checkpoints.window)
        self._rate = make_rate(config.learning.rate)
        self._entropy = make_value(config.learning.entropy_weight)
        self._exploration = make_value(config.exploration)
        self._rewards = load_reward_schedules(config.reward)
        self._best: float | None = None
        self._controllers_lost = 0
        self._begins_anew = config.synchronous
        self._saved: int | None = None
        self.network = stage.make_network().to(choose_device(config.device))
        self.learner = Learner(
            self.network,
            stage.observations,
            config.learning,
            config.ppo if config.algorithm == "ppo" else None,
            seed=derive_seed(config.seed, "minibatches"),
        )
        if checkpoint is not None:
            self._restore(checkpoint)
        self._metrics = (
            None
            if folder is None
            else Metrics(folder, tensorboard=config.tensorboard, update=self.counters.updates)
        )
        self._speed = _Speed(time.perf_counter(), self.counters)
        self._crew = self._hire()
        self._publish()

    def _hire(self) -> Crew:
        """Whoever goes on from a checkpoint plays other battles than those played until then."""
        config, layout = self.config, self.layout
        seed = derive_seed(config.seed, f"battles from update {self.counters.updates} on")
        if layout.workers:
            return WorkerCrew(
                self.stage,
                self.network,
                workers=layout.workers,
                battles=config.parallel,
                pool=layout.pool,
                decisions=config.batch,
                seed=seed,
                threads=layout.threads,
                synchronous=config.synchronous,
                max_lag=config.max_lag,
            )
        collector = self.stage.collector(
            config.parallel,
            layout.pool,
            seed,
            parts=1 if config.synchronous else 2,
            network=self.network,
        )
        return SerialCrew(collector, config.batch)

    @property
    def env(self) -> VectorEnv | None:
        """What is played in by this process; None if others play."""
        return self._crew.env if isinstance(self._crew, SerialCrew) else None

    def close(self) -> None:
        """Ends all processes."""
        self._crew.close()
        if self._metrics is not None:
            self._metrics.close()

    # The run

    def run(self, interruption: Interruption) -> Ending:
        """Trains until the budget is used up, or somebody wants it to end."""
        self._warn_of_short_battles()
        if self.folder is not None and self.counters.updates == 0:
            self._keep()
        try:
            while not self._budget.is_used_up(self.counters):
                self.update(interruption)
                if self.counters.updates % self.config.checkpoints.every == 0:
                    self._keep()
        except Interrupted:
            ending = Ending.INTERRUPTED
        else:
            ending = Ending.COMPLETE
        # What is between two checkpoints of a synchronous run is done again, to the same result.
        if ending is Ending.COMPLETE or not self.config.synchronous:
            self._keep()
        return ending

    def _warn_of_short_battles(self) -> None:
        config = self.config
        each = config.checkpoints.every * config.batch // (2 * config.parallel)
        if config.synchronous and self.folder is not None and each < _FEW:
            log.warning(
                "battles of a synchronous run begin anew at each checkpoint, and few will come to "
                "their end until then: set checkpoints.every higher, or parallel lower",
                decisions=each,
            )

    def update(self, interruption: Interruption | None = None) -> Status:
        """Has decisions collected, and learns from them."""
        began = time.perf_counter()
        progress = self._budget.progress(self.counters)
        order = self._order(progress)
        interruption = interruption or Interruption()
        with profile("training_batch", track_memory=True):
            with interruption.allowed():
                gathered = self._crew.gather(order)
            waited = time.perf_counter() - began
            with profile("gradient_calculation", track_memory=True):
                figures = self._learn(gathered, order, progress)
            self._crew.release(gathered)
            self.counters.updates += 1
            self._publish()
            with profile("log_metrics"):
                reports = [one.report for one in gathered]
                self._note(reports)
                self.counters.seconds += time.perf_counter() - began
                self._speed.add(time.perf_counter(), self.counters, waited)
                status = self._status(gathered, figures, order)
                if self._metrics is not None:
                    self._metrics.write(self.counters.updates, status.scalars())
                self._show(status)
        get_profiler().lap()
        return status

    def _order(self, progress: float) -> Order:
        begins_anew, self._begins_anew = self._begins_anew, False
        seed = derive_seed(self.config.seed, f"battles of update {self.counters.updates}")
        return Order(
            decisions=self.config.batch,
            version=self.counters.updates + 1,
            exploration=self._exploration.at(progress),
            mix=self._opponents.mix(),
            past=self._opponents.past(),
            rewards=self._rewards.at(progress),
            begin=seed if begins_anew else None,
        )

    def _publish(self) -> None:
        """Versions begin at 1."""
        self._crew.publish(weights_of(self.network), self.counters.updates + 1)

    def _learn(self, gathered: Sequence[Gathered], order: Order, progress: float) -> UpdateFigures:
        # What was carried over from the rollout before is a little older than what follows it; the
        # loss knows how likely each action was then.
        stale = order.exploration > 0 or any(one.lag > 0 for one in gathered)
        try:
            return self.learner.update(
                [one.rollout for one in gathered],
                stale=stale,
                rate=self._rate.at(progress),
                entropy_weight=self._entropy.at(progress),
            )
        except LossNotFinite as error:
            raise self._with_batch_saved(error) from None

    def _note(self, reports: Sequence[Report]) -> None:
        """Counts what was played, and lets everybody know who wants to."""
        profiler = get_profiler()
        ended = [one for report in reports for one in report.ended]
        decisions = sum(report.decisions for report in reports)
        self.counters.decisions += decisions
        self.counters.battles += len(ended)
        self._controllers_lost += sum(report.deaths for report in reports)
        self._tally.add(ended)
        self._tally.forget_all_but(self._opponents.known)
        profiler.step(decisions)
        profiler.episode(len(ended))
        if self._opponents.hear(ended):
            log.info("another stage begins", mix=self._opponents.text)
            self._forget_scores()
        score = self._score()
        if score is not None:
            self._rate.hear(score)
        every = self.config.opponents.league_every
        if self._opponents.has_league and self.counters.updates % every == 0:
            self._join_league()

    def _score(self) -> float | None:
        """The mean win rate against those who stay the same, once it means something."""
        measured = self._opponents.measured
        scores = self._tally.rated(measured)
        if not measured or len(scores) < len(measured):
            return None
        if not all(score.is_full for score in scores.values()):
            return None
        return float(np.mean([score.rate for score in scores.values()]))

    def _forget_scores(self) -> None:
        """Those against others say nothing of those to come."""
        self._best = None
        self._rate.forget()

    # What is kept

    def _keep(self) -> None:
        """Writes a checkpoint, and keeps it as the best if it is."""
        if self.folder is None or self._saved == self.counters.updates:
            return
        # Battles begin anew where a run may go on from, so that it goes on the same way.
        self._begins_anew = self.config.synchronous
        file = self.folder.checkpoint(self.counters.updates)
        try:
            with profile("save_checkpoint"):
                # First, so that no checkpoint knows of a best one that is not there.
                self._keep_best()
                save_checkpoint(file, self._checkpoint(self._training()))
                self.folder.point_to(file)
        except (CheckpointNotWritten, OSError) as error:
            log.error(
                "a checkpoint was not written; training goes on, and tries again with the next",
                cause=str(error),
            )
            return
        self._saved = self.counters.updates
        self.folder.forget_all_but(self.config.checkpoints.keep, until=self.counters.updates)
        # A past self that has left the league may still be in that of an older checkpoint.
        for past in self._opponents.league.forget_retired(self.folder.oldest):
            past.unlink(missing_ok=True)

    def _keep_best(self) -> None:
        """Keeps the network as the best, if it is."""
        assert self.folder is not None
        score = self._score()
        if score is None or self._best is None or score > self._best:
            save_checkpoint(self.folder.best, self._checkpoint())
            self._best = score

    @property
    def is_saved(self) -> bool:
        """Whether nothing of what was learned is lost if the process ends here."""
        return self._saved == self.counters.updates

    @property
    def saved(self) -> int | None:
        """The update of the latest checkpoint that this process has written."""
        return self._saved

    def _join_league(self) -> None:
        if self.folder is None:
            return
        name = f"past-{self.counters.updates:06d}"
        league = self._opponents.league
        try:
            self.folder.league.mkdir(exist_ok=True)
            save_checkpoint(league.file(name), self._checkpoint())
        except (OSError, CheckpointNotWritten) as error:
            log.error("a past self was not kept", cause=str(error))
            return
        league.add(name, self.counters.updates)

    def _checkpoint(self, training: dict[str, Any] | None = None) -> Checkpoint:
        facts = asdict(self.counters) | {
            "run": None if self.folder is None else self.folder.path.name,
            "mix": self._opponents.text,
            "win_rates": {name: score.rate for name, score in self._tally.scores.items()},
        }
        if self.stage.teams is not None:
            facts["wants_team"] = True
        return Checkpoint.of(
            self.network,
            self.stage.observations,
            format=self.stage.format,
            facts=facts,
            training=training,
        )

    def _training(self) -> dict[str, Any]:
        """What a run needs to go on as if nothing had happened."""
        return {
            "version": _VERSION,
            "optimizer": self.learner.optimizer.state_dict(),
            "rate": self._rate.state(),
            "counters": asdict(self.counters),
            "opponents": self._opponents.state(),
            "tally": self._tally.state(),
            "best": self._best,
            "measured": self._opponents.measured,
            "random": self.learner.random.bit_generator.state,
            "torch_random": torch.get_rng_state(),
        }

    def _restore(self, checkpoint: Checkpoint) -> None:
        training = checkpoint.training
        if training is None or training.get("version") != _VERSION:
            raise RunUnusable(
                "this run cannot go on: its checkpoint is not one of training, or was written by "
                "another Maple. `python -m maple.evaluate` may still know it"
            )
        if checkpoint.config != self.stage.network:
            raise ConfigError(
                "the network of a run stays what it is: another network wants a run of its own"
            )
        checkpoint.require(self.stage.observations)
        self.network.load_state_dict(checkpoint.weights)
        self.learner.optimizer.load_state_dict(training["optimizer"])
        self._rate.restore(training["rate"])
        self.counters = Counters(**training["counters"])
        self._opponents.restore(training["opponents"])
        self._tally.restore(training["tally"])
        self._best = training["best"]
        if training["measured"] != self._opponents.measured:
            self._forget_scores()
        self.learner.random.bit_generator.state = training["random"]
        torch.set_rng_state(training["torch_random"])
        self._saved = self.counters.updates

    def _with_batch_saved(self, error: LossNotFinite) -> LossNotFinite:
        """The error with where the batch is that nothing can be learned from."""
        if self.folder is None:
            return error
        file = self.folder.path / f"bad-batch-{self.counters.updates + 1:06d}.npz"
        try:
            np.savez_compressed(file, weights=weights_of(self.network), **error.batch)
        except OSError as full:
            return LossNotFinite(
                f"{error.message}; the batch could not be saved: {full.strerror}",
                batch=error.batch,
            )
        return LossNotFinite(
            f"{error.message}. The batch and the weights are in {file}", batch=error.batch
        )

    # What is told

    def _status(self, gathered: Sequence[Gathered], figures: UpdateFigures, order: Order) -> Status:
        progress = self._budget.progress(self.counters)
        reports = [one.report for one in gathered]
        seats = sum(report.seats for report in reports)
        names = {name for report in reports for name in report.parts}
        speed = self._speed
        seconds = self.counters.seconds
        turns = [one.turns for report in reports for one in report.ended if one.score is not None]
        return Status(
            counters=replace(self.counters),
            progress=progress,
            left=seconds * (1 - progress) / progress if progress else None,
            decisions_per_s=speed.decisions,
            battles_per_s=speed.battles,
            collecting=speed.waited,
            lag=float(np.mean([one.lag for one in gathered])),
            dropped=self._crew.dropped,
            workers_lost=self._crew.lost,
            controllers_lost=self._controllers_lost,
            mix=self._opponents.text,
            stage=self._opponents.stage,
            stages=len(self.config.opponents.stages),
            exploration=order.exploration,
            standings=self._standings(),
            figures=figures,
            returns=sum(report.returns for report in reports) / seats if seats else None,
            parts={
                name: sum(report.parts.get(name, 0.0) for report in reports) / seats
                for name in sorted(names)
            }
            if seats
            else {},
            turns=sum(turns) / len(turns) if turns else None,
            league=len(self._opponents.league.members),
            cut_short=self._tally.cut_short,
        )

    def _standings(self) -> dict[str, Standing]:
        """Who is in the mix, and the league as a whole."""
        found = {
            name: Standing(score.rate, *score.interval, len(score.latest))
            for name, score in self._tally.rated(self._opponents.measured).items()
        }
        past = [m.name for m in self._opponents.league.members]
        latest = [one for score in self._tally.rated(past).values() for one in score.latest]
        if latest:
            found["league"] = Standing(
                sum(latest) / len(latest), *wilson(sum(latest), len(latest)), len(latest)
            )
        return found


class _Speed:
    """How fast the last updates were."""

    def __init__(self, now: float, counters: Counters) -> None:
        self._points = deque([(now, counters.decisions, counters.battles, 0.0)])
        self._waited = 0.0

    def add(self, now: float, counters: Counters, waited: float) -> None:
        self._waited += waited
        self._points.append((now, counters.decisions, counters.battles, self._waited))
        while len(self._points) > 2 and self._points[0][0] < now - _RECENT:
            self._points.popleft()

    def _rate(self, index: int) -> float:
        first, last = self._points[0], self._points[-1]
        return (last[index] - first[index]) / (last[0] - first[0])

    @property
    def decisions(self) -> float:
        return self._rate(1)

    @property
    def battles(self) -> float:
        return self._rate(2)

    @property
    def waited(self) -> float:
        """The share of the time that rollouts were waited for."""
        return self._rate(3)
