"""Where poke-env is wrong about a battle in a way that can be put right when it happens.

Each function is called after poke-env has heard a line of its kind, and says what poke-env does in
place of what the simulator does. What it leaves is compared like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from poke_env.battle import Effect, Move, Pokemon
from poke_env.battle.status import Status

if TYPE_CHECKING:
    from tests.maple.observation.poke_env_side import PokeEnvSide

__all__ = ["MENDS"]

Mend = Callable[["PokeEnvSide", list[str]], None]

# Effects of a turn, or of the time until the next move, that poke-env never ends.
_OF_A_TURN: Final = (
    "ELECTRIFY",
    "ENDURE",
    "HELPING_HAND",
    "MAT_BLOCK",
    "MAX_GUARD",
    "POWDER",
    "SILK_TRAP",
    "SNATCH",
)
_COPIES: Final = ("Doodle", "Power of Alchemy", "Receiver", "Role Play", "Trace")
_UNTIL_A_MOVE: Final = ("DESTINY_BOND", "GLAIVE_RUSH", "GRUDGE", "RAGE")


def count_sleep_anew(side: PokeEnvSide, words: list[str]) -> None:
    """A status begins: poke-env goes on counting where the last one ended."""
    side.pokemon(words[2])._status_counter = 0


def learn_item_of_status(side: PokeEnvSide, words: list[str]) -> None:
    """Who burns or poisons itself: poke-env does not learn its orb from that."""
    if words[-1].startswith("[from] item: "):
        pokemon = side.pokemon(words[2])
        pokemon.item = words[-1].removeprefix("[from] item: ")
        side.latecomers.add(pokemon)


def count_sleep_of_newcomers(side: PokeEnvSide, words: list[str]) -> None:
    """In generation 5 the time that was slept is forgotten on the bench."""
    if side.generation == 5:
        side.pokemon(words[2])._status_counter = 0


def count_sleep_once(side: PokeEnvSide, words: list[str]) -> None:
    """Who moves in its sleep: poke-env counts that turn again for every move."""
    pokemon = side.pokemon(words[2])
    if pokemon.status is Status.SLP:
        pokemon._status_counter = side.sleep.get(pokemon, 0)


def learn_ability(side: PokeEnvSide, words: list[str]) -> None:
    """An ability shows itself: poke-env learns it from few of the lines that say so."""
    tag = next((word for word in words if word.startswith("[from] ability: ")), "")
    owner = next((word[5:] for word in words if word.startswith("[of] ")), words[2])
    if len(words) > 3 and words[3].startswith("ability: "):
        tag, owner = words[3], words[2]
    if tag and owner:
        _show_ability(side, owner, tag.partition("ability: ")[2])


def learn_copied_ability(side: PokeEnvSide, words: list[str]) -> None:
    """Whose ability is copied has it: poke-env only gives it to who copies it."""
    if words[-1].startswith("[of] ") and words[-2].partition(": ")[2] in _COPIES:
        _show_ability(side, words[-1][5:], words[3])


def learn_lost_ability(side: PokeEnvSide, words: list[str]) -> None:
    """Whose ability becomes Mummy: poke-env does not learn the one that it had."""
    if words[3] == "ability: Mummy" and words[-1].startswith("[ability] "):
        side.pokemon(words[4])._ability = words[-1][10:].replace(" ", "").lower()


def learn_item(side: PokeEnvSide, words: list[str]) -> None:
    """Poltergeist names the item that its target holds, which poke-env does not learn."""
    if words[3] == "move: Poltergeist":
        side.pokemon(words[2]).item = words[4]


def learn_move(side: PokeEnvSide, words: list[str]) -> None:
    """Forewarn names a move of a foe, which poke-env does not learn."""
    if words[3] == "ability: Forewarn" and words[2].startswith(side.battle.player_role):
        foe = side.opponent_actives[0]
        owner = side.pokemon(words[-1][5:]) if words[-1].startswith("[of] ") else foe
        if owner is not None:
            owner._add_move(words[4])


def unlearn_transform(side: PokeEnvSide, words: list[str]) -> None:
    """Who turns into another by its ability: poke-env takes that for a move it has shown."""
    if words[-1] == "[from] ability: Imposter":
        side.pokemon(words[2])._moves._base_moves.pop("transform", None)


def pay_for_first_turn(side: PokeEnvSide, words: list[str]) -> None:
    """In generation 1 a move of two turns is paid for in the second: poke-env takes the first."""
    move = side.pokemon(words[2]).moves.get(Move.retrieve_id(words[3]))
    if side.generation == 1 and move is not None:
        move._current_pp += 1


def pay_for_second_turn(side: PokeEnvSide, words: list[str]) -> None:
    """See above."""
    move = side.pokemon(words[2]).moves.get(Move.retrieve_id(words[3]))
    is_second = words[-1] == f"[from] {words[3]}"
    if side.generation == 1 and move is not None and is_second and side.was_preparing:
        move.use()


def _show_ability(side: PokeEnvSide, owner: str, ability: str) -> None:
    pokemon = side.pokemon(owner)
    if pokemon.ability is None:
        pokemon.ability = ability


def learn_stone(side: PokeEnvSide, words: list[str]) -> None:
    """Who mega evolves holds a stone, which poke-env does not learn."""
    if words[4]:
        side.pokemon(words[2]).item = words[4]


def count_poison_of_residents(side: PokeEnvSide, words: list[str]) -> None:
    """Who came in, or was poisoned, at the end of the turn: poke-env counts it for its poison."""
    for pokemon in side.latecomers:
        if pokemon.status is Status.TOX:
            pokemon._status_counter = 0
    side.latecomers.clear()


def end_effects_of_the_turn(side: PokeEnvSide, words: list[str]) -> None:
    """poke-env ends some effects of a turn when the next one begins, and some not at all."""
    for pokemon in filter(None, side.actives):
        _end(pokemon, [effect.name for effect in pokemon.effects if effect.ends_on_turn])
        _end(pokemon, _OF_A_TURN)


def end_effects_with_a_move(side: PokeEnvSide, words: list[str]) -> None:
    """poke-env knows which effects end with a move, but does not end them."""
    _end(side.pokemon(words[2]), _UNTIL_A_MOVE)


def forget_what_it_was_about_to_do(side: PokeEnvSide, words: list[str]) -> None:
    """Who cannot move: poke-env has it recharge, or prepare, for ever."""
    pokemon = side.pokemon(words[2])
    pokemon.must_recharge = False
    pokemon._preparing_move = pokemon._preparing_target = None
    _end(pokemon, _UNTIL_A_MOVE)


def forget_what_was_prepared(side: PokeEnvSide, words: list[str]) -> None:
    """A move of two turns that takes one: poke-env still has it prepared."""
    pokemon = side.pokemon(words[2])
    pokemon._preparing_move = pokemon._preparing_target = None


def end_terastallization(side: PokeEnvSide, words: list[str]) -> None:
    """Who faints is not terastallized any more."""
    side.pokemon(words[2])._terastallized = False


def pass_boosts(side: PokeEnvSide, words: list[str]) -> None:
    """Who comes in by Baton Pass: poke-env gives it no boosts."""
    if words[-1] == "[from] Baton Pass" and side.leaving is not None:
        side.pokemon(words[2])._boosts = side.leaving


def count_no_failed_protection(side: PokeEnvSide, words: list[str]) -> None:
    """A protection that fails: poke-env counts it where its line does not say so."""
    side.pokemon(words[2])._protect_counter = 0


def _end(pokemon: Pokemon, effects: Iterable[str]) -> None:
    for name in effects:
        pokemon._effects.pop(Effect[name], None)


MENDS: Final[dict[str, tuple[Mend, ...]]] = {
    "-ability": (learn_copied_ability,),
    "-activate": (learn_ability, learn_lost_ability, learn_item, learn_move),
    "-curestatus": (learn_ability,),
    "-mega": (learn_stone,),
    "-start": (learn_ability,),
    "-weather": (learn_ability,),
    "-fieldstart": (learn_ability,),
    "-formechange": (learn_ability,),
    "-fail": (learn_ability, count_no_failed_protection),
    "-block": (learn_ability,),
    "-immune": (learn_ability,),
    "-unboost": (learn_ability,),
    "-boost": (learn_ability,),
    "-setboost": (learn_ability,),
    "-sethp": (learn_ability,),
    "-damage": (learn_ability,),
    "-item": (learn_ability,),
    "-status": (count_sleep_anew, learn_item_of_status, learn_ability),
    "move": (count_sleep_once, end_effects_with_a_move, pay_for_second_turn),
    "switch": (count_sleep_of_newcomers, pass_boosts),
    "drag": (count_sleep_of_newcomers,),
    "turn": (count_poison_of_residents, end_effects_of_the_turn),
    "upkeep": (end_effects_of_the_turn,),
    "cant": (forget_what_it_was_about_to_do,),
    "-prepare": (pay_for_first_turn,),
    "-transform": (unlearn_transform,),
    "-anim": (forget_what_was_prepared,),
    "faint": (end_terastallization,),
}
