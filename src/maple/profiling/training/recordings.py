"""Reads a batch off its recording, and joins the recordings of a mode. Records nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.timing import PHASES

from ..analysis import analyse, node_share
from ..feeds import join_feeds
from ..session import Distribution, Session, merge_sessions
from ..usage import ProcessUse
from .components import BATCH, ROUND, measure_components
from .result import Batch, BatchFigures

if TYPE_CHECKING:
    from maple.train.status import Status

__all__ = ["join_recordings", "read_batch", "with_controllers"]


def read_batch(session: Session, decisions: int, battles: int, status: Status) -> Batch:
    """The batch that a session of one process has recorded, and of which it watched the bridge.

    So many decisions and battles were in it, and the status is that of the run after it.
    """
    (part,) = session.processes
    (feed,) = part.feeds
    calls = {"/".join(one.path): one.calls for one in part.operations}
    learned = status.figures
    figures = BatchFigures(
        decisions=decisions,
        rounds=calls[ROUND],
        minibatches=learned.minibatches,
        battles=battles,
        returns=status.returns,
        policy_loss=learned.policy_loss,
        value_loss=learned.value_loss,
        entropy=learned.entropy,
        divergence=learned.divergence,
        gradient=learned.gradient,
    )
    times = {"/".join(one.path): one.covered / 1e9 for one in part.operations}
    analysis = analyse(session)
    processes = analysis.machine.processes
    choices = [one for one in feed.operations if one.name in ("choose", "play")]
    return Batch(
        wall=times[BATCH],
        components=measure_components(times),
        figures=figures,
        python_cpu=_cpu(processes, "main"),
        node_cpu=_cpu(processes, "node"),
        node_busy=node_share(feed) if choices else None,
        trips=sum(one.total["count"] for one in choices if one.total is not None),
        profiling=analysis.cost_share,
        phases={phase: sum(_total(one.parts[phase]) for one in choices) for phase in PHASES},
    )


def _cpu(processes: Sequence[ProcessUse], role: str) -> float | None:
    """Seconds; None if it was too short to measure."""
    used = [one.cpu for one in processes if one.role == role and one.cpu is not None]
    return sum(used) / 1e9 if used else None


def _total(distribution: Distribution) -> float:
    return float(distribution["mean"] * distribution["count"]) / 1e9


def with_controllers(session: Session, pids: Collection[int]) -> Session:
    """Without Node processes that are not of these pids: those of the other mode, which wait."""
    usages = [usage for usage in session.usages if usage.role != "node" or usage.pid in pids]
    # The peak of all together had them in it; that of the others is in their samples.
    return msgspec.structs.replace(session, usages=usages, rss_peak=None)


def join_recordings(sessions: Sequence[Session], settings: Mapping[str, Any]) -> Session:
    """All batches as one session: each is a window, and what the bridge says is there once."""
    whole = merge_sessions(sessions)
    feeds = join_feeds([feed for part in whole.processes for feed in part.feeds])
    parts = [msgspec.structs.replace(part, feeds=[]) for part in whole.processes]
    parts[0] = msgspec.structs.replace(parts[0], feeds=feeds)
    return msgspec.structs.replace(whole, settings=dict(settings), processes=parts)
