"""Writes what was recorded beside the figures: sessions, what cProfile found, and traces."""

from __future__ import annotations

import cProfile
import io
import pstats
from pathlib import Path

from ..renderers.trace import render_trace
from ..saving import save_session
from .batches import Measured, Say

__all__ = ["save_recordings"]

_LONGEST = 50
_HIERARCHY = 20


def save_recordings(measured: Measured, folder: Path, say: Say) -> list[Path]:
    """Writes all of it, says so, and returns where the sessions are."""
    files = []
    for session in measured.sessions.values():
        saved = save_session(session, folder)
        for file in saved:
            say(f"wrote {file}")
        files.append(saved.raw)
    for name, calls in measured.calls.items():
        file = folder / f"profile_training_{name.replace(' ', '_')}.txt"
        _save_calls(calls, file)
        say(
            f"wrote {file} and {file.with_suffix('.prof').name}: times are inflated by cProfile, "
            "and none of the figures are of these batches"
        )
    for name, session in measured.with_torch.items():
        file = folder / f"trace_training_{name.replace(' ', '_')}.json"
        file.write_bytes(render_trace(session))
        say(f"wrote {file}, a batch with torch's own operations: open it at ui.perfetto.dev")
    return files


def _save_calls(calls: cProfile.Profile, file: Path) -> None:
    """The functions that took longest, and all of them in a file beside it."""
    text = io.StringIO()
    text.write(
        "Batches under cProfile, which makes every call of Python slower: times are inflated, and "
        "those of small functions most of all.\n\n"
    )
    stats = pstats.Stats(calls, stream=text).sort_stats("cumulative")
    stats.print_stats(_LONGEST)
    text.write("Who called whom, of the functions that took longest:\n\n")
    stats.print_callees(_HIERARCHY)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.getvalue(), encoding="utf-8")
    calls.dump_stats(file.with_suffix(".prof"))
