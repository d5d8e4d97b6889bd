"""What to try in this project about an operation that takes too much, given what was measured."""

from __future__ import annotations

from bridge.throughput.quantities import percent

from .analysis import Analysis, node_share

__all__ = ["WAIT_FOR_NODE", "advise"]

WAIT_FOR_NODE = "env_wait"
"""What an environment calls it."""

_MEMORY = {
    "Environment": "fewer environments (num_envs), or fewer groups in config/observation.yml",
    "Learning": "smaller minibatches, or a shorter rollout: its rows are kept until the update",
    "Inference": "a smaller batch_size, or a smaller network",
}
_GPU_MEMORY = "smaller minibatches or a smaller network; keep rollouts on the CPU until the update"
_NODE_IS_THE_LIMIT = (
    "turbo, if it is off, a process for each core (pool), fewer groups in config/observation.yml"
)
_SIMULATOR_BUSY = 0.75
_SMALL_BATCH = 32


def advise(severity: str, operation: str, category: str, analysis: Analysis) -> str:
    """One sentence or two."""
    if severity == "GPU MEMORY":
        return _GPU_MEMORY
    if severity == "MEMORY":
        return _MEMORY.get(category, "hold less at a time, or free it before the next step")
    match category:
        case "Waiting" if operation == WAIT_FOR_NODE:
            return _about_waiting_for_node(analysis)
        case "Waiting":
            return (
                "what it waits for is the limit: profile that as well, in its own thread or "
                "process, or do something else meanwhile"
            )
        case "Environment":
            return _about_environment(operation)
        case "Inference" | "Model" | "Policy":
            return _about_inference(analysis)
        case "Learning":
            return _about_learning(operation)
        case "IPC":
            return _about_round_trips(operation)
        case "Logging I/O":
            return "log every so many steps and not each one; write in a thread of its own"
    return (
        f"name its parts with `with profile(…)` inside {operation}, or give it a category in "
        "config/profiling.yml"
    )


def _about_waiting_for_node(analysis: Analysis) -> str:
    feeds = [place.feed for place in analysis.fed if place.feed is not None]
    shares = [share for feed in feeds if (share := node_share(feed)) is not None]
    if not shares:
        return "watch the environment (`profiler.watch(env)`) to see whether Node is busy meanwhile"
    busy = max(shares)
    if busy >= _SIMULATOR_BUSY:
        return (
            f"Node is busy {percent(busy)} of the time, so battles are the limit: "
            f"{_NODE_IS_THE_LIMIT}"
        )
    return (
        f"Node is busy only {percent(busy)} of the time: a step waits for its slowest battle, and "
        "then Node for Python. More environments (num_envs) that are decided for in parts (recv "
        "and send, with a batch_size of half of them) keep both busy"
    )


def _about_round_trips(operation: str) -> str:
    match operation:
        case "ipc_simulate":
            return _NODE_IS_THE_LIMIT
        case "ipc_node_encode":
            return "views without lines or without requests, where nobody reads them"
    return "scripts/ipc_stats.py shows the phases; more rooms a process share each write"


def _about_environment(operation: str) -> str:
    if operation == "env_observation":
        return "fewer groups in config/observation.yml; more agents a batch share its fixed cost"
    if operation == "env_reset":
        return "reset seldom: environments go on with their next battle by themselves"
    return (
        "more agents a batch share its fixed cost; an opponent that decides in batches costs less "
        "than a player of poke-env"
    )


def _about_inference(analysis: Analysis) -> str:
    sizes = [
        place.feed.sizes["batch_size"]["mean"]
        for place in analysis.fed
        if place.feed is not None and "batch_size" in place.feed.sizes
    ]
    if sizes and max(sizes) < _SMALL_BATCH:
        return (
            f"batches have {max(sizes):.0f} rows on average: more environments, or a max_wait of "
            "the queue, make larger ones"
        )
    return (
        "larger batches (num_envs, batch_size), fewer torch threads than cores, a smaller network"
    )


def _about_learning(operation: str) -> str:
    match operation:
        case "gae":
            return "compute it for all agents at once, by the array and not row by row"
        case name if name.startswith("replay_buffer"):
            return "allocate the arrays once, and copy rows by index instead of one by one"
        case name if name.startswith("optimizer"):
            return "larger minibatches make fewer steps; the fused or foreach form of the optimizer"
    return (
        "fewer epochs, minibatches of hundreds of rows and not of tens, a smaller network, all "
        "cores for torch while no battles are played"
    )
