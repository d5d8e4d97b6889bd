"""Which battles the tests of observations play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.maple.observation.recorded import Matchup, Teams

__all__ = ["every_kind", "every_theme", "is_plain"]

GENERATIONS: Final = range(1, 10)
# Random teams of six, as a preview has them, of which a few are picked or all are brought.
PREVIEWED: Final = (
    "gen9bssfactory",
    "gen8bssfactory",
    "gen7bssfactory",
    "gen9battlefactory",
    "gen6battlefactory",
    "gen91v1factory",
    "gen9challengecup2v2",
)
# Generations whose doubles have teams made for singles.
DOUBLES: Final = range(3, 9)
# Themes that poke-env can follow, and those that it cannot.
PLAIN: Final = (
    ("gen8customgame", "dynamax"),
    ("gen8doublescustomgame", "dynamax"),
    ("gen6doublescustomgame", "megas"),
    ("gen9customgame", "tera"),
    ("gen9doublescustomgame", "tera"),
    ("gen9customgame", "revival"),
    ("gen9doublescustomgame", "revival"),
    ("gen9customgame", "passing"),
    ("gen9doublescustomgame", "pledges"),
    ("gen9doublescustomgame", "weather"),
    ("gen9doublescustomgame", "turns"),
)
HARD: Final = (
    ("gen5customgame", "carried"),
    ("gen9customgame", "illusion"),
    ("gen9doublescustomgame", "illusion"),
    ("gen9customgame", "transform"),
    ("gen4customgame", "transform"),
    ("gen1customgame", "transform"),
    ("gen7customgame", "zmoves"),
    ("gen7doublescustomgame", "zmoves"),
    ("gen7customgame", "megas"),
    ("gen7customgame", "ultra"),
    ("gen9customgame", "gas"),
    ("gen9customgame", "rooms"),
    ("gen9doublescustomgame", "rooms"),
    ("gen2customgame", "passing"),
    ("gen9customgame", "calling"),
    ("gen9customgame", "formes"),
    ("gen7customgame", "formes"),
    ("gen9doublescustomgame", "tatsugiri"),
    ("gen9doublescustomgame", "sharing"),
    ("gen9customgame", "delayed"),
    ("gen9customgame", "items"),
    ("gen9customgame", "trapping"),
    ("gen4customgame", "trapping"),
    ("gen1customgame", "trapping"),
    ("gen9customgame", "stalling"),
    ("gen3customgame", "stalling"),
    ("gen2customgame", "beams"),
)
# Legal in Nintendo's doubles and in the singles of Smogon.
_VGC: Final = (
    (
        "Incineroar",
        "safetygoggles",
        "intimidate",
        "fakeout,flareblitz,knockoff,partingshot",
        "Fire",
    ),
    ("Rillaboom", "miracleseed", "grassysurge", "fakeout,woodhammer,uturn,highhorsepower", "Grass"),
    ("Amoonguss", "sitrusberry", "regenerator", "spore,pollenpuff,ragepowder,protect", "Water"),
    ("Tornadus", "focussash", "prankster", "bleakwindstorm,tailwind,taunt,protect", "Flying"),
    ("Urshifu", "mysticwater", "unseenfist", "closecombat,suckerpunch,detect,uturn", "Dark"),
    ("Garchomp", "clearamulet", "roughskin", "earthquake,dragonclaw,rockslide,protect", "Steel"),
)
_OU: Final = (
    (
        "Great Tusk",
        "boosterenergy",
        "protosynthesis",
        "headlongrush,rapidspin,bulkup,icespinner",
        "Ice",
    ),
    (
        "Kingambit",
        "blackglasses",
        "supremeoverlord",
        "kowtowcleave,suckerpunch,ironhead,swordsdance",
        "Dark",
    ),
    ("Zamazenta", "leftovers", "dauntlessshield", "bodypress,crunch,roar,irondefense", "Fighting"),
    (
        "Samurott-Hisui",
        "assaultvest",
        "sharpness",
        "ceaselessedge,razorshell,flipturn,knockoff",
        "Poison",
    ),
    (
        "Dragapult",
        "choicespecs",
        "infiltrator",
        "shadowball,dracometeor,uturn,flamethrower",
        "Ghost",
    ),
    (
        "Slowking-Galar",
        "heavydutyboots",
        "regenerator",
        "futuresight,chillyreception,sludgebomb,toxic",
        "Water",
    ),
)


def _pack(team: Sequence[tuple[str, str, str, str, str]]) -> Teams:
    packed = "]".join(
        f"{name}||{item}|{ability}|{moves}|Serious|84,84,84,84,84,84|||||,,,,,{tera}"
        for name, item, ability, moves, tera in team
    )
    return packed, packed


GIVEN: Final = (
    ("gen9vgc2025regi", _pack(_VGC)),
    ("gen9bssregi", _pack(_OU)),
    ("gen9ou", _pack(_OU)),
)


def every_kind(each: int, first_seed: int = 0) -> list[Matchup]:
    """Some battles of every kind: all generations, doubles, previews, given teams."""
    random = [*(f"gen{number}randombattle" for number in GENERATIONS), "gen9randomdoublesbattle"]
    kinds: list[tuple[str, str | Teams | None]] = [
        *((battle_format, None) for battle_format in random),
        *((f"gen{number}doublescustomgame", f"gen{number}randombattle") for number in DOUBLES),
        *((battle_format, None) for battle_format in PREVIEWED),
        *GIVEN,
    ]
    return [
        Matchup(battle_format, seed, teams)
        for battle_format, teams in kinds
        for seed in range(first_seed, first_seed + each)
    ]


def every_theme(each: int, first_seed: int = 0, *, only_plain: bool = False) -> list[Matchup]:
    """Battles about the rarer mechanics, all of them or those that poke-env can follow."""
    return [
        Matchup(battle_format, seed, theme)
        for battle_format, theme in (PLAIN if only_plain else PLAIN + HARD)
        for seed in range(first_seed, first_seed + each)
    ]


def is_plain(matchup: Matchup) -> bool:
    """Whether poke-env can follow the battle."""
    return (matchup.format, matchup.teams) not in HARD
