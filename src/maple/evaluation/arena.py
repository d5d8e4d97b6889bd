"""A pool of simulators on which entrants play each other, many battles at once.

Knows who plays whom and who wins; neither what an action means nor how results are shown.
"""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog

from bridge import BridgeConfig, ControllerRegistry, Player, View, load_config, seeds
from bridge.errors import (
    BattlePoisoned,
    BridgeError,
    ConfigError,
    ControllerDied,
    RoomClosed,
)
from bridge.formats import FormatFacts
from bridge.journal import Journal
from maple.env import OpponentFailed, StepTimeout
from maple.env.battle import FORFEIT, Battle, Opponent, Rival
from maple.env.keys import battle_key
from maple.env.loop import OwnLoop
from maple.env.teams import Teams, TeamsArgument

from .defaults import FORMAT, PARALLEL
from .entrants import Entrant, NetworkPlayer, seat
from .notebook import Notebook
from .replays import Spectated, spectate
from .tally import Fixture, Kept, Tally

__all__ = ["Arena", "TeamOf"]

log = structlog.get_logger("maple.evaluation")

# No room is forgotten here, however long an opponent thinks.
_IDLE_SECONDS: Final = 90 * 86_400.0
_LONGEST_NAME: Final = 60
_UNSPEAKABLE: Final = re.compile(r"[|\x00-\x1f\x7f\x85\u2028\u2029]")


class Arena:
    """A pool on which entrants play each other, kept warm from one evaluation to the next.

    >>> with Arena("gen9randombattle") as arena:
    ...     tally = Tally([("max", "random")], battles=200)
    ...     arena.play(map(Entrant.named, ("max", "random")), tally, seed=7)
    ...     print(tally.results)

    Args:
        format: What is played, as Showdown names it.
        parallel: How many battles are under way at a time, of whatever pairs.
        pool: How many Node processes; by default one for each core.
        teams: For formats that want them, as VectorEnv takes them; those for "p1" are the agent's,
            and those for "p2" its opponent's, whatever seats they have.
        timeout: Seconds that a player may take to decide, before its battle ends without a result,
            and that anything else is waited for, before StepTimeout is raised.
        bridge: Other settings of the pool, as a BridgeConfig or a YAML file.
    """

    def __init__(
        self,
        format: str = FORMAT,
        *,
        parallel: int = PARALLEL,
        pool: int | None = None,
        teams: TeamsArgument = None,
        timeout: float = 60.0,
        bridge: BridgeConfig | str | Path | None = None,
    ) -> None:
        if parallel < 1:
            raise ConfigError(f"parallel is {parallel}, but must be at least 1")
        config = bridge if isinstance(bridge, BridgeConfig) else _read(bridge)
        config = config.replace(
            pool=min(config.pool, parallel) if pool is None else pool, idle_timeout=_IDLE_SECONDS
        )
        if config.pool * config.rooms_per_controller < parallel:
            raise ConfigError(
                f"{config.pool} processes with {config.rooms_per_controller} rooms each have no "
                f"place for {parallel} battles: raise pool, or lower parallel"
            )
        self.parallel = parallel
        self._loop = OwnLoop()
        self._hall = _Hall(config, timeout)
        self._finalizer = weakref.finalize(self, _close, self._loop, self._hall)
        try:
            self._loop.run(self._hall.open(format, teams))
        except BaseException:
            self._finalizer()
            raise

    def __repr__(self) -> str:
        return f"<Arena: {self._hall.facts.id}, {self.parallel} battles at a time>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process; does nothing the second time."""
        self._finalizer()

    @property
    def format(self) -> str:
        """What is played, as the simulator writes it."""
        return self._hall.facts.id

    @property
    def facts(self) -> FormatFacts:
        """What the simulator says of it."""
        return self._hall.facts

    def play(
        self,
        entrants: Sequence[Entrant],
        tally: Tally,
        *,
        seed: seeds.Seed,
        greedy: bool = False,
        told: bool = False,
    ) -> None:
        """Plays all battles of a tally, which knows those that have ended also if this is cut off.

        Who wins is decided by the seed, the number of the battle, its two players and their seats,
        and by nothing else: not by the other battles, nor by how many are under way.

        Args:
            entrants: Who is meant by the names of the tally.
            tally: What is to be played; it is told of every end.
            seed: Decides all battles and all draws.
            greedy: Whether networks take the likeliest action, rather than drawing one.
            told: Whether the decisions of networks are written down in battles that are kept.
        """
        by_name = _by_name(entrants)
        _check(by_name, tally)
        self._loop.run(
            self._hall.play(by_name, tally, self.parallel, seed=seed, greedy=greedy, told=told)
        )

    def spectate(self, journal: Journal) -> Spectated:
        """Plays a battle again, to see what a spectator sees of it."""
        return self._loop.run(self._hall.spectate(journal))


class _Hall:
    """What an arena holds on its event loop: a registry, and what is played on it."""

    facts: FormatFacts
    generation: int

    def __init__(self, config: BridgeConfig, timeout: float) -> None:
        self._config = config
        self._timeout = timeout
        self._registry: ControllerRegistry | None = None
        self._teams: Teams
        self._teams_are_by_player = False

    async def open(self, format: str, teams: TeamsArgument) -> None:
        registry = self._registry = ControllerRegistry(self._config)
        await registry.start()
        self.facts = await registry.describe_format(format)
        found = re.match(r"gen(\d)", self.facts.id)
        if self.facts.game_type not in ("singles", "doubles") or found is None:
            raise ConfigError(f"{format} is {self.facts.game_type}, not singles or doubles")
        self.generation = int(found[1])
        self._teams = await Teams.read(teams, registry, self.facts, opponent_has_own=False)
        self._teams_are_by_player = isinstance(teams, Mapping)

    async def play(
        self,
        entrants: Mapping[str, Entrant],
        tally: Tally,
        parallel: int,
        *,
        seed: seeds.Seed,
        greedy: bool,
        told: bool,
    ) -> None:
        assert self._registry is not None
        places = min(parallel, tally.battles * len(tally.pairs))
        named = {name for pair in tally.pairs for name in pair}
        players: dict[str, Opponent] = {}
        try:
            for name in sorted(named):
                players[name] = seat(
                    entrants[name], self.facts, self.generation, places, greedy=greedy
                )
            notebook = Notebook() if told else None
            rounds = _Rounds(
                self._registry,
                _Opening(self.facts.id, seed, players, self._team_of(seed)),
                tally,
                notebook,
                timeout=self._timeout,
            )
            with _one_thread(entrants.values()):
                await rounds.play(places)
        finally:
            await asyncio.gather(*(player.close() for player in players.values()))

    def _team_of(self, seed: seeds.Seed) -> TeamOf:
        return TeamOf(self._teams, seed, self._teams_are_by_player)

    async def spectate(self, journal: Journal) -> Spectated:
        assert self._registry is not None
        return await spectate(journal, self._registry)

    async def close(self) -> None:
        if self._registry is not None:
            await self._registry.close(drain=False)


@dataclass(frozen=True, slots=True)
class TeamOf:
    """Which team a seat of a battle brings."""

    teams: Teams
    seed: seeds.Seed
    are_by_player: bool

    def __call__(self, fixture: Fixture, seat: int) -> str | None:
        """Drawn by the twin: the two change seats, and with them teams, unless each has its own."""
        whose = (seat + fixture.number) % 2 if self.are_by_player else seat
        return self.teams(self.seed, 0, fixture.twin, whose)


@dataclass(frozen=True, slots=True)
class _Opening:
    """How battles begin."""

    format: str
    seed: seeds.Seed
    players: Mapping[str, Opponent]
    team_of: TeamOf

    def battle_seed(self, fixture: Fixture) -> str:
        """The same whoever plays."""
        return seeds.derive(self.seed, f"evaluation, battle {fixture.twin}")

    async def open(
        self, registry: ControllerRegistry, battle: Battle, fixture: Fixture, *, is_told: bool
    ) -> None:
        keys = [battle_key(self.seed, 0, fixture.number, index) for index in range(2)]
        seated: list[Player] = []
        for index, name in enumerate(fixture.players):
            team = self.team_of(fixture, index)
            seated.append(self.players[name].player(_name(name), team, keys[index]))
        both = [self.players[name] for name in fixture.players]
        if seated[0].name == seated[1].name:
            # A player of poke-env, which has a team of its own, also knows itself by its own name.
            other = 0 if both[1].has_own_team else 1
            seated[other] = replace(seated[other], name=f"{seated[other].name} (2)")
        room = await registry.open(
            self.format,
            seed=self.battle_seed(fixture),
            p1=seated[0],
            p2=seated[1],
            view=(_view(both[0], is_told=is_told), _view(both[1], is_told=is_told)),
        )
        try:
            first, second = (
                player.sit(battle, index, keys[index]) for index, player in enumerate(both)
            )
        except BaseException:
            room.abandon(RoomClosed("nobody sat down", room=room.tag))
            raise
        battle.begin(room, (first, second))


def _name(name: str) -> str:
    """What somebody is called in a battle: the protocol cannot carry everything."""
    return _UNSPEAKABLE.sub("_", name)[:_LONGEST_NAME]


def _view(player: Opponent, *, is_told: bool) -> View:
    """What a seat is shown: more than a network reads, where somebody reads its decisions."""
    if not is_told or not isinstance(player, NetworkPlayer):
        return player.view
    spec = player.observations.spec
    return replace(player.view, observe=(*spec.default_groups, *player.observations.groups))


@dataclass(slots=True)
class _Place:
    """Where one battle after another is played."""

    number: int
    fixture: Fixture
    battle: Battle
    opening: asyncio.Task[None]
    asked_at: float | None = None
    """When its players were asked last; None before they are for the first time."""

    @property
    def waited_for(self) -> list[str]:
        """The players who have been asked and have not decided."""
        if self.asked_at is None:
            return []
        asked = zip(self.fixture.players, self.battle.seats, strict=True)
        return [name for name, seat in asked if seat.is_asked]


class _Rounds:
    """Plays fixtures until there are no more. All of it lives on one event loop."""

    def __init__(
        self,
        registry: ControllerRegistry,
        opening: _Opening,
        tally: Tally,
        notebook: Notebook | None,
        *,
        timeout: float,
    ) -> None:
        self._registry = registry
        self._opening = opening
        self._tally = tally
        self._notebook = notebook
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._fixtures: Iterator[Fixture] = tally.fixtures()
        self._places: dict[int, _Place] = {}
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._moved = self._loop.time()
        if notebook is not None:
            for name, player in opening.players.items():
                if isinstance(player, NetworkPlayer):
                    player.witness = notebook.witness_for(name, player.observations)

    def __repr__(self) -> str:
        return f"<Rounds: {len(self._places)} battles under way, {self._tally!r}>"

    async def play(self, places: int) -> None:
        watching = [
            self._loop.create_task(self._watch_pool()),
            self._loop.create_task(self._watch_time()),
        ]
        try:
            for number in range(places):
                self._begin_next(number)
            await self._done
        finally:
            for task in watching:
                task.cancel()
            openings = [place.opening for place in self._places.values()]
            for place in list(self._places.values()):
                self._give_up(place)
            await asyncio.gather(*watching, *openings, return_exceptions=True)

    # Watching

    async def _watch_pool(self) -> None:
        self.break_down(await self._registry.failure())

    async def _watch_time(self) -> None:
        """Ends battles whose players do not decide, and all of it where nothing happens at all."""
        while not self._done.done():
            await asyncio.sleep(max(0.0, self._oldest() + self._timeout - self._loop.time()))
            since = self._loop.time() - self._timeout
            for place in list(self._places.values()):
                if place.asked_at is not None and place.asked_at <= since and place.waited_for:
                    self._end_undecided(place)
            if self._moved <= since:
                self.break_down(
                    StepTimeout(
                        f"nothing happened within {self._timeout:g} s in any of "
                        f"{len(self._places)} battles"
                    )
                )

    def _oldest(self) -> float:
        """When anything happened last, or who is waited for longest was asked."""
        waiting = (place.asked_at for place in self._places.values() if place.waited_for)
        return min((self._moved, *(asked for asked in waiting if asked is not None)))

    def _end_undecided(self, place: _Place) -> None:
        names = " and ".join(place.waited_for)
        self._moved = self._loop.time()
        self._end(place, StepTimeout(f"{names} did not decide within {self._timeout:g} s"))

    def break_down(self, error: BaseException) -> None:
        """Nothing can go on: whoever waits is told why."""
        if not self._done.done():
            self._done.set_exception(error)

    # Battles

    def _begin_next(self, number: int) -> None:
        fixture = next(self._fixtures, None)
        if fixture is None:
            if not self._places and not self._done.done():
                self._done.set_result(None)
            return
        battle = Battle(self, number, fixture.number, Rival(fixture.opponent, None))
        is_told = self._notebook is not None and self._tally.is_kept(fixture)
        opening = self._loop.create_task(
            self._opening.open(self._registry, battle, fixture, is_told=is_told)
        )
        place = self._places[number] = _Place(number, fixture, battle, opening)
        opening.add_done_callback(lambda _: self._begin(place))

    def _begin(self, place: _Place) -> None:
        if place.opening.cancelled() or self._places.get(place.number) is not place:
            return
        self._moved = self._loop.time()
        error = place.opening.exception() or place.battle.failure
        if error is None:
            if self._notebook is not None and self._tally.is_kept(place.fixture):
                self._notebook.open(place.number)
            self._ask(place.battle)
        elif isinstance(error, BattlePoisoned | ControllerDied | OpponentFailed):
            self._end(place, error)
        else:
            self.break_down(error)

    def _ask(self, battle: Battle) -> None:
        """Has the players decide who are asked."""
        place = self._places[battle.slot]
        place.asked_at = self._loop.time()
        for asked, name in zip(battle.seats, place.fixture.players, strict=True):
            if not asked.is_asked:
                continue
            try:
                self._opening.players[name].decide(asked)
            except Exception as cause:  # noqa: BLE001 - whoever waits is told, where a log would not
                self.break_down(_fault_of(name, cause))

    def chosen(self, battle: Battle) -> None:
        """A seat has chosen."""
        place = self._of(battle)
        if place is None or battle.waits:
            return
        try:
            if battle.seats[0].choice is FORFEIT:
                _forfeit_first(battle)
            else:
                battle.send()
        except BridgeError as error:
            # The room has failed since it was last heard of.
            self._end(place, error)

    def answered(self, battle: Battle, error: BaseException | None) -> None:
        """Node has answered: somebody is asked, or the battle is over."""
        place = self._of(battle)
        if place is None:
            return
        self._moved = self._loop.time()
        fault = battle.check(error)
        if fault is not None or battle.room.is_over:
            self._end(place, fault)
        else:
            self._ask(battle)

    def _of(self, battle: Battle) -> _Place | None:
        """Where a battle is played; None if it was given up meanwhile."""
        place = self._places.get(battle.slot)
        return place if place is not None and place.battle is battle else None

    def _end(self, place: _Place, error: BridgeError | None) -> None:
        fixture, battle = place.fixture, place.battle
        seed = self._opening.battle_seed(fixture)
        result = battle.room.outcome if error is None else None
        reason = result.reason if result is not None else _reason(error)
        if error is not None:
            log.warning(
                "a battle failed",
                agent=fixture.agent,
                opponent=fixture.opponent,
                number=fixture.number,
                cause=error.message,
            )
        decisions = [] if self._notebook is None else self._notebook.close(place.number)
        kept = None
        if result is not None and self._tally.is_kept(fixture):
            kept = Kept(fixture, battle.room.journal, result, decisions)
        self._give_up(place)
        try:
            self._tally.note(fixture, seed, result, reason, kept)
        except Exception as fault:  # noqa: BLE001 - whoever is told of ends may fail at it
            self.break_down(fault)
            return
        self._begin_next(place.number)

    def _give_up(self, place: _Place) -> None:
        # In this order: whoever waits for the room's answer hears of its end at once.
        del self._places[place.number]
        if not place.opening.done():
            place.opening.cancel()
        elif not place.opening.cancelled() and place.opening.exception() is None:
            place.battle.give_up()


def _forfeit_first(battle: Battle) -> None:
    """What Battle.send does for whoever gives up in the second seat."""
    for one in battle.seats:
        one.choice = None
    battle.sent += 1
    task = asyncio.ensure_future(battle.room.p1.forfeit())
    task.add_done_callback(
        lambda done: battle.answered(None if done.cancelled() else done.exception())
    )


@contextmanager
def _one_thread(entrants: Iterable[Entrant]) -> Iterator[None]:
    """Has torch compute in one thread, while there are networks.

    With several, what it makes of a row can depend on the size of its batch; and small batches are
    not divided for nothing where Node needs the other cores.
    """
    if not any(entrant.is_learned for entrant in entrants):
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _fault_of(name: str, cause: Exception) -> BridgeError:
    if isinstance(cause, BridgeError):
        return cause
    error = OpponentFailed(f"{name} failed: {type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error


def _reason(error: BridgeError | None) -> str:
    assert error is not None
    return f"{type(error).__name__}: {error.message}"


def _by_name(entrants: Iterable[Entrant]) -> dict[str, Entrant]:
    found: dict[str, Entrant] = {}
    for entrant in entrants:
        if entrant.name in found:
            raise ConfigError(f"two players are called {entrant.name!r}: give each another name")
        found[entrant.name] = entrant
    return found


def _check(entrants: Mapping[str, Entrant], tally: Tally) -> None:
    if not tally.pairs or tally.battles < 1:
        raise ConfigError("there is nothing to play: give at least one pair and one battle")
    for agent, opponent in tally.pairs:
        for name in (agent, opponent):
            if name not in entrants:
                raise ConfigError(f"{name!r} is to play, but is nobody of {', '.join(entrants)}")
        if agent == opponent:
            raise ConfigError(f"{agent!r} is to play itself, which says nothing of its strength")


def _read(bridge: str | Path | None) -> BridgeConfig:
    return BridgeConfig() if bridge is None else load_config(bridge)


def _close(loop: OwnLoop, hall: _Hall) -> None:
    loop.close(hall.close())
