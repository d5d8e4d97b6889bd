"""Players and teams for tests of poke-env over the pool."""

from __future__ import annotations

from typing import Final

from poke_env.battle import AbstractBattle
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder, ForfeitBattleOrder

__all__ = [
    "FORMAT",
    "VGC_TEAM",
    "Quitter",
    "StringOrder",
    "forget",
    "leave",
    "play_briefly",
    "team_of",
]

FORMAT: Final = "gen1randombattle"


class Quitter(RandomPlayer):
    """Gives up in its third turn, for tests in which the end of a battle is not the point."""

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        return play_briefly(battle)


def play_briefly(battle: AbstractBattle) -> BattleOrder:
    return ForfeitBattleOrder() if battle.turn >= 3 else Player.choose_random_move(battle)


class StringOrder(BattleOrder):
    """A choice that poke-env would never make."""

    def __init__(self, choice: str) -> None:
        self.choice = choice

    @property
    def message(self) -> str:
        return f"/choose {self.choice}"


async def leave(player: Player) -> None:
    await player.ps_client.stop_listening()  # type: ignore[no-untyped-call]


def forget(*players: Player) -> None:
    """Lets players forget the battles that they have played."""
    for player in players:
        player.reset_battles()  # type: ignore[no-untyped-call]


def team_of(generation: int) -> str:
    """Two Pokémon who are allowed in singles and doubles of a generation."""
    first = "Tauros" if generation == 7 else "Snorlax"
    ability = {"Tauros": "Intimidate", "Snorlax": "Thick Fat"}[first]
    return _member(first, ability, generation, "Body Slam", "Earthquake", "Rest") + _member(
        "Jolteon", "Volt Absorb", generation, "Thunderbolt", "Double Kick", "Pin Missile"
    )


def _member(name: str, ability: str, generation: int, *moves: str) -> str:
    lines = [name, "EVs: 4 HP", *(f"- {move}" for move in moves)]
    if generation > 2:
        lines.insert(1, f"Ability: {ability}")
    return "\n".join(lines) + "\n\n"


VGC_TEAM: Final = """\
Snorlax
Ability: Thick Fat
Level: 50
EVs: 4 HP
- Body Slam
- Earthquake
- Protect

Jolteon @ Leftovers
Ability: Volt Absorb
Level: 50
EVs: 4 HP
- Thunderbolt
- Pin Missile
- Protect

Garchomp @ Sitrus Berry
Ability: Rough Skin
Level: 50
EVs: 4 HP
- Earthquake
- Dragon Claw
- Rock Slide

Gengar @ Focus Sash
Ability: Cursed Body
Level: 50
EVs: 4 HP
- Shadow Ball
- Sludge Bomb
- Protect

Tyranitar @ Lum Berry
Ability: Sand Stream
Level: 50
EVs: 4 HP
- Rock Slide
- Crunch

Dragonite
Ability: Inner Focus
Level: 50
EVs: 4 HP
- Dragon Claw
- Protect
"""
