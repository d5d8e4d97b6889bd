"""What poke-env makes of all that one side of a battle is told."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

from poke_env.battle import Battle, DoubleBattle, Pokemon
from poke_env.data import GenData
from poke_env.player import Player

from tests.maple.observation.recorded import Matchup, Seen

__all__ = ["PokeEnvSide"]

_SILENT: Final = logging.getLogger("poke-env of tests")
_SILENT.setLevel(logging.CRITICAL)


class PokeEnvSide:
    """A battle of poke-env that hears what a player of it would hear."""

    def __init__(self, matchup: Matchup, name: str) -> None:
        self.game = matchup.game
        self.slots = 2 if self.game == "doubles" else 1
        self.generation = matchup.generation
        kind = DoubleBattle if self.slots == 2 else Battle
        self.battle: Any = kind("battle", name, _SILENT, gen=self.generation)
        self.weather_since = 0
        self._weather = ""

    def hear(self, seen: Seen) -> None:
        """Passes on lines and a request in the order of a server, as poke-env's Player does."""
        for line in seen.lines:
            self._hear_line(line.split("|"))
        if seen.request is not None:
            self.battle.parse_request(json.loads(seen.request))

    def _hear_line(self, words: list[str]) -> None:
        if len(words) == 1 or words[1] in Player.MESSAGES_TO_IGNORE:
            return
        if words[1] == "win":
            self.battle.won_by(words[2])
        elif words[1] == "tie":
            self.battle.tied()
        else:
            self.battle.parse_message(words)
            if words[1] == "-weather":
                self._note_weather()

    def _note_weather(self) -> None:
        """Keeps when the weather began: poke-env only keeps when it was last spoken of."""
        name = next((weather.name for weather in self.battle.weather), "")
        if name != self._weather:
            self._weather = name
            self.weather_since = self.battle.turn

    @property
    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = self.battle.last_request
        return request

    @property
    def team(self) -> list[Pokemon]:
        return list(self.battle.team.values())

    @property
    def opponent_team(self) -> list[Pokemon]:
        """In the order of the preview, if there was one, and else of appearance."""
        seen = list(self.battle._opponent_team.values())
        team = []
        for previewed in self.battle.teampreview_opponent_team:
            same = (each for each in seen if each.base_species == previewed.base_species)
            team.append(next(same, previewed))
        return team + [each for each in seen if all(each is not other for other in team)]

    @property
    def actives(self) -> list[Pokemon | None]:
        """Our places on the field, then theirs; nobody where somebody has fainted."""
        battle = self.battle
        if self.slots == 2:
            places = [*battle.active_pokemon, *battle.opponent_active_pokemon]
        else:
            places = [battle.active_pokemon, battle.opponent_active_pokemon]
        return [None if each is None or each.fainted else each for each in places]

    @property
    def own_actives(self) -> list[Pokemon | None]:
        return self.actives[: self.slots]

    @property
    def opponent_actives(self) -> list[Pokemon | None]:
        return self.actives[self.slots :]

    def asked_of(self, pokemon: Pokemon) -> dict[str, Any] | None:
        """The part of the request that asks a Pokémon for its move."""
        entries = self.request["side"]["pokemon"]
        for asked, entry in zip(self.request.get("active", ()), entries, strict=False):
            if self.battle.team.get(entry["ident"]) is pokemon:
                return dict(asked) if asked else None
        return None

    def species_of(self, pokemon: Pokemon) -> str:
        """The forme that a Pokémon has now, which poke-env keeps by its base stats alone."""
        pokedex = GenData.from_gen(self.generation).pokedex
        base = pokemon.base_stats
        known = pokedex[pokemon.species]
        if known["baseStats"] is base:
            return str(pokemon.species)
        return next(name for name, entry in pokedex.items() if entry.get("baseStats") is base)
