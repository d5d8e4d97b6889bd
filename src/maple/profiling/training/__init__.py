"""Where the time of PPO training goes, batch by batch, with turbo beside without.

The trainer makes updates that are recorded (settings, batches, recordings); what they took
(components) is plain data (result), from which follow verdict, advice and text. Torch is imported
when a measurement begins, and not before.
"""

from .advice import recommend
from .batches import Measured, measure_training
from .files import save_recordings
from .result import Batch, BatchFigures, Mode, TrainingTime
from .settings import RunSettings, load_measured_config
from .text import render
from .verdict import Compared, Judgement, Verdict, compare, judge

__all__ = [
    "Batch",
    "BatchFigures",
    "Compared",
    "Judgement",
    "Measured",
    "Mode",
    "RunSettings",
    "TrainingTime",
    "Verdict",
    "compare",
    "judge",
    "load_measured_config",
    "measure_training",
    "recommend",
    "render",
    "save_recordings",
]
