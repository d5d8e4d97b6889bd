"""The battles after the last update, which show what was learned; replays of some are kept."""

from __future__ import annotations

from collections.abc import Callable

from bridge.throughput.quantities import percent
from maple.evaluation import Result, evaluate

from .config import TrainConfig
from .run_folder import RunFolder
from .stage import derive_seed
from .trainer import Trainer

__all__ = ["play_last_battles"]


def play_last_battles(
    config: TrainConfig, trainer: Trainer, folder: RunFolder, say: Callable[[str], None]
) -> list[Result]:
    """Has the network play against each of those in the settings, and says how that went."""
    wanted = config.evaluation
    say(f"{wanted.battles} battles against each of {', '.join(wanted.against)}")
    folder.replays.mkdir(exist_ok=True)
    stage = trainer.stage
    results = evaluate(
        trainer.network.cpu(),
        stage.observations,
        against=wanted.against,
        battles=wanted.battles,
        seed=derive_seed(config.seed, "last battles"),
        name=folder.path.name,
        format=stage.format,
        replays=min(wanted.replays, wanted.battles),
        folder=folder.replays,
        teams=stage.team_pool,
        bridge=stage.bridge,
    )
    for result in results:
        low, high = result.interval
        say(
            f"{result.opponent}: won {percent(result.win_rate)} "
            f"({percent(low)} to {percent(high)}) of {result.battles}"
        )
    if wanted.replays:
        say(f"replays: {folder.replays}")
    return results
