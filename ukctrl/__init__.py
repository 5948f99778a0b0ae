"""ukctrl: servo-constraint control of robots, from the mathematics to a reproducible run.

The public names are imported on first use, so that ``import ukctrl`` costs nothing:

    from ukctrl import Scenario, simulate

    simulate(Scenario.load("scara-helix")).metric("rms_phi")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ukctrl.analysis import Check, check
    from ukctrl.comparison import Comparison, compare
    from ukctrl.constraints import Constraint, Rows, Stack
    from ukctrl.control import Command, Controller, Law, Task
    from ukctrl.dynamics import Dynamics
    from ukctrl.errors import UkctrlError
    from ukctrl.report import write_report
    from ukctrl.result import Result
    from ukctrl.robot import Robot, Snapshot
    from ukctrl.scenario import Scenario
    from ukctrl.simulation import simulate
    from ukctrl.study import Factor, Study, sweep
    from ukctrl.tuning import Budget, Tuned, tune

_HOME = {
    "Budget": "tuning",
    "Check": "analysis",
    "Command": "control",
    "Comparison": "comparison",
    "Constraint": "constraints",
    "Controller": "control",
    "Dynamics": "dynamics",
    "Factor": "study",
    "Law": "control",
    "Result": "result",
    "Robot": "robot",
    "Rows": "constraints",
    "Scenario": "scenario",
    "Snapshot": "robot",
    "Stack": "constraints",
    "Study": "study",
    "Task": "control",
    "Tuned": "tuning",
    "UkctrlError": "errors",
    "check": "analysis",
    "compare": "comparison",
    "simulate": "simulation",
    "sweep": "study",
    "tune": "tuning",
    "write_report": "report",
}
"""The module of each public name."""

__all__ = [
    "Budget",
    "Check",
    "Command",
    "Comparison",
    "Constraint",
    "Controller",
    "Dynamics",
    "Factor",
    "Law",
    "Result",
    "Robot",
    "Rows",
    "Scenario",
    "Snapshot",
    "Stack",
    "Study",
    "Task",
    "Tuned",
    "UkctrlError",
    "check",
    "compare",
    "simulate",
    "sweep",
    "tune",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ukctrl' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"ukctrl.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
