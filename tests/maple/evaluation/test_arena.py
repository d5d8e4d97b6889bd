"""Battles between entrants on real processes: how many, which, and what decides them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pytest
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder, ForfeitBattleOrder

from bridge import BridgeConfig
from bridge.errors import BattleRejected, ConfigError
from bridge.journal import Journal
from maple.env import Actions, OpponentFailed, StepTimeout
from maple.env.teams import TeamPool, Teams
from maple.evaluation import Arena, Entrant, Played, Tally
from maple.evaluation.arena import TeamOf
from maple.evaluation.report import Pair
from maple.evaluation.tally import Fixture
from tests.conftest import controllers
from tests.maple.env.hands import TEAM

from .players import QUICK, Faulty, learned, observations

FAULTS = Path(__file__).parents[2] / "adversity" / "faults" / "poison.js"
LADDER: list[Pair] = [("mlp", "max"), ("lstm", "max"), ("max", "random")]
BATTLES = 4
SEED = 7


def config(pool: int = 1) -> BridgeConfig:
    return BridgeConfig(pool=pool, warmup_battles=0, open_timeout=30.0, start_timeout=30.0)


def everybody() -> list[Entrant]:
    named = [Entrant.named(name) for name in ("random", "max", "heuristics")]
    return [learned("mlp", 1), learned("lstm", 2, kind="lstm"), *named]


@pytest.fixture(scope="module", name="arena")
def shared_arena() -> Iterator[Arena]:
    with Arena(QUICK, parallel=16, bridge=config()) as arena:
        yield arena


@pytest.fixture(scope="module", name="ladder")
def played_ladder(arena: Arena) -> Tally:
    """All battles of the ladder."""
    tally = Tally(LADDER, BATTLES, keep=2)
    arena.play(everybody(), tally, seed=SEED)
    return tally


def played(
    arena: Arena, pairs: list[Pair], battles: int, *, seed: int = SEED, greedy: bool = False
) -> tuple[Played, ...]:
    tally = Tally(pairs, battles)
    arena.play(everybody(), tally, seed=seed, greedy=greedy)
    return tally.played


def test_every_pair_plays_exactly_its_battles(ladder: Tally) -> None:
    assert len(ladder.played) == BATTLES * len(LADDER)
    for pair in LADDER:
        own = [one for one in ladder.played if (one.agent, one.opponent) == pair]
        assert [one.number for one in own] == list(range(BATTLES))
        assert all(one.outcome in ("win", "loss", "tie") and one.turns > 0 for one in own)
    assert [result.battles for result in ladder.results] == [BATTLES] * len(LADDER)


def test_poke_envs_heuristics_play_too(arena: Arena) -> None:
    [one, two] = played(arena, [("random", "heuristics")], 2)
    assert (one.seat, two.seat) == ("p1", "p2")
    assert one.outcome == two.outcome == "loss"


def test_max_beats_random_from_either_seat(arena: Arena) -> None:
    found = played(arena, [("max", "random"), ("random", "max")], 10)
    for agent, outcome in (("max", "win"), ("random", "loss")):
        for seat in ("p1", "p2"):
            own: list[str] = [
                one.outcome for one in found if (one.agent, one.seat) == (agent, seat)
            ]
            assert own.count(outcome) >= 3, (agent, seat, own)


def test_a_seed_decides_all_whatever_is_under_way_and_on_how_many_processes(
    arena: Arena, ladder: Tally
) -> None:
    with Arena(QUICK, parallel=3, pool=2, bridge=config()) as narrow:
        again = Tally(LADDER, BATTLES, keep=2)
        narrow.play(everybody(), again, seed=SEED)
    assert again.played == ladder.played
    logs = [[kept.journal.input_log() for kept in tally.kept] for tally in (again, ladder)]
    assert logs[0] == logs[1]
    alone = played(arena, LADDER[1:2], 3)
    assert alone == ladder.played[BATTLES : BATTLES + 3]


def test_another_seed_decides_otherwise(arena: Arena, ladder: Tally) -> None:
    other = played(arena, LADDER[:1], 2, seed=8)
    assert [one.seed for one in other] != [one.seed for one in ladder.played[:2]]
    assert [one.turns for one in other] != [one.turns for one in ladder.played[:2]]


def test_battles_of_a_number_are_the_same_whoever_plays(ladder: Tally) -> None:
    for number in range(BATTLES):
        assert len({one.seed for one in ladder.played if one.number == number}) == 1


def test_twins_have_the_same_teams_and_the_seats_changed(ladder: Tally) -> None:
    own = ladder.played[:BATTLES]
    assert own[0].seed == own[1].seed != own[2].seed == own[3].seed
    assert [one.seat for one in own] == ["p1", "p2", "p1", "p2"]
    one, two = (kept.journal for kept in ladder.kept[:2])
    assert (one.p1.name, one.p2.name) == ("mlp", "max") == (two.p2.name, two.p1.name)
    assert (one.seed, one.p1.seed, one.p2.seed) == (two.seed, two.p1.seed, two.p2.seed)


def test_only_the_first_battles_are_kept(arena: Arena, ladder: Tally) -> None:
    found = [(kept.fixture.pair, kept.fixture.number) for kept in ladder.kept]
    assert found == [(pair, number) for pair in LADDER for number in range(2)]
    kept = ladder.kept[0]
    assert arena.spectate(Journal.from_input_log(kept.journal.input_log())).result == kept.result
    assert not kept.decisions


def test_greedy_networks_play_otherwise_and_always_alike(arena: Arena, ladder: Tally) -> None:
    first, again = (played(arena, LADDER[:2], 2, greedy=True) for _ in range(2))
    assert first == again
    drawn = [one for one in ladder.played if one.agent != "max" and one.number < 2]
    assert [one.turns for one in first] != [one.turns for one in drawn]


def test_whoever_is_told_of_battles_hears_of_each_once(arena: Arena) -> None:
    heard: list[Played] = []
    tally = Tally(LADDER[2:], 4, on_battle=heard.append)
    arena.play(everybody(), tally, seed=SEED)
    assert sorted(heard, key=lambda one: one.number) == list(tally.played)


# Teams


def drawn(
    teams: Sequence[str] | Mapping[str, Sequence[str]],
) -> list[tuple[str | None, str | None]]:
    """The teams of the first and of the second seat, battle by battle."""
    given = teams if isinstance(teams, Mapping) else {"p1": teams, "p2": teams}
    first, second = (TeamPool(given[seat]) for seat in ("p1", "p2"))
    team_of = TeamOf(Teams(first, second, needed=True), 3, isinstance(teams, Mapping))
    fixtures = [Fixture("agent", "opponent", number) for number in range(12)]
    return [(team_of(one, 0), team_of(one, 1)) for one in fixtures]


def test_twins_change_teams_with_their_seats() -> None:
    found = drawn(["rain", "sun", "sand"])
    assert found[::2] == found[1::2]
    assert len(set(found)) > 3


def test_where_each_has_teams_of_its_own_they_stay_with_it() -> None:
    found = drawn({"p1": ["rain", "sun"], "p2": ["sand", "snow"]})
    assert {team for team, _ in found[::2]} == {"rain", "sun"} == {team for _, team in found[1::2]}
    assert [(two, one) for one, two in found[1::2]] == found[::2]


def test_agents_play_with_teams() -> None:
    teams = {"p1": TEAM, "p2": "]".join(reversed(TEAM.split("]")))}
    with Arena("gen9nationaldex", parallel=2, teams=teams, bridge=config()) as arena:
        tally = Tally([("max", "random")], 2, keep=2)
        arena.play([Entrant.named("max"), Entrant.named("random")], tally, seed=3)
    for kept in tally.kept:
        seats = (kept.journal.p1, kept.journal.p2)
        leads = {player.name: str(player.team).partition("|")[0] for player in seats}
        assert leads == {"max": "Garchomp", "random": "Heatran"}


# What goes wrong


def test_what_cannot_be_played_is_refused(arena: Arena) -> None:
    with pytest.raises(ConfigError, match="'nobody' is to play, but is nobody of mlp"):
        arena.play(everybody(), Tally([("mlp", "nobody")], 2), seed=1)
    with pytest.raises(ConfigError, match="'mlp' is to play itself"):
        arena.play(everybody(), Tally([("mlp", "mlp")], 2), seed=1)
    with pytest.raises(ConfigError, match="nothing to play"):
        arena.play(everybody(), Tally([], 2), seed=1)
    doubles = learned("other", of=observations("doubles", 9))
    with pytest.raises(ConfigError, match="other plays doubles of generation 9, but gen1random"):
        arena.play([doubles, *everybody()], Tally([("other", "random")], 2), seed=1)
    with pytest.raises(ConfigError, match="nobody is called 'minimum'"):
        Entrant.named("minimum")
    with pytest.raises(ConfigError, match="two players are called 'mlp'"):
        arena.play([learned("mlp", 3), *everybody()], Tally(LADDER, 2), seed=1)
    # It can be used all the same.
    assert len(played(arena, LADDER[:1], 2)) == 2


def test_an_arena_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="no place for 600 battles"):
        Arena(QUICK, parallel=600, pool=1, bridge=config())
    with pytest.raises(ConfigError, match="at least 1"):
        Arena(QUICK, parallel=0)
    with pytest.raises(BattleRejected, match="Unrecognized format"):
        Arena("gen1nosuchformat", parallel=2, bridge=config())


def test_a_player_that_fails_ends_it_and_what_was_played_is_known(arena: Arena) -> None:
    faulty = Entrant("faulty", Faulty(after=400))
    tally = Tally([("faulty", "max")], 60)
    with pytest.raises(OpponentFailed, match="it has had enough"):
        arena.play([faulty, *everybody()], tally, seed=1)
    assert 0 < len(tally.played) < 60
    assert len(played(arena, LADDER[:1], 2)) == 2


class Sleeper(RandomPlayer):
    """Never makes up its mind."""

    def choose_move(self, battle: object) -> BattleOrder:
        return asyncio.get_running_loop().create_future()  # type: ignore[return-value]


class Breaker(RandomPlayer):
    """Says what a simulator with a certain fault breaks at."""

    def choose_move(self, battle: object) -> BattleOrder:
        return "/choose fault throw"  # type: ignore[return-value]


class Quitter(RandomPlayer):
    """Gives up at once."""

    def choose_move(self, battle: object) -> BattleOrder:
        return ForfeitBattleOrder()


def player(kind: type[Player]) -> Entrant:
    return Entrant(kind.__name__, kind(battle_format=QUICK, start_listening=False))


def test_a_battle_whose_player_never_decides_ends_alone() -> None:
    tally = Tally([("Sleeper", "max"), ("max", "random")], 4)
    with Arena(QUICK, parallel=2, timeout=0.5, bridge=config()) as arena:
        arena.play([player(Sleeper), *everybody()], tally, seed=1)
    waited, other = tally.results
    assert (waited.battles, waited.failed) == (0, 4)
    assert (other.battles, other.failed) == (4, 0)
    reason = "StepTimeout: Sleeper did not decide within 0.5 s"
    assert {one.reason for one in tally.played[:4]} == {reason}


def test_where_nothing_happens_at_all_it_ends() -> None:
    others = controllers()
    with Arena(QUICK, parallel=2, timeout=0.5, bridge=config()) as arena:
        [controller] = controllers() - others
        controller.suspend()
        try:
            with pytest.raises(StepTimeout, match=r"within 0\.5 s in any of 2 battles"):
                arena.play(everybody(), Tally([("max", "random")], 4), seed=1)
        finally:
            controller.resume()


@pytest.mark.parametrize("name", ["random", "mlp"])
def test_a_fault_of_a_player_is_told_as_its_own(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(self: object, row: bytes, action: int) -> str:
        raise ArithmeticError("no such action")

    monkeypatch.setattr(Actions, "choice", fail)
    failed = "random failed" if name == "random" else "the network failed"
    with pytest.raises(OpponentFailed, match=f"{failed}: ArithmeticError: no such action"):
        arena.play(everybody(), Tally([(name, "heuristics")], 2), seed=1)


def test_battles_that_come_to_no_end_are_told_and_count_for_nothing(tmp_path: Path) -> None:
    faulty = config().replace(
        node_arguments=("--require", str(FAULTS)), poison_folder=tmp_path / "poisoned"
    )
    with Arena(QUICK, parallel=2, bridge=faulty) as arena:
        tally = Tally([("Breaker", "max"), ("max", "random")], 2, keep=2)
        arena.play([player(Breaker), *everybody()], tally, seed=1)
    assert [one.outcome for one in tally.played[:2]] == ["failed"] * 2
    assert "BattlePoisoned: the battle failed 2 times" in tally.played[0].reason
    broken, other = tally.results
    assert (broken.battles, broken.failed, broken.win_rate) == (0, 2, None)
    assert (other.battles, other.failed) == (2, 0)
    assert [kept.fixture.pair for kept in tally.kept] == [("max", "random")] * 2


def test_players_whose_names_are_one_in_a_battle_are_told_apart(arena: Arena) -> None:
    long = [learned("n" * 80 + end, 1) for end in "ab"]
    same = [Entrant("Heuristics", "max"), *everybody()]
    pairs = [(long[0].name, long[1].name), ("Heuristics", "heuristics")]
    tally = Tally(pairs, 2, keep=2)
    arena.play([*long, *same], tally, seed=1)
    assert [result.battles for result in tally.results] == [2, 2]
    seats = [(kept.journal.p1.name, kept.journal.p2.name) for kept in tally.kept]
    assert seats[:2] == [("n" * 60, "n" * 60 + " (2)")] * 2
    assert seats[2:] == [("Heuristics (2)", "Heuristics"), ("Heuristics", "Heuristics (2)")]


def test_a_player_of_poke_env_can_give_up_in_either_seat(arena: Arena) -> None:
    tally = Tally([("Quitter", "max")], 4)
    arena.play([player(Quitter), *everybody()], tally, seed=1)
    assert [(one.outcome, one.reason) for one in tally.played] == [("loss", "forfeit")] * 4


def test_a_process_that_dies_changes_nothing(ladder: Tally) -> None:
    others = controllers()
    with Arena(QUICK, parallel=8, pool=2, bridge=config()) as arena:

        def kill(one: Played) -> None:
            if not killed:
                killed.append(next(iter(controllers() - others)))
                killed[0].kill()

        killed: list[psutil.Process] = []
        tally = Tally(LADDER, BATTLES, on_battle=kill)
        arena.play(everybody(), tally, seed=SEED)
    assert killed
    assert tally.played == ladder.played


def test_ctrl_c_leaves_what_was_played(arena: Arena) -> None:
    def interrupt(one: Played) -> None:
        if len(heard) == 3:
            signal.raise_signal(signal.SIGINT)
        heard.append(one)

    heard: list[Played] = []
    tally = Tally(LADDER[2:], 50, on_battle=interrupt)
    with pytest.raises(KeyboardInterrupt):
        arena.play(everybody(), tally, seed=7)
    assert 3 < len(tally.played) < 50
    assert len(played(arena, LADDER[:1], 2)) == 2


def test_whoever_fails_at_being_told_ends_it(arena: Arena) -> None:
    def fail(one: Played) -> None:
        raise RuntimeError(f"no room for battle {one.number}")

    with pytest.raises(RuntimeError, match="no room for battle"):
        arena.play(everybody(), Tally(LADDER[:1], 4, on_battle=fail), seed=7)
