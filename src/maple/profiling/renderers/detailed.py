"""Writes an analysis as JSON: everything that was concluded, for other programs."""

from __future__ import annotations

import msgspec

from ..analysis import Analysis
from ..battles import battle_figures
from ..findings import Findings

__all__ = ["render_detailed"]


def render_detailed(analysis: Analysis, findings: Findings) -> bytes:
    session = analysis.session
    data = {
        "name": session.name,
        "began": session.began,
        "command": session.command,
        "machine": session.machine,
        "wall_ns": analysis.wall,
        "places": [
            {
                "name": place.name,
                "processes": place.processes,
                "capacities": place.capacities,
                "share": place.share,
                "operations": place.rows,
            }
            for place in analysis.places
        ],
        "categories": analysis.categories,
        "bottlenecks": findings.bottlenecks,
        "stages": findings.stages,
        "recommendations": findings.recommendations,
        "battles": {figure.name: figure.value for figure in battle_figures(analysis)},
        "system": analysis.machine,
        "gpus": analysis.gpus,
        "overhead": session.overhead,
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"
