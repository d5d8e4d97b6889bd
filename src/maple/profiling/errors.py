"""What can go wrong with sessions; everything derives from ProfilingError."""

from __future__ import annotations

__all__ = ["NothingRecorded", "ProfilingError", "UnreadableSession"]


class ProfilingError(Exception):
    """Base of all errors of the profiler. Its text is one line that says what to do."""


class UnreadableSession(ProfilingError):
    """Raised when a file is not a session that this version can read."""


class NothingRecorded(ProfilingError):
    """Raised when a session holds nothing of what is asked for."""
