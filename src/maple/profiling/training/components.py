"""Which operations make a component of a batch, and what each takes. Neither runs nor shows any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "BATCH",
    "COLLECTION",
    "COMPONENTS",
    "ROUND",
    "WAITING",
    "WHOLE",
    "Component",
    "measure_components",
]


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a batch, or of the component that its key begins with.

    It is made of operations, less those that are counted elsewhere. One that is made of none is
    what the others of its level, which stand before it, leave over.
    """

    key: str
    title: str
    of: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def above(self) -> str:
        return self.key.rpartition(".")[0]

    @property
    def depth(self) -> int:
        return self.key.count(".")


BATCH = "training_batch"
_COLLECTION = f"{BATCH}/env_parallel_execution"
_STEP = f"{_COLLECTION}/env_step"
_SELECTION = f"{_COLLECTION}/agent_action_selection"
_STORING = f"{_COLLECTION}/replay_buffer"
_BOOTSTRAP = f"{_COLLECTION}/agent_value_calculation"
_GRADIENT = f"{BATCH}/gradient_calculation"
_GAE = f"{_GRADIENT}/gae"
_SAMPLING = f"{_GRADIENT}/replay_buffer"
ROUND = f"{_COLLECTION}/env_send"
"""An operation that there is one call of whenever agents are decided for."""

WHOLE = ""
"""The key of a batch as a whole, which all components are parts of."""
COLLECTION = "data_collection"
WAITING = "data_collection.env_step.env_wait"

COMPONENTS = (
    Component(COLLECTION, "Data Collection", (_COLLECTION,), (_STORING, _BOOTSTRAP)),
    Component("data_collection.env_step", "Env Step", (_STEP,)),
    Component(WAITING, "Waiting for the simulator", (f"{_STEP}/env_wait",)),
    Component(
        "data_collection.env_step.env_observation", "Observations", (f"{_STEP}/env_observation",)
    ),
    Component("data_collection.env_step.rest", "Rest"),
    Component("data_collection.env_send", "Env Send", (ROUND,)),
    Component(
        "data_collection.policy_forward", "Policy Forward", (f"{_SELECTION}/inference_forward",)
    ),
    Component("data_collection.sampling", "Sampling", (f"{_SELECTION}/inference_sample",)),
    Component("data_collection.rest", "Rest"),
    Component("gae", "GAE Computation", (_BOOTSTRAP, _GAE)),
    Component("replay_buffer", "Replay Buffer Ops", (_STORING, _SAMPLING)),
    Component("training_loop", "Training Loop", (_GRADIENT,), (_GAE, _SAMPLING)),
    Component("training_loop.loss", "Loss Computation", (f"{_GRADIENT}/loss_calculation",)),
    Component("training_loop.backward", "Backward Pass", (f"{_GRADIENT}/backward",)),
    Component("training_loop.optimizer", "Optimizer Step", (f"{_GRADIENT}/optimizer_step",)),
    Component("training_loop.rest", "Rest"),
    Component("rest", "Other"),
)
"""In the order in which they are shown."""


def measure_components(times: Mapping[str, float]) -> dict[str, float]:
    """What each component took, by its key, given the time of each operation, by its path.

    Those of a level are disjoint, and add up to what they are parts of.
    """
    found: dict[str, float] = {}
    left = {WHOLE: times[BATCH]}
    for component in COMPONENTS:
        if component.of:
            took = sum(times.get(path, 0.0) for path in component.of)
            took -= sum(times.get(path, 0.0) for path in component.without)
            left[component.above] -= took
        else:
            took = left[component.above]
        found[component.key] = left[component.key] = took
    return found
