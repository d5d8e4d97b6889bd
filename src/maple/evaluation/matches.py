"""Measures a network from within a program, as a trainer does between its updates."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bridge import BridgeConfig, seeds
from bridge.errors import ConfigError
from maple.env import Observations
from maple.env.teams import TeamsArgument

from .arena import Arena
from .defaults import BATTLES, FORMAT, PARALLEL
from .entrants import Entrant, Learned
from .files import write_replays
from .lineup import entrant_of
from .results import Played, Result
from .tally import Tally

if TYPE_CHECKING:
    from maple.agents import Network

__all__ = ["evaluate"]


def evaluate(
    network: Network,
    observations: Observations,
    *,
    against: Sequence[str | Path | Entrant],
    battles: int = BATTLES,
    seed: seeds.Seed = 0,
    name: str = "agent",
    format: str = FORMAT,
    greedy: bool = False,
    replays: int = 0,
    folder: Path | None = None,
    arena: Arena | None = None,
    parallel: int = PARALLEL,
    pool: int | None = None,
    teams: TeamsArgument = None,
    bridge: BridgeConfig | str | Path | None = None,
    on_battle: Callable[[Played], None] | None = None,
) -> list[Result]:
    """Has a network play each opponent so many times; how it did against each of them.

    >>> evaluate(network, observations, against=["random", "max"], battles=200, seed=7)

    Args:
        network: Who is measured. Its weights must not change before this returns.
        observations: What it reads.
        against: Names ("random", "max", "heuristics"), paths of checkpoints or of runs, whose best
            is taken, or entrants.
        battles: How many against each. The second of every two repeats the first with the seats
            changed.
        seed: Decides all battles and draws, whatever is played at the same time.
        name: What the network is called in results and replays.
        format: What is played, as Showdown names it.
        greedy: Whether it takes the likeliest action, rather than drawing one.
        replays: Of how many battles against each a page and an input log are written.
        folder: Where they are written; it must be there.
        arena: A pool that is there already, to be used and left open; its format, teams and number
            of battles at a time are taken then.
        parallel: How many battles are under way at a time.
        pool: How many Node processes; by default one for each core.
        teams: For formats that want them, as VectorEnv takes them.
        bridge: Other settings of the pool.
        on_battle: Called for each battle that has ended.
    """
    if replays and folder is None:
        raise ConfigError("replays are written to a folder: give one")
    own = Entrant(name, Learned(network, observations))
    others = [one if isinstance(one, Entrant) else entrant_of(one) for one in against]
    names = [other.name for other in others]
    if len({name, *names}) <= len(names):
        raise ConfigError(f"two players have the same name: {', '.join((name, *names))}")
    tally = Tally([(name, other) for other in names], battles, keep=replays, on_battle=on_battle)
    with contextlib.ExitStack() as stack:
        if arena is None:
            made = Arena(format, parallel=parallel, pool=pool, teams=teams, bridge=bridge)
            arena = stack.enter_context(made)
        arena.play([own, *others], tally, seed=seed, greedy=greedy)
        if folder is not None:
            write_replays(arena, tally, folder)
    return tally.results
