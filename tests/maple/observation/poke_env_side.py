"""What poke-env makes of all that one side of a battle is told."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

from poke_env.battle import Battle, DoubleBattle, Move, Pokemon
from poke_env.data import GenData
from poke_env.player import Player

from tests.maple.observation.mends import MENDS
from tests.maple.observation.recorded import Matchup, Seen

__all__ = ["PokeEnvFailed", "PokeEnvSide"]

_SILENT: Final = logging.getLogger("poke-env of tests")
_SILENT.setLevel(logging.CRITICAL)
_FAILURES: Final = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    TypeError,
    ValueError,
)


class PokeEnvFailed(Exception):
    """Raised when poke-env cannot go on with a battle."""


class PokeEnvSide:
    """A battle of poke-env that hears what a player of it would hear."""

    def __init__(self, matchup: Matchup, name: str) -> None:
        self.game = matchup.game
        self.slots = 2 if self.game == "doubles" else 1
        self.generation = matchup.generation
        kind = DoubleBattle if self.slots == 2 else Battle
        self.battle: Any = kind("battle", name, _SILENT, gen=self.generation)
        self.weather_since = 0
        """The turn in which the weather began: poke-env keeps when it was last spoken of."""
        self.sleep: dict[Pokemon, int] = {}
        """For how many turns Pokémon that move have slept before."""
        self.latecomers: set[Pokemon] = set()
        """Who has come in after the end of the turn."""
        self.impostors: set[Pokemon] = set()
        """Who has turned out to be another one, and who was that."""
        self.pressing: set[str] = set()
        """Sides that have had a Pokémon with Pressure on the field when somebody moved."""
        self.was_preparing = False
        """Whether who moves had prepared for that."""
        self.formes: dict[Pokemon, str] = {}
        """What Pokémon were that have another forme while they are on the field."""
        self.left: Pokemon | None = None
        """Who has left the field for the one that came in last."""
        self.leaving: dict[str, int] | None = None
        """The boosts of who leaves the field for the one that comes in."""
        self.copies: set[Pokemon] = set()
        """Who has ever turned into another."""
        self.passed: set[Pokemon] = set()
        """Who has come in by Baton Pass, or Shed Tail, and has not left since."""
        self.stopped: set[Pokemon] = set()
        """Who could not move when it last tried."""
        self.is_late = False
        """Whether the turn has ended and the next one has not begun."""
        self.failures: dict[str, int] = {}
        """The turn in which the move of a place has failed last."""
        self.chooser = ""
        """The place for which the move was chosen that is under way."""

    def hear(self, seen: Seen) -> None:
        """Passes on lines and a request in the order of a server, as poke-env's Player does."""
        for line in seen.lines:
            self._hear_line(line.split("|"))
        if seen.request is not None:
            request = json.loads(seen.request)
            is_first = not self.battle.last_request
            try:
                self.battle.parse_request(request)
            except _FAILURES as error:
                raise PokeEnvFailed(f"a request: {error!r}") from error
            if is_first:
                self._put_in_order(request)
            self._read_pp()

    def _put_in_order(self, request: dict[str, Any]) -> None:
        """Has the team in the order of the first request.

        poke-env has it so, unless the one that leads looks like another, which it then puts first.
        """
        team = self.battle.team
        self.battle.team = {
            each["ident"]: team[each["ident"]] for each in request["side"]["pokemon"]
        }

    def _read_pp(self) -> None:
        """Takes over the PP that a request shows, which poke-env only counts."""
        for pokemon in filter(None, self.own_actives):
            for listed in (self.asked_of(pokemon) or {"moves": ()})["moves"]:
                for move in pokemon.moves.values():
                    if Move.retrieve_id(move.id) == listed["id"] and "pp" in listed:
                        move._current_pp = listed["pp"]

    def _hear_line(self, words: list[str]) -> None:
        self._note_failure(words)
        if len(words) == 1 or words[1] in Player.MESSAGES_TO_IGNORE:
            return
        if words[1] == "win":
            self.battle.won_by(words[2])
        elif words[1] == "tie":
            self.battle.tied()
        else:
            self._note_before(words)
            try:
                self.battle.parse_message(words)
            except _FAILURES as error:
                raise PokeEnvFailed(f"{'|'.join(words)}: {error!r}") from error
            self._note_after(words)
            for mend in MENDS.get(words[1], ()):
                mend(self, words)

    def _note_before(self, words: list[str]) -> None:
        match words[1]:
            case "move":
                pokemon = self.pokemon(words[2])
                self.sleep[pokemon] = pokemon.status_counter
                self.was_preparing = pokemon.preparing
                self._note_pressure()
                self.stopped.discard(pokemon)
            case "switch" | "drag":
                self._require_different(words[2])
                leaving = self._at(words[2])
                self.left = leaving[0] if leaving else None
                self.leaving = dict(leaving[0].boosts) if leaving else None
                self.passed.difference_update(leaving)
            case "-transform":
                self.copies.add(self.pokemon(words[2]))
            case "-formechange":
                pokemon = self.pokemon(words[2])
                self.formes.setdefault(pokemon, self.species_of(pokemon))
            case "cant":
                self.stopped.add(self.pokemon(words[2]))
            case "-damage" if words[-1] == "[from] confusion":
                self.stopped.add(self.pokemon(words[2]))
            case "replace":
                self.impostors.update(self._at(words[2]))

    def _note_after(self, words: list[str]) -> None:
        match words[1]:
            case "-weather" if "[upkeep]" not in words:
                self.weather_since = self.battle.turn
            case "upkeep" | "turn":
                self.is_late = words[1] == "upkeep"
            case "switch" | "drag":
                pokemon = self.pokemon(words[2])
                self.stopped.discard(pokemon)
                if self.is_late:
                    self.latecomers.add(pokemon)
                if words[-1] in ("[from] Baton Pass", "[from] Shed Tail"):
                    self.passed.add(pokemon)
            case "replace":
                self.impostors.update(self._at(words[2]))

    def _note_failure(self, words: list[str]) -> None:
        match words:
            case ["", ""]:
                self.chooser = ""
            case ["", "move", who, move, *more]:
                place = who[:3]
                causes = [
                    word.removeprefix("[from] ") for word in more if word.startswith("[from]")
                ]
                cause = causes[0].removeprefix("move: ") if causes else move
                is_chosen = cause in (move, "lockedmove") or "Pledge" in cause
                if is_chosen or (place != self.chooser and cause.startswith("item: ")):
                    self.chooser = place
                elif place != self.chooser:
                    self.chooser = ""
            case ["", "-end", who, "move: Bide" | "Bide"]:
                self.chooser = who[:3]
            case ["", "-activate", _, "ability: Synchronize", *_]:
                self.chooser = ""
            case ["", "swap", who, to, *_] if "ab".index(who[2]) != int(to):
                there = f"{who[:2]}{'ab'[int(to)]}"
                turns = self.failures.pop(who[:3], -1), self.failures.pop(there, -1)
                self.failures[there], self.failures[who[:3]] = turns
                others = {who[:3]: there, there: who[:3]}
                self.chooser = others.get(self.chooser, self.chooser)
            case ["", "-fail", _, *more] if self.chooser and more[:1] != ["unboost"]:
                self.failures[self.chooser] = self.battle.turn

    def _require_different(self, ident: str) -> None:
        """Ends what poke-env cannot follow: it takes two that look the same for one."""
        name = ident.partition(": ")[2]
        for place in "ab"[: self.slots]:
            for other in self._at(f"{ident[:2]}{place}: "):
                if place != ident[2] and other.name == name and not other.fainted:
                    raise PokeEnvFailed(f"two look like {name}")

    def _note_pressure(self) -> None:
        roles = (self.battle.player_role, self.battle.opponent_role)
        for role, places in zip(roles, (self.own_actives, self.opponent_actives), strict=True):
            if any(each is not None and each.ability == "pressure" for each in places):
                self.pressing.add(role)

    def pokemon(self, ident: str) -> Pokemon:
        pokemon: Pokemon = self.battle.get_pokemon(ident)
        return pokemon

    def _at(self, ident: str) -> list[Pokemon]:
        """Who stands in a place, or lies there, as far as poke-env knows."""
        own = ident.startswith(self.battle.player_role)
        prefix = "" if own else "opponent_"
        if self.slots == 2:
            place = getattr(self.battle, f"_{prefix}active_pokemon").get(ident[:3])
        else:
            place = getattr(self.battle, f"{prefix}active_pokemon")
        return [] if place is None else [place]

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
        if battle.teampreview:
            return [None] * (2 * self.slots)
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
