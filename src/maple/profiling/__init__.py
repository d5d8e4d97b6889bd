"""Where the time and the memory of a run go: records it, keeps it as a session, explains it.

>>> from maple.profiling import get_profiler, profile
... get_profiler().enable()
... with profile("env_step", track_memory=True):
...     env.step(actions)
... get_profiler().save("first")

Profiler → Session (plain data, a JSON file) → renderers: text, charts, a page, a trace.
"""

import os

from .config import ProfilingConfig, load_profiling_config
from .errors import NothingRecorded, ProfilingError, UnreadableSession
from .profiler import Profiler
from .saving import Saved, save_session
from .session import Session, load_session, merge_sessions
from .workers import WorkerProfiling

__all__ = [
    "NothingRecorded",
    "Profiler",
    "ProfilingConfig",
    "ProfilingError",
    "Saved",
    "Session",
    "UnreadableSession",
    "WorkerProfiling",
    "get_global_profiler",
    "get_profiler",
    "load_profiling_config",
    "load_session",
    "merge_sessions",
    "profile",
    "profile_function",
    "save_session",
]

_profiler = Profiler()
os.register_at_fork(after_in_child=_profiler.after_fork)

profile = _profiler.profile
profile_function = _profiler.profile_function


def get_profiler() -> Profiler:
    """The profiler of this process, which `profile` and `profile_function` belong to."""
    return _profiler


get_global_profiler = get_profiler
