"""Expansion of observations, held against a slow one that follows the spec word by word."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from bridge.errors import ConfigError, ProtocolViolation
from bridge.observation import spec_path
from bridge.runtime import find_node
from maple.env import (
    ObservationConfig,
    ObservationMismatch,
    Observations,
    ObservationSpec,
    load_observation_config,
)
from tests.maple.env.rows import SPEC, random_rows, write

FILE = Path(__file__).resolve().parents[3] / "config" / "observation.yml"
DATA: dict[str, Any] = json.loads(spec_path().read_bytes())
GAMES = ("singles", "doubles")
EVERY = tuple(DATA["groups"]["all"])


@cache
def tables(generation: int) -> dict[str, Any]:
    path = spec_path().parent / "tables" / f"gen{generation}.json"
    data: dict[str, Any] = json.loads(path.read_bytes())
    return data


def look_up(table: str, generation: int, index: int) -> tuple[dict[str, float], dict[str, int]]:
    """The features and the ids that a generation's table has for one id."""
    row = tables(generation)[table][index]
    features: dict[str, float] = {}
    ids: dict[str, int] = {}
    for number, column in enumerate(DATA["columns"][table]):
        value = 0 if row is None else row[number]
        if "divisor" in column:
            scaled = (value - column.get("offset", 0)) / column["divisor"]
            features[column["name"]] = 0.0 if row is None else scaled
        elif column.get("ids"):
            ids[column["name"]] = value
        elif "classes" in column:
            for place, member in enumerate(DATA["classes"][column["classes"]]):
                name = f"{column.get('multi', column['name'])}.{member}"
                is_it = row is not None and place == value
                features[name] = 1.0 if is_it else features.get(name, 0.0)
    return features, ids


def expand_slowly(
    row: bytes, game: str, generation: int, groups: tuple[str, ...]
) -> tuple[dict[str, float], dict[str, int]]:
    """Features and ids of one observation by name, one value after another."""
    features: dict[str, float] = {}
    ids: dict[str, int] = {}
    for block in DATA["layouts"][game]["blocks"]:
        if block["group"] not in {*groups, "decision"}:
            continue
        width = {"u8": 1, "u16": 2}[block["dtype"]]
        at = block["offset"]
        for entry in range(block["count"]):
            for field in block["fields"]:
                value = int.from_bytes(row[at : at + width], "little")
                at += width
                name = f"{block['group']}.{entry}.{block['name']}.{field['name']}"
                if "table" in field:
                    known, more = look_up(field["table"], generation, value)
                    features |= {f"{name}.{key}": number for key, number in known.items()}
                    ids |= {name: value} | {f"{name}.{key}": kind for key, kind in more.items()}
                elif field.get("ids"):
                    ids[name] = value
                elif "classes" in field:
                    for place, member in enumerate(DATA["classes"][field["classes"]]):
                        features[f"{name}.{member}"] = float(place == value)
                elif "divisor" in field:
                    features[name] = (value - field.get("offset", 0)) / field["divisor"]
    return features, ids


def unpack_slowly(row: bytes, game: str, size: int) -> list[list[int]]:
    layout = DATA["layouts"][game]
    [block] = [b for b in layout["blocks"] if (b["group"], b["name"]) == ("decision", "mask")]
    each = block["count"] // layout["slots"]
    starts = [block["offset"] + slot * each for slot in range(layout["slots"])]
    return [[row[start + a // 8] >> a % 8 & 1 for a in range(size)] for start in starts]


SELECTIONS = [
    tuple(DATA["groups"]["all"]),
    tuple(group for group in EVERY if group != "calc"),
    ("calc", "own_moves"),
    ("damage", "actives", "opponent_team"),
    *((group,) for group in EVERY),
    (),
]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("generation", range(1, 10))
def test_observations_are_expanded_as_the_spec_says(game: str, generation: int) -> None:
    for number, groups in enumerate(SELECTIONS):
        observations = Observations(game, generation, groups)
        raw = random_rows(game, observations.bytes, 2, seed=100 * generation + number)
        expanded = observations.expand(raw)
        for row, features, ids, mask in zip(raw, *expanded.values(), strict=True):
            expected, expected_ids = expand_slowly(row.tobytes(), game, generation, groups)
            named = dict(zip(observations.feature_names(), features, strict=True))
            assert named == {name: np.float32(value) for name, value in expected.items()}
            assert dict(zip(observations.id_names(), ids, strict=True)) == expected_ids
            expected_mask = unpack_slowly(row.tobytes(), game, observations.actions.size)
            assert mask.tolist() == (expected_mask if game == "doubles" else expected_mask[0])


@pytest.mark.parametrize("game", GAMES)
def test_rows_of_a_batch_do_not_depend_on_each_other(game: str) -> None:
    observations = Observations(game, 9, EVERY)
    raw = random_rows(game, observations.bytes, 40)
    together = observations.expand(raw)
    for key, batch in together.items():
        alone = np.concatenate([observations.expand(row[None])[key] for row in raw])
        assert batch.dtype == alone.dtype
        assert np.array_equal(batch, alone)


def test_what_is_expanded_has_the_types_and_shapes_that_networks_expect() -> None:
    singles, doubles = (Observations(game, 9) for game in GAMES)
    expanded = singles.expand(random_rows("singles", singles.bytes, 5))
    shapes = {key: (value.dtype.name, value.shape) for key, value in expanded.items()}
    assert shapes == {
        "features": ("float32", (5, 1762)),
        "ids": ("int32", (5, 164)),
        "action_mask": ("int8", (5, 26)),
    }
    expanded = doubles.expand(random_rows("doubles", doubles.bytes, 0))
    assert expanded["action_mask"].shape == (0, 2, 107)
    assert expanded["features"].flags.c_contiguous


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("generation", [1, 9])
def test_the_space_holds_whatever_is_expanded(game: str, generation: int) -> None:
    observations = Observations(game, generation, EVERY)
    expanded = observations.expand(random_rows(game, observations.bytes, 20))
    space = observations.space
    for row in range(20):
        assert space.contains({key: value[row] for key, value in expanded.items()})


@pytest.mark.parametrize("game", GAMES)
def test_every_column_has_a_name_of_its_own(game: str) -> None:
    observations = Observations(game, 9, EVERY)
    names = observations.feature_names()
    assert len(set(names)) == len(names) == observations.feature_count
    assert {"own_team.0.who.species.hp", "decision.0.asked.phase.preview"} <= set(names)
    ids = observations.id_names()
    assert len(set(ids)) == len(ids) == observations.id_count
    assert {"opponent_moves.23.which.move", "own_moves.0.which.move.type"} <= set(ids)


def test_ids_of_one_kind_are_below_its_size() -> None:
    observations = Observations("doubles", 9)
    ids = observations.expand(random_rows("doubles", observations.bytes, 200))["ids"]
    kinds = dict(zip(observations.id_names(), observations.id_kinds(), strict=True))
    assert (kinds["own_team.0.who.item"], kinds["own_team.0.condition.tera_type"]) == (
        "items",
        "types",
    )
    assert (ids < observations.id_sizes()).all()
    assert observations.id_sizes()[0] == len(SPEC.names["species"])


def test_an_id_that_no_table_has_is_refused_by_name() -> None:
    observations = Observations("singles", 9)
    raw = random_rows("singles", observations.bytes, 3)
    write(raw[1:2], SPEC.layout("singles").block("own_moves", "which"), 7, "move", 60000)
    with pytest.raises(ProtocolViolation, match=r"60000 for own_moves\.7\.which\.move"):
        observations.expand(raw)


def test_a_class_that_does_not_exist_is_refused_by_name() -> None:
    observations = Observations("singles", 9)
    raw = random_rows("singles", observations.bytes, 3)
    write(raw[2:], SPEC.layout("singles").block("field", "state"), 0, "weather", 9)
    with pytest.raises(ProtocolViolation, match=r"9 for field\.0\.state\.weather.* 9 classes"):
        observations.expand(raw)
    raw = random_rows("singles", observations.bytes, 3)
    write(raw[:1], SPEC.layout("singles").block("own_team", "condition"), 5, "gender", 4)
    with pytest.raises(ProtocolViolation, match=r"4 for own_team\.5\.condition\.gender"):
        observations.expand(raw)


def test_observations_of_another_length_are_refused_with_both_lengths() -> None:
    observations = Observations("singles", 9)
    with pytest.raises(ObservationMismatch, match=r"790 bytes, but singles .* has 774"):
        observations.expand(random_rows("singles", 790, 1))
    with pytest.raises(ObservationMismatch, match="773 bytes"):
        observations.stack([bytes(774), bytes(773)])
    with pytest.raises(ObservationMismatch, match="1052 bytes"):
        observations.decode(bytes(1052))


def test_stacked_observations_are_rows() -> None:
    observations = Observations("singles", 9)
    raw = random_rows("singles", observations.bytes, 4)
    assert np.array_equal(observations.stack([row.tobytes() for row in raw]), raw)


def test_only_who_asks_for_calc_has_its_bytes() -> None:
    assert Observations("doubles", 9).bytes == DATA["layouts"]["doubles"]["bytes"]
    wide = Observations("doubles", 9, ("calc",)).bytes
    assert wide == DATA["layouts"]["doubles"]["bytes_with_all"]


# What a person reads


@pytest.mark.parametrize("game", GAMES)
def test_a_decoded_observation_shows_every_field_of_its_groups(game: str) -> None:
    observations = Observations(game, 9, EVERY)
    raw = random_rows(game, observations.bytes, 1)
    decoded = observations.decode(raw[0])
    assert decoded == observations.decode(raw[0].tobytes())
    assert set(decoded) == set(EVERY)
    shown = 0
    for block in DATA["layouts"][game]["blocks"]:
        entries = decoded[block["group"]][block["name"]]
        if block["name"] == "mask":
            continue
        assert len(entries) == block["count"]
        names = [field["name"] for field in block["fields"]]
        if len(names) > 1:
            assert [list(entry) for entry in entries] == [names] * block["count"]
        shown += len(entries)
    assert shown > 100


def test_a_decoded_observation_has_names_in_place_of_numbers() -> None:
    observations = Observations("singles", 9)
    layout = SPEC.layout("singles")
    raw = np.zeros((1, observations.bytes), np.uint8)
    species = SPEC.names["species"].index("garchomp")
    write(raw, layout.block("own_team", "who"), 2, "species", species)
    write(raw, layout.block("own_team", "stats"), 2, "spe", 300)
    write(raw, layout.block("own_team", "condition"), 2, "status", 2)
    write(raw, layout.block("actives", "state"), 0, "atk", 4)
    write(raw, layout.block("decision", "mask"), 0, "bits", 0b11000010)
    decoded = observations.decode(raw[0])
    assert decoded["own_team"]["who"][2] == {
        "species": "garchomp",
        "ability": "unknown",
        "item": "unknown",
    }
    assert decoded["own_team"]["stats"][2]["spe"] == 300
    assert decoded["own_team"]["condition"][2]["status"] == "brn"
    assert decoded["actives"]["state"][0]["atk"] == -2
    assert decoded["damage"]["own"] == [0] * 24
    assert decoded["decision"]["mask"] == [{1: "switch to Pokémon 2", 6: "move 1", 7: "move 2"}]


def test_decoding_shows_what_has_no_name() -> None:
    observations = Observations("singles", 9)
    raw = np.zeros((1, observations.bytes), np.uint8)
    write(raw, SPEC.layout("singles").block("actives", "state"), 1, "type_1", 99)
    shown = observations.decode(raw[0])["actives"]["state"][1]["type_1"]
    assert shown == "99, which has no name"


# What a checkpoint remembers


def test_a_signature_is_plain_data_that_the_same_observations_accept() -> None:
    observations = Observations("singles", 9, ("sides", "own_team"))
    stored = json.loads(json.dumps(observations.signature))
    assert stored == {
        "hash": DATA["hash"],
        "version": DATA["version"],
        "game": "singles",
        "generation": 9,
        "groups": ["own_team", "decision", "sides"],
    }
    Observations("singles", 9, ("own_team", "sides", "decision")).require(stored)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (Observations("doubles", 9), "game is singles, not doubles"),
        (Observations("singles", 8), "generation is 9, not 8"),
        (Observations("singles", 9, ("field",)), r"groups is .*, not \['decision', 'field'\]"),
    ],
)
def test_another_signature_is_refused_by_what_differs(other: Observations, difference: str) -> None:
    with pytest.raises(ObservationMismatch, match=difference) as refused:
        Observations("singles", 9).require(other.signature)
    assert ";" not in refused.value.message


def test_a_signature_of_another_spec_is_refused_by_its_hash() -> None:
    observations = Observations("singles", 9)
    old = observations.signature | {"hash": "0123456789abcdef", "version": 0}
    with pytest.raises(ObservationMismatch, match=r"hash is .*, not 0123456789abcdef; version is"):
        observations.require(old)
    with pytest.raises(ObservationMismatch, match=r"hash is .*, not None"):
        observations.require({})


def test_python_and_node_read_the_same_spec() -> None:
    program = "console.log(require('./observation/spec').readSpec().hash)"
    told = subprocess.run(
        [find_node().path, "-e", program],
        cwd=spec_path().parents[1],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stdout.strip() == ObservationSpec.load().hash


def test_importing_the_environments_brings_neither_torch_nor_poke_env() -> None:
    program = "import sys, maple.env; print({'torch', 'poke_env'} & set(sys.modules))"
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert told.stdout.strip() == "set()"


# Settings


def test_the_file_lists_every_group_and_holds_the_default() -> None:
    listed = re.findall(r"^  (?:# )?- ([a-z_]+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(EVERY)
    assert set(listed) - set(yaml.safe_load(FILE.read_bytes())["groups"]) == {"calc"}
    assert load_observation_config(FILE) == ObservationConfig()


def test_groups_are_kept_in_the_order_of_the_spec_with_decision_among_them() -> None:
    config = ObservationConfig(groups=("calc", "field", "own_team", "field"))
    assert config.groups == ("own_team", "decision", "field", "calc")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("groups: [own_temas]", "unknown group 'own_temas'; did you mean 'own_team'?"),
        ("group: [field]", "unknown setting 'group'; did you mean 'groups'?"),
        ("groups:", "groups has no value"),
        ("groups: field", "groups"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "observation.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(told)) as refused:
        load_observation_config(path)
    assert str(path) in str(refused.value)


def test_unknown_games_generations_and_groups_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"unknown game 'triples'; did you mean 'singles'\?"):
        Observations("triples", 9)
    with pytest.raises(ConfigError, match="generation is 10, but must be from 1 to 9"):
        Observations("singles", 10)
    with pytest.raises(ConfigError, match=r"unknown group 'activs'; did you mean 'actives'\?"):
        Observations("singles", 9, ("activs",))
