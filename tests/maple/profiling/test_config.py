"""The settings of the profiler, and which operation belongs to which category."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import ConfigError
from maple.profiling import Profiler, ProfilingConfig, load_profiling_config, load_session
from maple.profiling.analysis import analyse
from maple.profiling.config import OTHER

REPOSITORY = Path(__file__).parents[3]


def test_the_file_lists_every_setting_with_its_default() -> None:
    file = REPOSITORY / "config" / "profiling.yml"
    assert load_profiling_config(file) == ProfilingConfig()
    for name in ProfilingConfig.__slots__:
        assert f"\n{name}:" in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("operation", "category"),
    [
        ("env_reset", "Environment"),
        ("env_step", "Environment"),
        ("env_parallel_execution", "Environment"),
        ("env_wait", "Waiting"),
        ("ipc_node_wait", "IPC"),
        ("ipc_simulate", "IPC"),
        ("inference_queue_wait", "Inference"),
        ("inference_batch_build", "Inference"),
        ("inference_forward", "Inference"),
        ("agent_action_selection", "Inference"),
        ("agent_value_calculation", "Inference"),
        ("gradient_calculation", "Learning"),
        ("gae", "Learning"),
        ("loss_calculation", "Learning"),
        ("backward", "Learning"),
        ("optimizer_step", "Learning"),
        ("replay_buffer", "Learning"),
        ("forward", "Inference"),
        ("batch_build", "Inference"),
        ("queue_wait", "Inference"),
        ("log_metrics", "Logging I/O"),
        ("tensorboard_write", "Logging I/O"),
        # Somebody else's pipeline.
        ("env_rgb_observation_generation", "Environment"),
        ("env_rgb_draw_walls", "Environment"),
        ("convlstm_forward_pass", "Model"),
        ("convlstm_global_pooling", "Model"),
        ("recurrent_policy_forward", "Policy"),
        ("recurrent_policy_action_sampling", "Policy"),
        ("training_total", "Learning"),
        ("simulated_model_update", "Learning"),
        ("something_else", OTHER),
    ],
)
def test_operations_are_grouped_by_their_names(operation: str, category: str) -> None:
    assert ProfilingConfig().category((operation,)) == category


def test_an_operation_that_no_pattern_knows_is_of_its_parents_category() -> None:
    config = ProfilingConfig()
    assert config.category(("gradient_calculation", "clip")) == "Learning"
    assert config.category(("gradient_calculation", "env_step")) == "Environment"


def test_categories_of_ones_own_replace_ours(tmp_path: Path) -> None:
    file = tmp_path / "profiling.yml"
    file.write_text("categories:\n  Rendering: ['*_rgb_*', '*draw*']\n")
    config = load_profiling_config(file)
    assert config.category(("env_rgb_rendering",)) == "Rendering"
    assert config.category(("env_step",)) == OTHER


def test_a_session_knows_the_categories_it_was_recorded_with(tmp_path: Path) -> None:
    profiler = Profiler(ProfilingConfig(categories={"Mine": ["env_*"]}))
    profiler.enable(system=False)
    with profiler.profile("env_step"):
        pass
    profiler.session("test").save(tmp_path / "session.json")
    session = load_session(tmp_path / "session.json")
    assert [row.category for row in analyse(session).rows] == ["Mine"]
    assert [row.category for row in analyse(session, ProfilingConfig()).rows] == ["Environment"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "sample_intervall: 1",
            "unknown setting 'sample_intervall'; did you mean 'sample_interval'",
        ),
        ("sample_interval: 0", "sample_interval is 0.0, but must be more than 0"),
        ("trace_calls: -1", "trace_calls is -1, but must be at least 0"),
        ("categories: [env_step]", "categories"),
        ("categories: {1: [env_step]}", "a category is named by text, and 1 is none"),
        ("categories: {on: [env_step]}", "a category is named by text, and True is none"),
    ],
)
def test_a_wrong_setting_is_told_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "profiling.yml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_profiling_config(file)
    assert complaint in refused.value.message
    assert str(file) in refused.value.message
