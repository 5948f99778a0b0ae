"""How are many runs computed at a time, and what is kept of each?

1. `task`: what a task is, how tasks are treated, and what comes of one that is lost.
2. `run_outcome`, `seeds`: one run as a task, what is kept of it, and the seed that it has.
3. `crew`: computes them in this process, or hands them over; `queue` says which, and how many.
4. `worker`: what happens where they are computed, and how their owner sees how far they are.
5. `processes`, `executor`: where that is: on this machine, or in somebody else's executor.
"""

from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Curves, Outcome, Run
from ukctrl.studies.batch.seeds import (
    held_out_seed,
    point_generator,
    repeat_seed,
    sample_seed,
    training_seed,
)
from ukctrl.studies.batch.task import Care, Lost, Progress, Task, Watch, part

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
    "part",
    "point_generator",
    "repeat_seed",
    "sample_seed",
    "training_seed",
]
