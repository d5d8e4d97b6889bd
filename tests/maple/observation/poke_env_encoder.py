"""A second encoder, on poke-env's model of a battle: it shares no code with node/observation.

It computes every field of an observation from poke-env's objects; spec.json is only read for the
numbers of names and the order of fields. Where poke-env is known to be wrong, or does not keep
what a field says, it writes what poke-env has, and exceptions.py says why that may differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from poke_env.battle import Effect, Field, Move, Pokemon, SideCondition
from poke_env.battle.move_category import MoveCategory
from poke_env.battle.pokemon_gender import PokemonGender
from poke_env.battle.pokemon_type import PokemonType
from poke_env.environment import DoublesEnv, SinglesEnv

from tests.maple.observation.layout import NONE, UNKNOWN, Blocks, read_spec
from tests.maple.observation.poke_env_side import PokeEnvSide

__all__ = ["encode"]

TEAM: Final = 6
MOVES: Final = 4
STATS: Final = ("atk", "def", "spa", "spd", "spe")
BOOSTS: Final = (*STATS, "accuracy", "evasion")
_GENDERS: Final = {
    None: "unknown",
    PokemonGender.NEUTRAL: "none",
    PokemonGender.MALE: "M",
    PokemonGender.FEMALE: "F",
}
_HAZARDS: Final = {
    "spikes": SideCondition.SPIKES,
    "toxicspikes": SideCondition.TOXIC_SPIKES,
    "stealthrock": SideCondition.STEALTH_ROCK,
    "stickyweb": SideCondition.STICKY_WEB,
    "gmaxsteelsurge": SideCondition.G_MAX_STEELSURGE,
}
_SCREENS: Final = {
    "reflect": SideCondition.REFLECT,
    "lightscreen": SideCondition.LIGHT_SCREEN,
    "auroraveil": SideCondition.AURORA_VEIL,
    "safeguard": SideCondition.SAFEGUARD,
    "mist": SideCondition.MIST,
    "tailwind": SideCondition.TAILWIND,
    "luckychant": SideCondition.LUCKY_CHANT,
    "firepledge": SideCondition.FIRE_PLEDGE,
    "grasspledge": SideCondition.GRASS_PLEDGE,
    "waterpledge": SideCondition.WATER_PLEDGE,
    "gmaxcannonade": SideCondition.G_MAX_CANNONADE,
    "gmaxvinelash": SideCondition.G_MAX_VINE_LASH,
    "gmaxvolcalith": SideCondition.G_MAX_VOLCALITH,
    "gmaxwildfire": SideCondition.G_MAX_WILDFIRE,
}
_FIELDS: Final = {
    "trickroom": Field.TRICK_ROOM,
    "gravity": Field.GRAVITY,
    "magicroom": Field.MAGIC_ROOM,
    "wonderroom": Field.WONDER_ROOM,
    "mudsport": Field.MUD_SPORT,
    "watersport": Field.WATER_SPORT,
    "fairylock": Field.FAIRY_LOCK,
}
# Volatiles for which poke-env has several names, or other ones.
_EFFECTS: Final[dict[str, frozenset[str]]] = {
    "followme": frozenset({"FOLLOWME", "RAGEPOWDER", "SPOTLIGHT"}),
    "focusenergy": frozenset({"FOCUSENERGY", "DRAGONCHEER"}),
    "lockon": frozenset({"LOCKON", "MINDREADER"}),
    "partiallytrapped": frozenset(
        {"PARTIALLYTRAPPED", "BIND", "CLAMP", "FIRESPIN", "GMAXCENTIFERNO", "GMAXSANDBLAST"}
        | {"INFESTATION", "MAGMASTORM", "SANDTOMB", "SNAPTRAP", "THUNDERCAGE", "WHIRLPOOL", "WRAP"}
    ),
    "powdered": frozenset({"POWDER"}),
    "protect": frozenset(
        {"PROTECT", "BANEFULBUNKER", "BURNINGBULWARK", "KINGSSHIELD", "MAXGUARD", "OBSTRUCT"}
        | {"SILKTRAP", "SPIKYSHIELD"}
    ),
    "protosynthesis": frozenset({"PROTOSYNTHESIS", *(f"PROTOSYNTHESIS{s.upper()}" for s in STATS)}),
    "quarkdrive": frozenset({"QUARKDRIVE", *(f"QUARKDRIVE{s.upper()}" for s in STATS)}),
    "stockpile": frozenset({"STOCKPILE", "STOCKPILE1", "STOCKPILE2", "STOCKPILE3"}),
    "supremeoverlord": frozenset(f"FALLEN{count}" for count in range(1, 6)),
}


def encode(side: PokeEnvSide, other: PokeEnvSide) -> Blocks:
    """All that our observation says, by poke-env; `other` knows what the opponent has seen."""
    encoder = _Encoder(side, other)
    encoder.write_all()
    return encoder.blocks


class _Encoder:
    def __init__(self, side: PokeEnvSide, other: PokeEnvSide) -> None:
        self.side = side
        self.other = other
        self.battle = side.battle
        self.slots = side.slots
        self.spec = read_spec()
        self.layout = self.spec.blocks[side.game]
        self.blocks: Blocks = {
            name: np.zeros((block.count, len(block.fields)), np.int64)
            for name, block in self.layout.items()
        }

    def write_all(self) -> None:
        self._write_own_team()
        self._write_own_moves()
        self._write_opponent_team()
        self._write_opponent_moves()
        for place, pokemon in enumerate(self.side.actives):
            self._write_active(place, pokemon)
        self._write_decision()
        self._write_failures()
        self._write_mask()
        self._write_side(
            0, self.battle.player_role, self.side.team, "_", self.battle.side_conditions
        )
        self._write_side(
            1,
            self.battle.opponent_role,
            self.side.opponent_team,
            "_opponent_",
            self.battle.opponent_side_conditions,
        )
        self._write_field()
        self._write_damage()

    def _put(self, block: str, entry: int, values: dict[str, int]) -> None:
        fields = self.layout[block].fields
        for name, value in values.items():
            self.blocks[block][entry, fields.index(name)] = value

    def _number(self, table: str, name: str | None) -> int:
        """The number of a name; nothing, or an empty name, for none."""
        return self.spec.numbers[table][name] if name else NONE

    def _class(self, classes: str, name: str) -> int:
        return self.spec.class_of(classes, name)

    def _type(self, type_: PokemonType | None) -> int:
        if type_ is None:
            return NONE
        if type_ is PokemonType.THREE_QUESTION_MARKS:
            return self._class("types", "???")
        return self._class("types", type_.name.capitalize())

    # Teams

    def _write_own_team(self) -> None:
        for entry in range(TEAM):
            if entry >= len(self.side.team):
                self._put("own_team.who", entry, {"species": NONE, "ability": NONE, "item": NONE})
                continue
            pokemon = self.side.team[entry]
            who = {
                "species": self._number("species", pokemon.species),
                "ability": self._number("abilities", _ability(self._own_ability(pokemon))),
                "item": self._number("items", pokemon.item),
            }
            self._put("own_team.who", entry, who)
            stats = {stat: pokemon.stats[stat] or 0 for stat in STATS}
            self._put("own_team.stats", entry, {"max_hp": pokemon.stats["hp"] or 0, **stats})
            tera_type = (pokemon._last_request or {}).get("teraType")
            tera = {"tera_type": self._class("types", tera_type or "none")}
            self._put("own_team.condition", entry, self._condition(pokemon) | tera)

    def _write_opponent_team(self) -> None:
        team = self.side.opponent_team
        size = self._size(self.battle.opponent_role, team)
        for entry in range(TEAM):
            if entry >= len(team):
                absent = NONE if size and entry >= size else UNKNOWN
                who = {"species": absent, "ability": absent, "item": absent}
                self._put("opponent_team.who", entry, who)
                continue
            pokemon = team[entry]
            who = {
                "species": self._number("species", self._shown_species(pokemon)),
                "ability": self._revealed_ability(pokemon.base_ability),
                "item": self._revealed_item(pokemon),
            }
            self._put("opponent_team.who", entry, who)
            unknown = "unknown" if self.side.generation == 9 else "none"
            tera = pokemon.tera_type
            shown = {"tera_type": self._type(tera) if tera else self._class("types", unknown)}
            self._put("opponent_team.condition", entry, self._condition(pokemon) | shown)

    def _size(self, role: str, team: list[Pokemon]) -> int:
        """How many Pokémon a side brings, or shows in a preview."""
        size: int = self.battle._team_size.get(role, len(team))
        return size

    def _own_ability(self, pokemon: Pokemon) -> str | None:
        """The ability that requests name: before generation 7, only the one that it came with."""
        return pokemon.ability if self.side.generation > 6 else pokemon.base_ability

    def _shown_species(self, pokemon: Pokemon) -> str:
        """Its forme, but for what it has only turned into for a while."""
        if pokemon._temporary_base_stats is not None:
            return str(pokemon.species)
        return self.side.species_of(pokemon)

    def _revealed_ability(self, ability: str | None) -> int:
        if self.side.generation < 3:
            return NONE
        return UNKNOWN if ability is None else self._number("abilities", _ability(ability))

    def _revealed_item(self, pokemon: Pokemon) -> int:
        if self.side.generation < 2:
            return NONE
        item = pokemon.item
        return UNKNOWN if item == "unknown_item" else self._number("items", item)

    def _condition(self, pokemon: Pokemon) -> dict[str, int]:
        status = pokemon.status.name.lower() if pokemon.status else "none"
        places = self.side.own_actives, self.side.opponent_actives
        slot = [0, *(n for side in places for n, each in enumerate(side, 1) if each is pokemon)][-1]
        return {
            "hp": _health(pokemon),
            "status": self._class("statuses", status),
            # Bad poison does not get worse after 15 turns.
            "status_turns": min(15, pokemon.status_counter) if status in ("slp", "tox") else 0,
            "level": pokemon.level,
            "gender": self._class("genders", _GENDERS[pokemon.gender]),
            "slot": slot,
            "terastallized": int(pokemon.is_terastallized),
            "revealed": int(pokemon.revealed),
        }

    # Moves

    def _write_own_moves(self) -> None:
        for entry in range(TEAM):
            moves = _moves_of(self.side.team[entry]) if entry < len(self.side.team) else []
            for index in range(MOVES):
                at = MOVES * entry + index
                if index >= len(moves):
                    self._put("own_moves.which", at, {"move": NONE})
                    continue
                self._put("own_moves.which", at, {"move": self._number("moves", moves[index].id)})
                self._put(
                    "own_moves.state", at, self._own_move(self.side.team[entry], moves[index])
                )

    def _own_move(self, pokemon: Pokemon, move: Move) -> dict[str, int]:
        asked = self.side.asked_of(pokemon)
        listed = [each["id"] for each in asked["moves"]] if asked else []
        is_listed = any(each == _request_id(move) for each in listed) and len(listed) > 1
        seen = self._as_seen(pokemon)
        return {
            "pp": _portion(move.current_pp, move.max_pp),
            "disabled": int(is_listed and self._is_disabled(pokemon, move)),
            "revealed": int(
                seen is not None and _request_id(move) in map(_request_id, _base_moves(seen))
            ),
        }

    def _as_seen(self, pokemon: Pokemon) -> Pokemon | None:
        """One of our Pokémon as the other side knows it."""
        seen: dict[str, Pokemon] = self.other.battle._opponent_team
        return seen.get(f"{self.battle.player_role}: {pokemon.name}")

    def _is_disabled(self, pokemon: Pokemon, move: Move) -> bool:
        """Whether it is not among those that may be chosen; who has fainted is only listed."""
        moves: Any = self.battle.available_moves
        places = zip(self.side.own_actives, moves if self.slots == 2 else [moves], strict=True)
        available = [rest for active, rest in places if active is pokemon]
        if available:
            return all(move.id != each.id for each in available[0])
        listed = (self.side.asked_of(pokemon) or {}).get("moves", ())
        return any(each["id"] == _request_id(move) and each["disabled"] for each in listed)

    def _write_opponent_moves(self) -> None:
        team = self.side.opponent_team
        size = self._size(self.battle.opponent_role, team)
        for entry in range(TEAM):
            moves = _base_moves(team[entry])[:MOVES] if entry < len(team) else []
            for index, move in enumerate(moves):
                at = MOVES * entry + index
                self._put("opponent_moves.which", at, {"move": self._number("moves", move.id)})
                self._put(
                    "opponent_moves.state", at, {"pp": _portion(move.current_pp, move.max_pp)}
                )
            if entry >= len(team) and size and entry >= size:
                for at in range(MOVES * entry, MOVES * entry + MOVES):
                    self._put("opponent_moves.which", at, {"move": NONE})

    # The field

    def _write_active(self, place: int, pokemon: Pokemon | None) -> None:
        if pokemon is None:
            self._put("actives.who", place, {"species": NONE})
            self._put("actives.state", place, dict.fromkeys(BOOSTS, 6))
            return
        who = {
            "species": self._number("species", self.side.species_of(pokemon)),
            "ability": self._revealed_ability(pokemon.ability),
        }
        self._put("actives.who", place, who)
        stockpiles = [n for n in (1, 2, 3) if Effect[f"STOCKPILE{n}"] in pokemon.effects]
        state = {
            "type_1": self._type(pokemon.type_1),
            "type_2": self._type(pokemon.type_2),
            "type_3": NONE,
            "turns": max(0, pokemon._active_turns - 1),
            "protects": pokemon.protect_counter,
            "stockpiles": max(stockpiles, default=0),
        }
        boosts = {stat: pokemon.boosts[stat] + 6 for stat in BOOSTS}
        self._put("actives.state", place, boosts | state)
        self._put("actives.volatiles", place, self._volatiles(pokemon))
        last = pokemon.last_move
        move = self._number("moves", _request_id(last)) if last else UNKNOWN
        self._put("last_moves.which", place, {"move": move})

    def _volatiles(self, pokemon: Pokemon) -> dict[str, int]:
        effects = {effect.name.replace("_", "") for effect in pokemon.effects}
        volatiles = {
            name: int(bool(_EFFECTS.get(name, {name.upper()}) & effects))
            for name in self.layout["actives.volatiles"].fields
        }
        return volatiles | {
            "mustrecharge": int(pokemon.must_recharge),
            "preparing": int(pokemon.preparing),
            "transform": int(pokemon.transformed),
        }

    def _write_side(
        self,
        entry: int,
        role: str,
        team: list[Pokemon],
        prefix: str,
        conditions: dict[SideCondition, int],
    ) -> None:
        turn = self.battle.turn
        layers = {
            name: conditions.get(hazard, 0) if "spikes" in name else int(hazard in conditions)
            for name, hazard in _HAZARDS.items()
        }
        screens = {
            name: max(1, turn - conditions[screen]) if screen in conditions else 0
            for name, screen in _SCREENS.items()
        }
        self._put("sides.conditions", entry, layers | screens)
        size = self._size(role, team)
        used = {
            "used_mega": "used_mega_evolve",
            "used_z": "used_z_move",
            "used_dynamax": "used_dynamax",
            "used_tera": "used_tera",
        }
        state = {field: int(getattr(self.battle, prefix + name)) for field, name in used.items()}
        left = size - sum(pokemon.fainted for pokemon in team)
        self._put("sides.state", entry, {"team_size": size, "left": left, **state})

    def _write_field(self) -> None:
        turn = self.battle.turn
        fields: dict[Field, int] = self.battle.fields
        weather = next((each.name.lower() for each in self.battle.weather), None)
        terrain = next((each for each in fields if each.is_terrain), None)
        self._put(
            "field.state",
            0,
            {
                "weather": self._class("weathers", weather or "none"),
                "weather_turns": max(1, turn - self.side.weather_since) if weather else 0,
                "terrain": self._class(
                    "terrains", terrain.name.lower().replace("_", "") if terrain else "none"
                ),
                "terrain_turns": max(1, turn - fields[terrain]) if terrain else 0,
            }
            | {
                name: max(1, turn - fields[each]) if each in fields else 0
                for name, each in _FIELDS.items()
            },
        )

    # Decisions

    def _write_failures(self) -> None:
        """By place, of the last turn; poke-env knows nothing of them."""
        fields = self.layout["decision.asked"].fields
        phase = self.blocks["decision.asked"][0, fields.index("phase")]
        turn = self.battle.turn - (phase == self._class("phases", "move"))
        roles = self.battle.player_role, self.battle.opponent_role
        places = [f"{role}{place}" for role in roles for place in "ab"[: self.slots]]
        for entry, place in enumerate(places):
            failed = self.side.failures.get(place) == turn
            self._put("last_moves.state", entry, {"failed": int(failed)})

    def _write_decision(self) -> None:
        battle = self.battle
        request = self.side.request
        forced = battle.force_switch if self.slots == 2 else [battle.force_switch]
        phase = "preview" if battle.teampreview else "switch" if any(forced) else "move"
        picks = min(request.get("maxChosenTeamSize") or TEAM, len(self.side.team))
        self._put(
            "decision.asked",
            0,
            {
                "phase": self._class("phases", "wait" if battle._wait else phase),
                "turn": min(255, battle.turn),
                "picks": picks if battle.teampreview else 0,
                "reviving": int(battle.reviving),
            },
        )
        for slot in range(self.slots):
            self._put("decision.slots", slot, self._slot(slot))
        order = [battle.team[entry["ident"]] for entry in request["side"]["pokemon"]]
        for entry, pokemon in enumerate(self.side.team):
            position = next((n for n, each in enumerate(order, 1) if each is pokemon), 0)
            self._put("decision.switches", entry, {"position": position})
        for slot, active in enumerate(self.side.own_actives):
            for index, position in self._positions(active):
                self._put("decision.moves", MOVES * slot + index, {"position": position})

    def _slot(self, slot: int) -> dict[str, int]:
        battle = self.battle
        names = {
            "forced": "force_switch",
            "trapped": "trapped",
            "maybe_trapped": "maybe_trapped",
            "can_mega": "can_mega_evolve",
            "can_z": "can_z_move",
            "can_dynamax": "can_dynamax",
            "can_tera": "can_tera",
        }
        values = {field: getattr(battle, name) for field, name in names.items()}
        state = {
            field: int(bool(value[slot] if self.slots == 2 else value))
            for field, value in values.items()
        }
        pokemon = self.side.own_actives[slot]
        asked = (pokemon and self.side.asked_of(pokemon)) or {}
        return state | {
            "maybe_locked": int(bool(asked.get("maybeLocked") or asked.get("maybeDisabled")))
        }

    def _positions(self, pokemon: Pokemon | None) -> Iterator[tuple[int, int]]:
        """Which of a Pokémon's moves stands where in the request."""
        asked = self.side.asked_of(pokemon) if pokemon else None
        if pokemon is None or asked is None or Effect.COMMANDER in pokemon.effects:
            return
        known = [_request_id(move) for move in _moves_of(pokemon)]
        listed = [each["id"] for each in asked["moves"]]
        for position, name in enumerate(listed, 1):
            if name in known:
                yield known.index(name), position
            elif len(listed) == 1:
                yield 0, position

    def _write_mask(self) -> None:
        env = DoublesEnv if self.slots == 2 else SinglesEnv
        mask = np.array(env.get_action_mask(self.battle), np.uint8).reshape(self.slots, -1)
        whole = np.zeros((self.slots, self.spec.actions[self.side.game]), np.uint8)
        whole[:, : mask.shape[1]] = mask
        packed = np.packbits(whole, axis=1, bitorder="little")
        self.blocks["decision.mask"][:, 0] = packed.reshape(-1)

    # Damage

    def _write_damage(self) -> None:
        for target, foe in enumerate(self.side.opponent_actives):
            if foe is None:
                continue
            for entry, pokemon in enumerate(self.side.team):
                for index, move in enumerate(_moves_of(pokemon)):
                    at = (MOVES * entry + index) * self.slots + target
                    self._put("damage.own", at, {"estimate": _estimate(pokemon, move, foe)})
            for index, move in enumerate(_base_moves(foe)[:MOVES]):
                for entry, pokemon in enumerate(self.side.team):
                    at = (MOVES * target + index) * TEAM + entry
                    estimate = _estimate(foe, move, pokemon) if not pokemon.fainted else 0
                    self._put("damage.opponent", at, {"estimate": estimate})


def _ability(ability: str | None) -> str | None:
    return None if ability == "noability" else ability


def _health(pokemon: Pokemon) -> int:
    if pokemon.fainted or not pokemon.current_hp:
        return 0
    return max(1, _round(255 * pokemon.current_hp / pokemon.max_hp))


def _portion(part: int, whole: int) -> int:
    return _round(255 * part / whole)


def _round(value: float) -> int:
    return math.floor(value + 0.5)


def _moves_of(pokemon: Pokemon) -> list[Move]:
    return list(pokemon.moves.values())[:MOVES]


def _base_moves(pokemon: Pokemon) -> list[Move]:
    """The moves that it has by itself, in the order in which they were seen."""
    return list(pokemon._moves._base_moves.values())


def _request_id(move: Move) -> str:
    """As the active part of a request calls a move."""
    return str(Move.retrieve_id(move.id))


def _estimate(user: Pokemon, move: Move, target: Pokemon) -> int:
    """Base power, STAB and effectiveness, in fours."""
    if move.category is MoveCategory.STATUS or user.fainted:
        return 0
    born = [type_ for type_ in (user._type_1, user._type_2) if type_ is not None]
    if user.is_terastallized and move.type in born and move.type is user.tera_type:
        stab = 2.0
    elif move.type in user.types or (user.is_terastallized and move.type in born):
        stab = 1.5
    else:
        stab = 1.0
    return min(255, _round(move.base_power * stab * target.damage_multiplier(move) / 4))
