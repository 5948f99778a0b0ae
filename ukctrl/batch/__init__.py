"""Many runs at once: over processes, with what is worth keeping of each."""

from ukctrl.batch.care import Care, Progress, Task, Watch
from ukctrl.batch.outcome import Curves, Outcome, Run
from ukctrl.batch.pool import Crew
from ukctrl.batch.seeds import (
    held_out_seed,
    point_generator,
    repeat_seed,
    sample_seed,
    training_seed,
)
from ukctrl.batch.workers import Lost

__all__ = [
    "Care",
    "Crew",
    "Curves",
    "Lost",
    "Outcome",
    "Progress",
    "Run",
    "Task",
    "Watch",
    "held_out_seed",
    "point_generator",
    "repeat_seed",
    "sample_seed",
    "training_seed",
]
