"""Twins of battles: all that an opponent has not shown is another, and everybody sees the same.

A twin is played with the seeds and the choices of its battle. What was changed may matter after
all, a hidden item in the damage of a move, say: from there on the two are not compared.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from tests.maple.observation.recorded import RecordedBattle, RecordedSide, Seen

__all__ = [
    "INSIDES",
    "Hidden",
    "Member",
    "alike",
    "hidden_from",
    "of_one_gender",
    "pack",
    "unpack",
    "with_others",
]

# Held items and abilities that say nothing when their owner comes in.
ITEMS: Final = (
    "lightclay",
    "heatrock",
    "damprock",
    "choicescarf",
    "choiceband",
    "choicespecs",
    "assaultvest",
    "expertbelt",
    "focussash",
    "shedshell",
    "laggingtail",
    "kingsrock",
    "scopelens",
    "widelens",
    "mentalherb",
    "powerherb",
    "bigroot",
    "gripclaw",
    "bindingband",
    "redcard",
    "ejectbutton",
    "lumberry",
    "figyberry",
)
ABILITIES: Final = (
    "earlybird",
    "keeneye",
    "runaway",
    "illuminate",
    "pickup",
    "honeygather",
    "shadowtag",
    "arenatrap",
    "hugepower",
    "regenerator",
    "naturalcure",
    "sturdy",
    "unaware",
    "innerfocus",
)
MOVES: Final = (
    "tackle",
    "surf",
    "thunderbolt",
    "earthquake",
    "recover",
    "swordsdance",
    "toxic",
    "protect",
    "explosion",
    "batonpass",
    "stealthrock",
    "willowisp",
    "icebeam",
    "shadowball",
)
SPECIES: Final = (
    "Snorlax",
    "Starmie",
    "Gengar",
    "Skarmory",
    "Ludicolo",
    "Exeggutor",
    "Jolteon",
    "Forretress",
    "Salamence",
    "Claydol",
    "Ninjask",
    "Wailord",
)
TYPES: Final = ("Fire", "Water", "Grass", "Ghost", "Steel", "Fairy", "Dark", "Ice")
NATURES: Final = ("Adamant", "Modest", "Bold", "Calm", "Careful", "Impish")
SPREADS: Final = ("252,,,,252,", "252,,252,,,", ",252,,252,,", "4,252,,,252,", "84,84,84,84,84,84")


@dataclass(frozen=True)
class Member:
    """One Pokémon of a packed team."""

    name: str
    species: str
    item: str
    ability: str
    moves: tuple[str, ...]
    nature: str
    evs: str
    gender: str
    ivs: str
    shiny: str
    level: str
    rest: str

    @property
    def tera_type(self) -> str:
        return (self.rest.split(",") + [""] * 6)[5]

    def with_tera_type(self, type_: str) -> Member:
        rest = (self.rest.split(",") + [""] * 6)[:5]
        return replace(self, rest=",".join([*rest, type_]))


def unpack(team: str) -> list[Member]:
    members = []
    for packed in team.split("]"):
        name, species, item, ability, moves, *rest = packed.split("|")
        # Who has no name of its own is packed with its species for a name.
        who = (name, species) if species else ("", name)
        members.append(Member(*who, item, ability, tuple(moves.split(",")), *rest))
    return members


def pack(team: Iterable[Member]) -> str:
    return "]".join(map(_packed, team))


def _packed(member: Member) -> str:
    return "|".join((vars(member) | {"moves": ",".join(member.moves)}).values())


@dataclass
class Hidden:
    """What is still hidden of a Pokémon."""

    is_seen: bool = False
    """Whether it was on the field, as itself or as another."""
    used: frozenset[str] = frozenset()
    """Moves that it was seen to use, or was told to use."""
    has_item: bool = True
    has_ability: bool = True
    has_tera_type: bool = True


def hidden_from(battle: RecordedBattle, team: Sequence[Member]) -> list[Hidden]:
    """What the first side of a battle does not know of the second one's Pokémon."""
    lines = [line for frame in battle.frames() for line in frame.lines]
    return [_hidden(battle.p2, lines, place, member) for place, member in enumerate(team)]


def _hidden(side: RecordedSide, lines: Sequence[str], place: int, member: Member) -> Hidden:
    requests = [orjson.loads(seen.request) for seen in side.seen if seen.request]
    ident = requests[0]["side"]["pokemon"][place]["ident"]
    name = ident.partition(": ")[2]
    about = [line for line in lines if re.search(rf"p2[ab]?: {re.escape(name)}\b", line)]
    told = {move for seen in side.decisions for move in _told_moves(seen, ident)}
    shown = {_id(line.split("|")[3]) for line in about if line.startswith("|move|")}
    words = [_id(line) for line in about]
    return Hidden(
        is_seen=bool(about) or any(_is_active(request, ident) for request in requests),
        used=frozenset(told | shown),
        has_item=not any(_id(member.item) in word for word in words if member.item),
        has_ability=not any(_id(member.ability) in word for word in words if member.ability),
        has_tera_type=not any(line.startswith("|-terastallize|") for line in about),
    )


def _is_active(request: dict[str, object], ident: str) -> bool:
    side = request["side"]
    assert isinstance(side, dict)
    return any(each["active"] and each["ident"] == ident for each in side["pokemon"])


def _told_moves(seen: Seen, ident: str) -> Iterable[str]:
    """The moves that a choice names for a Pokémon, whether or not it came to use them."""
    request = orjson.loads(seen.request or "")
    for slot, words in enumerate((seen.choice or "").split(", ")):
        if words.startswith("move ") and request["side"]["pokemon"][slot]["ident"] == ident:
            yield request["active"][slot]["moves"][int(words.split()[1]) - 1]["id"]


def _id(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


INSIDES: Final = ("", "item", "ability", "spread")
"""What else may be changed of Pokémon that are on the field: it matters sooner or later."""


def with_others(
    team: Sequence[Member],
    hidden: Sequence[Hidden],
    chance: random.Random,
    *,
    has_preview: bool,
    inside: str = "",
) -> list[Member]:
    """The team with others for all that is hidden, and something else inside one that is seen."""
    others = chance.sample(SPECIES, len(team))
    # The last one is who an Illusion shows.
    shown = len(team) - 1 if any("illusion" in _id(each.ability) for each in team) else None
    twins = []
    for place, (member, known) in enumerate(zip(team, hidden, strict=True)):
        if known.is_seen:
            twins.append(_with_other_moves(member, known, chance))
        elif has_preview or place == shown:
            twins.append(_another(member.species, member.level, chance))
        else:
            twins.append(_another(others[place], member.level, chance))
    place = chance.choice([place for place, known in enumerate(hidden) if known.is_seen])
    twins[place] = _with_other_inside(twins[place], hidden[place], chance, inside)
    return twins


def _another(species: str, level: str, chance: random.Random) -> Member:
    return Member(
        name="",
        species=species,
        item=chance.choice(ITEMS),
        ability=chance.choice(ABILITIES),
        moves=tuple(chance.sample(MOVES, 4)),
        nature=chance.choice(NATURES),
        evs=chance.choice(SPREADS),
        gender="M",
        ivs="",
        shiny="",
        level=level,
        rest=f",,,,,{chance.choice(TYPES)}",
    )


def _with_other_moves(member: Member, known: Hidden, chance: random.Random) -> Member:
    """The same with moves that it has not used, and a Tera type that it has not taken."""
    spare = [move for move in chance.sample(MOVES, len(MOVES)) if move not in known.used]
    moves = tuple(move if _id(move) in known.used else spare.pop() for move in member.moves)
    twin = replace(member, moves=moves)
    types = [each for each in TYPES if each != member.tera_type]
    return twin.with_tera_type(chance.choice(types)) if known.has_tera_type else twin


def _with_other_inside(member: Member, known: Hidden, chance: random.Random, inside: str) -> Member:
    if inside == "item" and known.has_item:
        return replace(member, item=chance.choice([each for each in ITEMS if each != member.item]))
    if inside == "ability" and known.has_ability and _id(member.ability) != "illusion":
        others = [each for each in ABILITIES if each != _id(member.ability)]
        return replace(member, ability=chance.choice(others))
    if inside == "spread":
        return replace(member, nature=chance.choice(NATURES), evs=chance.choice(SPREADS))
    return member


def alike(first: RecordedSide, second: RecordedSide) -> list[tuple[Seen, Seen]]:
    """What a side was told in both of two battles, as long as that is the same."""
    same = []
    for one, other in zip(first.seen, second.seen, strict=False):
        if _untimed(one) != _untimed(other) or one.request != other.request:
            break
        same.append((one, other))
    return same


def _untimed(seen: Seen) -> list[str]:
    return [line for line in seen.lines if not line.startswith("|t:|")]


def of_one_gender(team: str) -> str:
    """The team with genders that are given: those that are not are drawn with the battle's seed."""
    return pack(replace(member, gender="M") for member in unpack(team))
