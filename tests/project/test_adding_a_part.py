"""A new part is one file in the folder of its kind: nothing else has to know of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PARTS = {
    "control/feedback/toy_feedback.py": '''
from typing import Literal

import numpy as np

from ukctrl.control.feedback.feedback import Feedback, RateGain, spread
from ukctrl.control.feedback.linear import LinearFeedback
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Stack


@spec
class ToyFeedback(Feedback):
    """Damp the velocity error."""

    kind: Literal["toy_feedback"] = "toy_feedback"
    rate: RateGain
    """Decay rate [1/s]."""

    def attach(self, stack: Stack) -> LinearFeedback:
        none = np.zeros(len(stack))
        return LinearFeedback(spread(self.rate, stack, "rate"), none, none, stack)
''',
    "control/allocation/toy_allocation.py": '''
from typing import Literal, final

from ukctrl import uk
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.task import Task
from ukctrl import Vector
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics


@spec
class ToyAllocation(Allocation):
    """The input of least norm, as the theorem says it."""

    kind: Literal["toy_allocation"] = "toy_allocation"

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Toy(rows)


@final
class _Toy(Allocator):
    def __init__(self, rows: tuple[str, ...]) -> None:
        self._rows = rows

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        return uk.servo_input(rows.A, demand, dynamics.a_free, dynamics.G, rows=self._rows)
''',
    "mechanics/constraints/toy_constraint.py": '''
from typing import Literal, final

import numpy as np

from ukctrl.core.fields import Text, spec
from ukctrl.mechanics.constraints.constraint import Attached, Constraint, Rows
from ukctrl.mechanics.constraints.joints import dof_index
from ukctrl.robot import Robot, Snapshot


@spec
class ToyConstraint(Constraint):
    """A joint that stands still."""

    kind: Literal["toy_constraint"] = "toy_constraint"
    joint: Text
    """The joint."""

    def attach(self, robot: Robot) -> Attached:
        return _Toy(dof_index(robot, self.joint), robot)


@final
class _Toy(Attached):
    def __init__(self, index: int, robot: Robot) -> None:
        self.names, self.units, self.holonomic = ("still",), ("rad",), (False,)
        self._index = index

    def write(self, snapshot: Snapshot, rows: Rows) -> None:
        rows.A[0] = 0.0
        rows.A[0, self._index] = 1.0
        rows.b[0], rows.beta[0], rows.phi[0] = 0.0, snapshot.v[self._index], np.nan
''',
    "mechanics/reference/toy_reference.py": '''
from typing import Literal

from ukctrl.core.fields import Number, spec
from ukctrl.mechanics.reference.closed_form import Constant
from ukctrl.mechanics.reference.reference import Path, Reference


@spec
class ToyReference(Reference):
    """A value that stays."""

    kind: Literal["toy_reference"] = "toy_reference"
    value: Number
    """The value."""

    @property
    def size(self) -> int:
        return 1

    def compile(self) -> Path:
        return Constant(value=(self.value,)).compile()
''',
    "simulation/effects/toy_effect.py": '''
from typing import Literal

import numpy as np

from ukctrl import Vector
from ukctrl.core.fields import Number, spec
from ukctrl.simulation.effects.effect import Bench, Drive, InputEffect


@spec
class ToyEffect(InputEffect):
    """Motors that give a fraction of what they are asked for."""

    kind: Literal["toy_effect"] = "toy_effect"
    share: Number
    """The fraction."""

    def attach(self, bench: Bench, rng: np.random.Generator) -> Drive:
        return _Toy(self.share)


class _Toy(Drive):
    def __init__(self, share: float) -> None:
        self._share = share

    def apply(self, t: float, u: Vector, rate: Vector) -> Vector:
        return self._share * u
''',
    "simulation/result/metrics/toy_metric.py": '''
import numpy as np

from ukctrl.simulation.result.metrics.metric import Metric
from ukctrl.simulation.result.samples import Samples


def largest_speed(samples: Samples, block: str | None) -> float:
    """Return the largest velocity of any joint."""
    return float(np.abs(samples["v"]).max(initial=0.0))


METRIC = Metric("rad/s", "largest velocity of any joint", r"\\max |v|", largest_speed)
''',
}
"""By its place in the package, the file of a part of each kind."""

ASK = """
import json, sys
from ukctrl import Scenario, control
from ukctrl.cli.workspace import json_schema
from ukctrl.simulation.result.metrics import METRICS, describe
text = json.dumps(json_schema("scenario"))
run = Scenario.load("scara-helix", {
    "controller.feedback": {"kind": "toy_feedback", "rate": 3.0},
    "controller.allocation": {"kind": "toy_allocation"},
    "effect": [{"kind": "toy_effect", "share": 0.5}],
    "timing.control": 0.01,
})
print(json.dumps({
    "schema": [name for name in sys.argv[1:] if name in text],
    "metric": describe("toy_metric").description,
    "read": [run.controller.feedback.kind, run.controller.allocation.kind, run.effect[0].kind],
}))
"""


def test_a_file_in_the_folder_of_its_kind_is_all_that_a_part_takes(tmp_path):
    copy = tmp_path / "ukctrl"
    shutil.copytree(ROOT / "ukctrl", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("robots", "controllers", "scenarios"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for place, text in PARTS.items():
        (copy / place).write_text(f'"""A toy."""\n{text}', encoding="utf-8")
    names = [Path(place).stem for place in PARTS if "metric" not in place]
    run = subprocess.run(
        [sys.executable, "-c", ASK, *names],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["schema"] == names
    assert told["metric"] == "largest velocity of any joint"
    assert told["read"] == ["toy_feedback", "toy_allocation", "toy_effect"]
