"""Measures what a registry does and what that costs, and shows it.

A measurement (`measure_battles`, `measure_server`) makes a Report, which is plain data. `render`
and `render_page` draw it, its own `to_json` writes it, and `Report.load` reads it again.
"""

from .attach import Schedule, measure_server
from .console import onlooker_for, render, watcher_for
from .page import render_page
from .report import Report
from .run import Interrupted, measure_battles, stop_on_signals

__all__ = [
    "Interrupted",
    "Report",
    "Schedule",
    "measure_battles",
    "measure_server",
    "onlooker_for",
    "render",
    "render_page",
    "stop_on_signals",
    "watcher_for",
]
