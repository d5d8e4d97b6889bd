"""Where poke-env is wrong about a battle in a way that can be put right when it happens.

Each function is called after poke-env has heard a line of its kind, and says what poke-env does in
place of what the simulator does. What it leaves is compared like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from poke_env.battle import Effect, Move, Pokemon
from poke_env.battle.status import Status
from poke_env.data import to_id_str

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


def count_sleep_alone(side: PokeEnvSide, words: list[str]) -> None:
    """Who flinches in its sleep: poke-env counts that as another turn of sleep."""
    pokemon = side.pokemon(words[2])
    if pokemon.status is Status.SLP and words[3] != "slp":
        pokemon._status_counter -= 1


def count_perishing_down(side: PokeEnvSide, words: list[str]) -> None:
    """Perish Song counts down: poke-env keeps all counts."""
    if words[3].startswith("perish"):
        others = {f"PERISH{count}" for count in range(4)} - {words[3].upper()}
        _end(side.pokemon(words[2]), others)


def learn_ability(side: PokeEnvSide, words: list[str]) -> None:
    """An ability shows itself: poke-env learns it from few of the lines that say so."""
    tag = next((word for word in words if word.startswith("[from] ability: ")), "")
    owner = next((word[5:] for word in words if word.startswith("[of] ")), words[2])
    if len(words) > 3 and words[3].startswith("ability: "):
        tag, owner = words[3], owner if words[1] == "-block" else words[2]
    if tag and owner:
        _show_ability(side, owner, tag.partition("ability: ")[2])


def learn_copied_ability(side: PokeEnvSide, words: list[str]) -> None:
    """Whose ability is copied has it: poke-env only gives it to who copies it."""
    if words[-1].startswith("[of] ") and words[-2].partition(": ")[2] in _COPIES:
        _show_ability(side, words[-1][5:], words[3])


def learn_swapped_abilities(side: PokeEnvSide, words: list[str]) -> None:
    """Skill Swap names both abilities: poke-env does not learn which one its user had."""
    if words[3].endswith("Skill Swap") and len(words) == 7 and words[4]:
        for owner, had in ((words[2], words[5]), (words[6][5:], words[4])):
            pokemon = side.pokemon(owner)
            if pokemon._ability is None:
                pokemon._ability = to_id_str(had)


def learn_lost_ability(side: PokeEnvSide, words: list[str]) -> None:
    """Whose ability becomes Mummy: poke-env does not learn the one that it had."""
    if words[3] == "ability: Mummy" and words[-1].startswith("[ability] "):
        side.pokemon(words[4])._ability = to_id_str(words[-1][10:])


def learn_healing_ability(side: PokeEnvSide, words: list[str]) -> None:
    """Poison Heal and the like: poke-env learns an ability that heals only from longer lines."""
    if words[-1].startswith("[from] ability: "):
        _show_ability(side, words[2], words[-1].partition("ability: ")[2])


def restore_pp(side: PokeEnvSide, words: list[str]) -> None:
    """Lunar Dance gives back PP too; of ours, the next request says so."""
    is_opponent = not words[2].startswith(side.battle.player_role)
    if words[-1] == "[from] move: Lunar Dance" and side.generation > 4 and is_opponent:
        for move in side.pokemon(words[2]).moves.values():
            move._current_pp = move.max_pp


def learn_changed_ability(side: PokeEnvSide, words: list[str]) -> None:
    """An ability that takes the place of another: poke-env does not learn the other one."""
    if len(words) > 5 and words[4] not in ("", "boost") and not words[4].startswith("["):
        pokemon = side.pokemon(words[2])
        pokemon._ability = to_id_str(words[4])
        pokemon.temporary_ability = words[3]


def learn_item(side: PokeEnvSide, words: list[str]) -> None:
    """An item shows itself: poke-env learns it from few of the lines that say so."""
    tag = next((word for word in words if word.startswith("[from] item: ")), "")
    owner = next((word[5:] for word in words if word.startswith("[of] ")), words[2])
    if words[1] == "-activate" and words[3].startswith("item: "):
        tag, owner = words[3], words[2]
    if words[1] == "-activate" and words[3] == "move: Poltergeist":
        tag, owner = words[4], words[2]
    if tag and "[consumed]" not in words:
        side.pokemon(owner).item = tag.rpartition(": ")[2]


def believe_item(side: PokeEnvSide, words: list[str]) -> None:
    """Trick: poke-env swaps what it believes in, though the line says what each has now."""
    if len(words) == 5 and words[4].startswith("[from] move: "):
        side.pokemon(words[2]).item = words[3]


def learn_move(side: PokeEnvSide, words: list[str]) -> None:
    """Forewarn names a move of a foe, which poke-env does not learn."""
    if words[3] == "ability: Forewarn" and words[2].startswith(side.battle.player_role):
        foe = side.opponent_actives[0] if side.slots == 1 else None
        owner = side.pokemon(words[-1][5:]) if words[-1].startswith("[of] ") else foe
        if owner is not None:
            owner._add_move(words[4])


def lose_pp(side: PokeEnvSide, words: list[str]) -> None:
    """Spite and Eerie Spell take PP from a move, which poke-env does not count."""
    if words[3] in ("move: Spite", "move: Eerie Spell"):
        move = side.pokemon(words[2]).moves.get(Move.retrieve_id(words[4]))
        if move is not None:
            move._current_pp = max(0, move._current_pp - int(words[5]))


def learn_move_not_used(side: PokeEnvSide, words: list[str]) -> None:
    """A line may name the move that a Pokémon could not use, which poke-env does not learn."""
    is_opponent = not words[2].startswith(side.battle.player_role)
    if is_opponent and len(words) > 4 and not words[4].startswith("["):
        side.pokemon(words[2])._add_move(words[4])


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


def pay_for_pursuit(side: PokeEnvSide, words: list[str]) -> None:
    """Pursuit of who leaves names itself for its cause: poke-env takes that for another's move."""
    if words[-1] == f"[from] move: {words[3]}":
        _use(side.pokemon(words[2]), words[3])


def learn_z_move(side: PokeEnvSide, words: list[str]) -> None:
    """A Z-Move that does no damage has the name of a move, which poke-env does not learn."""
    if words[3].startswith("Z-"):
        _use(side.pokemon(words[2]), words[3][2:])


def take_back_forme(side: PokeEnvSide, words: list[str]) -> None:
    """A forme that a Pokémon only has on the field: poke-env keeps it on the bench."""
    leaving = side.pokemon(words[2]) if words[1] == "faint" else side.left
    if leaving is not None and leaving in side.formes:
        leaving._update_from_pokedex(side.formes.pop(leaving), store_species=False)


def _use(pokemon: Pokemon, name: str) -> None:
    move = pokemon._add_move(name)
    if move is not None:
        move.use()
        for each in pokemon.moves.values():
            each._is_last_used = each is move


def _show_ability(side: PokeEnvSide, owner: str, ability: str) -> None:
    pokemon = side.pokemon(owner)
    if pokemon.ability is None:
        pokemon.ability = ability


def learn_stone(side: PokeEnvSide, words: list[str]) -> None:
    """Who takes a mega, primal or ultra forme holds what does it, which poke-env does not learn."""
    if words[-1]:
        side.pokemon(words[2]).item = words[-1]


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


def read_terastallization(side: PokeEnvSide, words: list[str]) -> None:
    """Who comes in terastallized: poke-env reads its type from the line, but not that it is so."""
    if not words[2].startswith(side.battle.player_role):
        side.pokemon(words[2])._terastallized = ", tera:" in words[3]


def stop_in_confusion(side: PokeEnvSide, words: list[str]) -> None:
    """Who hurts itself in its confusion does not move: poke-env still has its move prepared."""
    if words[-1] == "[from] confusion":
        forget_what_it_was_about_to_do(side, words)
        side.pokemon(words[2])._protect_counter = 0


def eat_berry(side: PokeEnvSide, words: list[str]) -> None:
    """A berry that hurts who set it off is gone: poke-env has its owner hold it again."""
    if words[-1].startswith("[of] ") and words[-2].endswith(" Berry"):
        side.pokemon(words[-1][5:]).item = None


def sleep_instead_of_recharging(side: PokeEnvSide, words: list[str]) -> None:
    """In generation 1 who falls asleep need not recharge any more."""
    if side.generation == 1 and words[3] == "slp":
        side.pokemon(words[2]).must_recharge = False


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
    "-ability": (learn_copied_ability, learn_changed_ability),
    "-heal": (learn_healing_ability, restore_pp),
    "-activate": (
        learn_ability,
        learn_lost_ability,
        learn_swapped_abilities,
        learn_item,
        learn_move,
        lose_pp,
    ),
    "-curestatus": (learn_ability,),
    "-mega": (learn_stone,),
    "-primal": (learn_stone,),
    "-burst": (learn_stone,),
    "-start": (learn_ability, count_perishing_down),
    "-weather": (learn_ability,),
    "-fieldstart": (learn_ability,),
    "-formechange": (learn_ability,),
    "-fail": (learn_ability, learn_item, count_no_failed_protection),
    "-block": (learn_ability, learn_item),
    "-immune": (learn_ability,),
    "-unboost": (learn_ability,),
    "-boost": (learn_ability,),
    "-setboost": (learn_ability,),
    "-sethp": (learn_ability,),
    "-damage": (learn_ability, stop_in_confusion, eat_berry),
    "-item": (learn_ability, believe_item),
    "-status": (
        count_sleep_anew,
        learn_item_of_status,
        learn_ability,
        sleep_instead_of_recharging,
    ),
    "move": (
        count_sleep_once,
        end_effects_with_a_move,
        pay_for_second_turn,
        pay_for_pursuit,
        learn_z_move,
    ),
    "switch": (
        count_sleep_of_newcomers,
        pass_boosts,
        take_back_forme,
        read_terastallization,
    ),
    "drag": (count_sleep_of_newcomers, take_back_forme, read_terastallization),
    "turn": (count_poison_of_residents, end_effects_of_the_turn),
    "upkeep": (end_effects_of_the_turn,),
    "cant": (count_sleep_alone, forget_what_it_was_about_to_do, learn_move_not_used),
    "-prepare": (pay_for_first_turn,),
    "-transform": (unlearn_transform,),
    "-anim": (forget_what_was_prepared,),
    "faint": (end_terastallization, take_back_forme),
}
