"""Plays environments in tests: picks by what is observed alone, and writes down what came of it."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from maple.env import VectorEnv

__all__ = ["Tape", "answer", "choose", "play", "step"]

Observation = dict[str, npt.NDArray[Any]]
Step = tuple[Observation, Any, Any, Any, dict[str, Any]]
TEAM = (
    "Garchomp||leftovers|roughskin|earthquake,dragonclaw,stoneedge,swordsdance|Jolly|,252,4,,,252"
    "|||||]Rotom-Wash||leftovers|levitate|hydropump,voltswitch,willowisp,protect|Bold|252,,212,,,44"
    "|||||]Ferrothorn||rockyhelmet|ironbarbs|powerwhip,gyroball,leechseed,protect|Relaxed|252,,88,"
    ",168,|||||]Dragonite||heavydutyboots|multiscale|dragondance,extremespeed,earthquake,roost"
    "|Adamant|,252,4,,,252|||||]Toxapex||blacksludge|regenerator|surf,recover,toxic,haze|Bold|252,"
    ",252,,4,|||||]Heatran||airballoon|flashfire|magmastorm,earthpower,flashcannon,taunt|Timid|,,,"
    "252,4,252|||||"
)
VGC_TEAM = "]".join(
    f"{name}||{item}|{ability}|{moves}|Hardy|252,,4,,,252|||||"
    for name, item, ability, moves in (
        ("Incineroar", "sitrusberry", "intimidate", "fakeout,flareblitz,partingshot,knockoff"),
        ("Amoonguss", "rockyhelmet", "regenerator", "spore,ragepowder,pollenpuff,protect"),
        ("Flutter Mane", "boosterenergy", "protosynthesis", "moonblast,shadowball,protect,icywind"),
        ("Urshifu", "focussash", "unseenfist", "wickedblow,closecombat,suckerpunch,detect"),
        ("Rillaboom", "assaultvest", "grassysurge", "grassyglide,fakeout,woodhammer,uturn"),
        ("Tornadus", "covertcloak", "prankster", "tailwind,bleakwindstorm,protect,taunt"),
    )
)


def choose(observation: Observation) -> npt.NDArray[np.int64]:
    """A legal action for each row, which depends on what that row sees and on nothing else."""
    masks = observation["action_mask"]
    return np.array(
        [
            _pick(mask, zlib.crc32(features.tobytes()))
            for mask, features in zip(masks, observation["features"], strict=True)
        ]
    )


def _pick(mask: npt.NDArray[np.int8], number: int) -> int | tuple[int, int]:
    if mask.ndim == 1:
        legal = np.flatnonzero(mask)
        return int(legal[number % len(legal)])
    pairs = [
        (int(first), int(second))
        for first in np.flatnonzero(mask[0])
        for second in np.flatnonzero(mask[1])
        if _goes_together(int(first), int(second))
    ]
    if len(pairs) > 1:
        pairs = [pair for pair in pairs if pair != (0, 0)]
    return pairs[number % len(pairs)]


def _goes_together(first: int, second: int) -> bool:
    """In doubles: nobody is sent in twice, one does not pass if both can, a gimmick is for one."""
    if 1 <= first <= 6 and first == second:
        return False
    gimmicks = (first - 7) // 20, (second - 7) // 20
    return gimmicks[0] != gimmicks[1] or gimmicks[0] <= 0


def answer(env: VectorEnv, received: Step) -> None:
    """Sends actions of those that must decide, of all that `recv` has returned."""
    observation, _, _, _, info = received
    acting = ~info["waiting"] if "waiting" in info else np.ones(len(info["env_id"]), np.bool_)
    seen = {name: part[acting] for name, part in observation.items()}
    env.send(choose(seen), info["env_id"][acting])


class Tape:
    """All that each agent sees and gets, as a digest of its first `rows` rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._seen: dict[int, int] = {}
        self._digests: dict[int, Any] = {}
        self.ends: dict[int, list[tuple[Any, ...]]] = {}

    def note(self, observation: Observation, step: Step | None, info: dict[str, Any]) -> None:
        waiting = info.get("waiting")
        for row, agent in enumerate(info["env_id"].tolist()):
            ends = step is not None and (step[2][row] or step[3][row])
            if waiting is not None and waiting[row] and not ends:
                continue
            seen = self._seen[agent] = self._seen.get(agent, 0) + 1
            if seen <= self._rows:
                digest = self._digests.setdefault(agent, hashlib.blake2b(digest_size=8))
                self._note_row(digest, agent, row, observation, step, info)

    def _note_row(
        self,
        digest: Any,  # noqa: ANN401 - hashlib names no type for it
        agent: int,
        row: int,
        observation: Observation,
        step: Step | None,
        info: dict[str, Any],
    ) -> None:
        for name in sorted(observation):
            digest.update(observation[name][row].tobytes())
        if step is None:
            return
        digest.update(np.float32(step[1][row]).tobytes())
        if step[2][row] or step[3][row]:
            end = (bool(step[2][row]), info["winner"][row], int(info["turns"][row]))
            self.ends.setdefault(agent, []).append(end)
            digest.update(repr(end).encode())
            for name, part in sorted(info["final_obs"][row].items()):
                digest.update(name.encode() + part.tobytes())

    def is_full(self, agents: Iterable[int]) -> bool:
        return all(self._seen.get(agent, 0) >= self._rows for agent in agents)

    def digests(self, agents: Iterable[int]) -> dict[int, str]:
        return {agent: self._digests[agent].hexdigest() for agent in agents}


def play(
    env: VectorEnv, rows: int, agents: Iterable[int], *, seed: int | None = None
) -> dict[int, str]:
    """Digests of what these agents see until each has seen so many rows, by `recv` and `send`."""
    agents = list(agents)
    tape = Tape(rows)
    env.async_reset(seed=seed)
    first = True
    while not tape.is_full(agents):
        result = env.recv()
        tape.note(result[0], result, result[4])
        answer(env, result)
        first = False
    assert not first
    return tape.digests(agents)


def step(
    env: VectorEnv, rows: int, agents: Iterable[int], *, seed: int | None = None
) -> dict[int, str]:
    """The same by `reset` and `step`."""
    agents = list(agents)
    tape = Tape(rows)
    observation, info = env.reset(seed=seed)
    # What `recv` returns after a reset has a reward too, of zero.
    zeros = np.zeros(len(info["env_id"]), np.float32)
    none = zeros.astype(bool)
    tape.note(observation, (observation, zeros, none, none, info), info)
    while not tape.is_full(agents):
        result = env.step(choose(observation))
        observation = result[0]
        tape.note(observation, result, result[4])
    return tape.digests(agents)
