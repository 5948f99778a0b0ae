"""Many runs at once: over processes, with what is worth keeping of each."""

from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Curves, Outcome, Run
from ukctrl.studies.batch.seeds import (
    held_out_seed,
    point_generator,
    repeat_seed,
    sample_seed,
    training_seed,
)
from ukctrl.studies.batch.task import Care, Progress, Task, Watch
from ukctrl.studies.batch.workers import Lost

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
