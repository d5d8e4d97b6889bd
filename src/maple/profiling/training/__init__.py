"""Where the time of PPO training goes, batch by batch, with turbo beside without.

A small loop (ppo_loop) is run and recorded (batches, recordings); what it took (components) is
plain data (result), from which follow verdict, advice and text.
"""

from .advice import recommend
from .batches import Measured, default_threads, measure_training
from .files import save_recordings
from .ppo_loop import BatchFigures, OpponentName, PPOConfig, PPOLoop
from .result import Batch, Mode, TrainingTime
from .text import render
from .verdict import Compared, Judgement, Verdict, compare, judge

__all__ = [
    "Batch",
    "BatchFigures",
    "Compared",
    "Judgement",
    "Measured",
    "Mode",
    "OpponentName",
    "PPOConfig",
    "PPOLoop",
    "TrainingTime",
    "Verdict",
    "compare",
    "default_threads",
    "judge",
    "measure_training",
    "recommend",
    "render",
    "save_recordings",
]
