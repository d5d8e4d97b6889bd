"""Where poke-env and our observations differ, and why that is right.

Each exception says in a sentence what poke-env does, and when it applies: to which numbers, and in
which state of the battle. Differences under none of them fail the comparison. Errors of poke-env
that can be put right when they happen are in mends.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from poke_env.battle import Effect, Move, Pokemon
from poke_env.battle.pokemon_type import PokemonType
from poke_env.battle.status import Status

from tests.maple.observation.comparison import Difference
from tests.maple.observation.layout import NONE, UNKNOWN, read_spec
from tests.maple.observation.poke_env_side import PokeEnvSide

__all__ = ["EXCEPTIONS", "Exemption", "find_excuse"]


@dataclass(frozen=True)
class Exemption:
    """A kind of difference that is let pass."""

    reason: str
    applies: Callable[[Difference], bool]


def find_excuse(difference: Difference) -> str | None:
    """The reason of the first exception that a difference falls under."""
    return next((each.reason for each in EXCEPTIONS if each.applies(difference)), None)


def _subject(difference: Difference) -> Pokemon | None:
    """The Pokémon that a number is about, if it is about one."""
    side, entry = difference.side, difference.entry
    group = difference.block.partition(".")[0]
    if group in ("own_moves", "opponent_moves"):
        entry //= 4
    if group.startswith("own"):
        return side.team[entry] if entry < len(side.team) else None
    if group.startswith("opponent"):
        return side.opponent_team[entry] if entry < len(side.opponent_team) else None
    return side.actives[entry] if group in ("actives", "last_moves") else None


def _is_on_field(difference: Difference) -> bool:
    pokemon = _subject(difference)
    return any(pokemon is each for each in difference.side.actives)


def _name(table: str, number: int) -> str:
    return read_spec().names[table][number]


def _is_inferred_ability(difference: Difference) -> bool:
    if difference.field != "ability" or difference.ours != UNKNOWN:
        return False
    pokemon = _subject(difference)
    if pokemon is None:
        return False
    possible = pokemon.possible_abilities
    sure = {pokemon.forme_change_ability, possible[0] if len(possible) == 1 else None}
    return _name("abilities", difference.theirs) in sure


def _has_status(difference: Difference, status: Status) -> bool:
    pokemon = _subject(difference)
    return pokemon is not None and pokemon.status is status


def _of_transformed(difference: Difference) -> bool:
    """Whether a number is about the moves of one of ours that has turned into another."""
    side = difference.side
    match difference.block:
        case "own_moves.which" | "own_moves.state":
            pokemon = side.team[difference.entry // 4]
        case "decision.moves":
            active = side.own_actives[difference.entry // 4]
            return active is not None and active.transformed
        case "decision.mask":
            active = side.own_actives[difference.entry]
            is_move = int(difference.field) >= (6 if side.slots == 1 else 7)
            return active is not None and active.transformed and is_move
        case "damage.own":
            pokemon = side.team[difference.entry // side.slots // 4]
        case _:
            return False
    return pokemon.transformed


def _has_lost_type(pokemon: Pokemon | None) -> bool:
    return pokemon is not None and (
        Effect.ROOST in pokemon.effects or pokemon.type_1 is PokemonType.THREE_QUESTION_MARKS
    )


def _is_stellar(difference: Difference) -> bool:
    """Whether a number follows from the types of one that has terastallized into Stellar."""
    side = difference.side
    match difference.block:
        case "actives.state":
            who = [_subject(difference)] if difference.field.startswith("type") else []
        case "damage.own":
            own = side.team[difference.entry // side.slots // 4]
            who = [own, side.opponent_actives[difference.entry % side.slots]]
        case "damage.opponent":
            who = [side.opponent_actives[difference.entry // 24], side.team[difference.entry % 6]]
        case _:
            who = []
    return any(
        pokemon.is_terastallized and pokemon.tera_type is PokemonType.STELLAR
        for pokemon in who
        if pokemon is not None
    )


def _is_of_impostor(difference: Difference) -> bool:
    """Whether a number is about one that stood in the shape of another, or had its shape taken."""
    side = difference.side
    pokemon = _subject(difference)
    if difference.block == "damage.opponent":
        pokemon = side.opponent_actives[difference.entry // (4 * 6)]
    if difference.block == "damage.own":
        pokemon = side.opponent_actives[difference.entry % side.slots]
    if difference.block.startswith("own"):
        return difference.field in ("revealed", "pp", "status_turns") and _is_disguised(side)
    return pokemon in side.impostors


def _is_disguised(side: PokeEnvSide) -> bool:
    """Whether one of ours could stand in the shape of another."""
    return any(pokemon.base_ability == "illusion" for pokemon in side.team)


def _is_pressed(difference: Difference) -> bool:
    """Whether the PP of a move may have been taken by Pressure."""
    battle = difference.side.battle
    is_own = difference.block.startswith("own")
    foes = battle.opponent_role if is_own else battle.player_role
    return difference.field == "pp" and foes in difference.side.pressing


def _asked(difference: Difference) -> dict[str, Any]:
    """What the request says of the Pokémon whose action differs."""
    pokemon = difference.side.own_actives[difference.entry]
    return (pokemon and difference.side.asked_of(pokemon)) or {}


def _is_z_move(difference: Difference) -> bool:
    """Whether an action is a Z-Move that the request offers, or one that it does not offer."""
    if difference.block != "decision.mask":
        return False
    first, each = (14, 1) if difference.side.slots == 1 else (47, 5)
    index = (int(difference.field) - first) // each
    offers = _asked(difference).get("canZMove") or [None] * 4
    if not 0 <= index < len(offers):
        return False
    # In doubles a Z-Move has targets of its own.
    return difference.ours == bool(offers[index]) or difference.side.slots == 2


EXCEPTIONS: Final = (
    Exemption(
        "poke-env lists the moves of one that has turned into another in the order it saw them",
        _of_transformed,
    ),
    Exemption(
        "poke-env lacks the first Pokémon in the mask of a preview: requests call it active",
        lambda each: (
            each.block == "decision.mask"
            and each.side.battle.teampreview
            and (each.field, each.ours, each.theirs) == ("0", 1, 0)
        ),
    ),
    Exemption(
        "poke-env takes every move of the type of a Z-Crystal for a Z-Move, and aims it as before",
        _is_z_move,
    ),
    Exemption(
        "poke-env aims moves that a Pokémon is locked into, for which requests have no target",
        lambda each: (
            each.block == "decision.mask"
            and each.side.slots == 2
            and len(_asked(each).get("moves", ())) == 1
            and "target" not in _asked(each)["moves"][0]
        ),
    ),
    Exemption(
        "poke-env passes no effects on with Baton Pass",
        lambda each: (
            each.block == "actives.volatiles"
            and (each.ours, each.theirs) == (1, 0)
            and _subject(each) in each.side.passed
        ),
    ),
    Exemption(
        "poke-env never ends what keeps a Pokémon from leaving",
        lambda each: each.field == "trapped" and (each.ours, each.theirs) == (0, 1),
    ),
    Exemption(
        "poke-env has Future Sight and Doom Desire on who used them, we where they will strike",
        lambda each: each.field in ("futuresight", "doomdesire"),
    ),
    Exemption(
        "poke-env has a Pokémon healed by its Regenerator as it leaves, we when it is seen again",
        lambda each: (
            each.block == "opponent_team.condition"
            and each.field == "hp"
            and abs(min(255, each.ours + 85) - each.theirs) <= 2
            and not _is_on_field(each)
        ),
    ),
    Exemption(
        "poke-env takes Pressure as known that was not shown, and as one foe's, whom a line names",
        _is_pressed,
    ),
    Exemption(
        "poke-env counts every turn of a move that goes on, as generation 2 does not say so",
        lambda each: each.field == "pp" and each.ours > each.theirs and each.side.generation == 2,
    ),
    Exemption(
        "poke-env ends Flash Fire with a move that it strengthens",
        lambda each: each.field == "flashfire" and (each.ours, each.theirs) == (1, 0),
    ),
    Exemption(
        "poke-env does not keep what Mimic has copied as requests do",
        lambda each: (
            each.block.startswith("own_moves")
            and (pokemon := _subject(each)) is not None
            and "mimic" in pokemon.base_moves
        ),
    ),
    Exemption(
        "poke-env does not keep that a Pokémon has used Defense Curl",
        lambda each: each.field == "defensecurl" and (each.ours, each.theirs) == (1, 0),
    ),
    Exemption(
        "poke-env ends a row of protections with one that fails as the last to move, or is broken",
        lambda each: (
            each.field == "protects"
            and each.theirs == 0
            and (each.side.slots == 2 or each.side.generation < 6)
        ),
    ),
    Exemption(
        "poke-env does not count Max Guard among protections",
        lambda each: each.field == "protects" and each.theirs == 0 and each.side.generation == 8,
    ),
    Exemption(
        "poke-env gives who turns into another its ability as far as it knows that, and for good",
        lambda each: (
            each.field == "ability" and each.ours == UNKNOWN and _subject(each) in each.side.copies
        ),
    ),
    Exemption(
        "poke-env takes the only ability that a species, or a forme, has for shown",
        _is_inferred_ability,
    ),
    Exemption(
        "poke-env takes the ability of a mega evolution back when it faints",
        lambda each: (
            each.block in ("own_team.who", "opponent_team.who")
            and each.field == "ability"
            and (pokemon := _subject(each)) is not None
            and pokemon.fainted
        ),
    ),
    Exemption(
        "poke-env puts what a Pokémon did in the shape of another down to the other for good",
        _is_of_impostor,
    ),
    Exemption(
        "poke-env takes any move as neutral to who has lost a type, and has Roost take none",
        lambda each: (
            each.block in ("damage.own", "damage.opponent", "actives.state")
            and any(map(_has_lost_type, each.side.actives))
        ),
    ),
    Exemption(
        "poke-env has the type Stellar in place of those that a Pokémon keeps when it takes it",
        _is_stellar,
    ),
    Exemption(
        "poke-env counts bad poison anew when a Pokémon leaves the field, we when it comes back",
        lambda each: (
            each.field == "status_turns"
            and _has_status(each, Status.TOX)
            and not _is_on_field(each)
        ),
    ),
    Exemption(
        "poke-env counts bad poison when the next turn begins, we when this one ends",
        lambda each: (
            each.field == "status_turns"
            and each.side.is_late
            and each.ours == each.theirs + 1
            and _has_status(each, Status.TOX)
        ),
    ),
    Exemption(
        "poke-env does not keep that a Pokémon could not move when it last tried",
        lambda each: (
            each.block == "last_moves.which"
            and each.ours == NONE
            and _subject(each) in each.side.stopped
        ),
    ),
    Exemption(
        "poke-env forgets Mimic and Transform, the last moves of a Pokémon, for what they copy",
        lambda each: (
            each.block == "last_moves.which"
            and each.theirs == UNKNOWN
            and _name("moves", each.ours) in ("mimic", "transform")
        ),
    ),
    Exemption(
        "poke-env has one of ours in the shape of another on the field from the next request on",
        lambda each: (
            each.field == "turns"
            and each.ours == each.theirs + 1
            and each.entry < each.side.slots
            and (pokemon := _subject(each)) is not None
            and pokemon.base_ability == "illusion"
        ),
    ),
    Exemption(
        "poke-env loses one of ours that leaves in its own shape for another's in doubles",
        lambda each: (
            each.side.slots == 2
            and _is_disguised(each.side)
            and (
                (each.block == "own_team.condition" and each.field == "slot")
                or (each.block.startswith("actives") and _subject(each) is None)
            )
        ),
    ),
    Exemption(
        "poke-env reads the level of a Pokémon only once in doubles; an Illusion may show another",
        lambda each: each.field == "level" and each.side.slots == 2,
    ),
    Exemption(
        "poke-env does not keep Max Moves, Z-Moves and Struggle among the moves of a Pokémon",
        lambda each: (
            each.block == "last_moves.which"
            and each.theirs == UNKNOWN
            and not Move.should_be_stored(_name("moves", each.ours), each.side.generation)
        ),
    ),
    Exemption(
        "poke-env knows no health of a Pokémon that it has only seen in a preview; we have it full",
        lambda each: (
            each.block == "opponent_team.condition"
            and each.field == "hp"
            and (each.ours, each.theirs) == (255, 0)
            and (pokemon := _subject(each)) is not None
            and not pokemon.revealed
        ),
    ),
)
