"""Every kind of format is learned from, and team previews as much as what follows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maple.agents import weights_of
from maple.train.config import TrainConfig
from maple.train.layout import lay_out
from maple.train.stage import Stage, set_stage
from maple.train.trainer import Trainer
from tests.maple.env.hands import TEAM, VGC_TEAM

from .conftest import stage_of

Small = Callable[..., TrainConfig]

RANDOM = (*(f"gen{number}randombattle" for number in range(1, 10)), "gen9randomdoublesbattle")
DEVIATION = 0.3
WITH_TEAMS = {"gen8ou": TEAM, "gen9vgc2025regi": VGC_TEAM}
TINY: dict[str, Any] = {"workers": 0, "synchronous": True, "parallel": 4, "batch": 64}
TINY_NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {"kind": "mlp", "hidden": [8]},
    "lstm": {"kind": "lstm", "hidden": [8], "memory": 4},
}


def prepare(
    small: Small, format: str, folder: Path, kind: str = "mlp"
) -> tuple[TrainConfig, Stage]:
    """Settings of a tiny run, and what is played in it, with a team where one is wanted."""
    settings = {**TINY, "format": format, "network": TINY_NETWORKS[kind]}
    if format not in WITH_TEAMS:
        config = small(**settings)
        return config, stage_of(config)
    file = folder / "team.txt"
    file.write_text(WITH_TEAMS[format], encoding="utf-8")
    config = small(**settings, teams=str(file))
    return config, set_stage(config)


@pytest.mark.parametrize("format", [*RANDOM, *WITH_TEAMS])
def test_an_update_learns_from_battles_of_every_format(
    small: Small, tmp_path: Path, format: str
) -> None:
    config, stage = prepare(small, format, tmp_path)
    assert stage.format == format
    assert stage.generation == int(format[3])
    trainer = Trainer(config, stage, lay_out(config))
    try:
        before = weights_of(trainer.network).copy()
        status = trainer.update()
    finally:
        trainer.close()
    figures = status.figures
    assert status.counters.decisions >= 64
    assert figures.decisions >= 64 - 2 * config.parallel
    assert figures.entropy > 0
    assert figures.gradient > 0
    assert status.cut_short == 0
    after = weights_of(trainer.network)
    assert np.isfinite(after).all()
    assert not np.array_equal(after, before)


@pytest.mark.parametrize(
    ("format", "picks", "kind"), [("gen8ou", 1, "mlp"), ("gen9vgc2025regi", 2, "lstm")]
)
def test_picks_of_a_team_preview_are_learned_from_with_the_chances_that_they_had(
    small: Small, tmp_path: Path, format: str, picks: int, kind: str
) -> None:
    config, stage = prepare(small, format, tmp_path, kind)
    trainer = Trainer(config, stage, lay_out(config))
    try:
        # At first all that is legal is about as likely, whatever is seen.
        random = torch.Generator().manual_seed(5)
        for part in trainer.network.parameters():
            torch.nn.init.normal_(part, std=DEVIATION, generator=random)
        [gathered] = trainer._crew.gather(trainer._order(0.0))
        rollout, actions = gathered.rollout, trainer.stage.observations.actions
        known = rollout.known
        is_preview = np.array([actions.is_preview(row) for row in rollout.raw[known]])
        previews = known[is_preview]
        # Each seat of each battle picks, its leads first and in VGC those behind them too.
        per_agent = np.bincount(rollout.agents[previews], minlength=2 * config.parallel)
        assert (per_agent >= picks).all()
        assert not is_preview.all()
        chances = np.exp(rollout.chances[previews])
        assert chances.max() < 0.999
        # The first pick of each is not drawn blindly.
        first = chances[: 2 * config.parallel]
        assert first.std() > 0.2 * first.mean()
        for row in previews:
            assert actions.is_legal(rollout.raw[row], rollout.actions[row])
        figures = trainer.learner.update([rollout], stale=False, rate=0.0, entropy_weight=0.01)
        assert figures.decisions == len(known)
        assert figures.divergence == pytest.approx(0, abs=1e-7)
    finally:
        trainer.close()
