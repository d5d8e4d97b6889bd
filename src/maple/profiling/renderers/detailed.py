"""Writes an analysis as JSON: everything that was concluded, for other programs."""

from __future__ import annotations

import msgspec

from ..analysis import Analysis
from ..battles import battle_figures
from ..findings import Findings
from ..metrics import percentile, session_metrics

__all__ = ["render_detailed"]


def render_detailed(analysis: Analysis, findings: Findings) -> bytes:
    session = analysis.session
    names = dict.fromkeys(name for part in session.processes for name in part.counts)
    data = {
        "name": session.name,
        "began": session.began,
        "command": session.command,
        "settings": session.settings,
        "machine": session.machine,
        "wall_ns": analysis.wall,
        "counts": {name: analysis.count(name) for name in names},
        "metrics": {
            name: {
                "unit": metric.unit,
                "count": metric.count,
                "mean": metric.total / metric.count,
                "lowest": metric.lowest,
                "p50": percentile(metric, 50),
                "p99": percentile(metric, 99),
                "highest": metric.highest,
            }
            for name, metric in session_metrics(session)
        },
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
