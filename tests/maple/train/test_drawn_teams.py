"""Teams of a folder are drawn, for both seats, about as often as the folder says."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maple.env import Observations
from maple.train.config import TrainConfig
from maple.train.layout import lay_out
from maple.train.rollout import Rollout
from maple.train.stage import set_stage
from maple.train.trainer import Trainer

Small = Callable[..., TrainConfig]

# One Pokémon each, so that battles are short.
TEAMS = {
    "bull.txt": "Tauros\nEVs: 252 Atk\n- Body Slam\n",
    "mouse.team": "Raichu\nEVs: 252 SpA\n- Thunderbolt\n",
    "fox.packed": "Ninetales||||fireblast||,,,252,252,|||||",
}
WEIGHTS = "bull.txt: 6\nfox.packed: 3\n"
SHARES = {"tauros": 0.6, "ninetales": 0.3, "raichu": 0.1}


class Census:
    """Whom each agent brings to each of its battles."""

    def __init__(self, observations: Observations) -> None:
        self.brought: dict[int, list[str]] = defaultdict(list)
        layout = observations.spec.layout(observations.game)
        self._species_at = layout.block("own_team", "who").at(0, "species")
        self._names = observations.spec.names["species"]
        self._is_over: dict[int, bool] = defaultdict(lambda: True)

    def note(self, rollout: Rollout) -> None:
        for row in rollout.known.tolist():
            agent = int(rollout.agents[row])
            if self._is_over[agent]:
                at = self._species_at
                species = int.from_bytes(rollout.raw[row, at : at + 2].tobytes(), "little")
                self.brought[agent].append(self._names[species])
            self._is_over[agent] = bool(rollout.is_last[row])

    def of_seat(self, seat: int) -> list[str]:
        return [one for a, found in self.brought.items() if a % 2 == seat for one in found]

    def pairs(self) -> list[tuple[str, str]]:
        """What both seats of a battle brought."""
        found: list[tuple[str, str]] = []
        for agent in range(0, max(self.brought), 2):
            found += zip(self.brought[agent], self.brought[agent + 1], strict=False)
        return found


def about(share: float, total: int) -> Any:  # noqa: ANN401 - pytest names no type for it
    """So often of so many, within four deviations."""
    return pytest.approx(share * total, abs=4 * (total * share * (1 - share)) ** 0.5)


def test_both_seats_bring_each_team_as_often_as_the_weights_say(
    small: Small, tmp_path: Path
) -> None:
    folder = tmp_path / "teams"
    folder.mkdir()
    for name, team in TEAMS.items():
        (folder / name).write_text(team, encoding="utf-8")
    (folder / "weights.yml").write_text(WEIGHTS, encoding="utf-8")
    config = small(
        workers=0,
        synchronous=True,
        format="gen1ou",
        teams=str(folder),
        parallel=32,
        batch=1500,
        opponents={"mix": "self"},
    )
    trainer = Trainer(config, set_stage(config), lay_out(config))
    try:
        census = Census(trainer.stage.observations)
        gather = trainer._crew.gather

        def note(order: Any) -> Any:  # noqa: ANN401
            gathered = gather(order)
            for one in gathered:
                census.note(one.rollout)
            return gathered

        trainer._crew.gather = note  # type: ignore[method-assign]
        for _ in range(2):
            trainer.update()
    finally:
        trainer.close()
    for seat in (0, 1):
        drawn = Counter(census.of_seat(seat))
        assert drawn.keys() == SHARES.keys()
        assert drawn.total() > 200
        for name, share in SHARES.items():
            assert drawn[name] == about(share, drawn.total())
    # Neither seat knows what the other one draws.
    pairs = Counter(census.pairs())
    for one, share in SHARES.items():
        for other, others in SHARES.items():
            assert pairs[one, other] == about(share * others, pairs.total())
