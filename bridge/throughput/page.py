"""Draws a report as one page that needs nothing else: styles, scripts and data are all in it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from string import Template

from ..histogram import Histogram
from ..timing import PHASES
from . import tables
from .report import Report
from .tables import Table

__all__ = ["render_page"]


def render_page(report: Report) -> str:
    raise NotImplementedError
