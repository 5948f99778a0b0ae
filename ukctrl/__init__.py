"""ukctrl: servo-constraint control of robots, from the mathematics to a reproducible run.

Everything that a script, or a part of one's own, needs comes from here, and is imported on first
use, so that ``import ukctrl`` costs nothing:

    from ukctrl import Scenario, simulate

    simulate(Scenario.load("scara-helix")).metric("rms_phi")

What stands deeper is free to move.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ukctrl import control, robot, uk
    from ukctrl.analysis import conformance as testing
    from ukctrl.analysis.check.check import check
    from ukctrl.analysis.check.check_figure import check_figure
    from ukctrl.analysis.check.findings import Check
    from ukctrl.analysis.internal_dynamics.internal_dynamics import internal_dynamics
    from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import internal_dynamics_figure
    from ukctrl.analysis.linear.analysis import analyze
    from ukctrl.analysis.linear.design import designed
    from ukctrl.analysis.linear.linear_loop import linear_loop
    from ukctrl.control import Command, Controller, Law, Signal, Task
    from ukctrl.control.allocation import Allocation, Allocator
    from ukctrl.control.feedback import Feedback
    from ukctrl.core.arrays import Matrix, Vector
    from ukctrl.core.errors import InfeasibleConstraint, InputError, UkctrlError
    from ukctrl.core.fields import NonNegative, Positive, spec
    from ukctrl.core.files import catalog
    from ukctrl.mechanics import constraints, integrability, motion, pseudoinverse, reference
    from ukctrl.mechanics.constraints import Attached, Constraint, Rows, Stack
    from ukctrl.mechanics.dynamics import Dynamics
    from ukctrl.mechanics.linearise.equilibrium import equilibrium
    from ukctrl.mechanics.linearise.linearization import linearize
    from ukctrl.reports import plot
    from ukctrl.reports.run_page import write_report
    from ukctrl.robot import Robot, Snapshot
    from ukctrl.simulation import effects
    from ukctrl.simulation.effects import Effect
    from ukctrl.simulation.handover import Runtime
    from ukctrl.simulation.result import metrics
    from ukctrl.simulation.result.result import Result
    from ukctrl.simulation.scenario import Scenario
    from ukctrl.simulation.simulate import simulate
    from ukctrl.studies.comparison.compare import compare
    from ukctrl.studies.comparison.comparison import Comparison
    from ukctrl.studies.insight import Insight, write_study_report
    from ukctrl.studies.sweep.factor import Factor
    from ukctrl.studies.sweep.study import Study
    from ukctrl.studies.sweep.sweep import sweep
    from ukctrl.studies.tuning.search import Budget
    from ukctrl.studies.tuning.tune import tune
    from ukctrl.studies.tuning.tuned import Tuned

_NAMES = {
    "analysis.check.check": "check",
    "analysis.check.check_figure": "check_figure",
    "analysis.check.findings": "Check",
    "analysis.internal_dynamics.internal_dynamics": "internal_dynamics",
    "analysis.internal_dynamics.internal_dynamics_figure": "internal_dynamics_figure",
    "analysis.linear.analysis": "analyze",
    "analysis.linear.design": "designed",
    "analysis.linear.linear_loop": "linear_loop",
    "control": "Command Controller Law Signal Task",
    "control.allocation": "Allocation Allocator",
    "control.feedback": "Feedback",
    "core.arrays": "Matrix Vector",
    "core.errors": "InfeasibleConstraint InputError UkctrlError",
    "core.fields": "NonNegative Positive spec",
    "mechanics.constraints": "Attached Constraint Rows Stack",
    "mechanics.dynamics": "Dynamics",
    "mechanics.linearise.equilibrium": "equilibrium",
    "mechanics.linearise.linearization": "linearize",
    "reports.run_page": "write_report",
    "robot": "Robot Snapshot",
    "simulation.effects": "Effect",
    "simulation.handover": "Runtime",
    "simulation.result.result": "Result",
    "simulation.scenario": "Scenario",
    "simulation.simulate": "simulate",
    "studies.comparison.compare": "compare",
    "studies.comparison.comparison": "Comparison",
    "studies.insight": "Insight write_study_report",
    "studies.sweep.factor": "Factor",
    "studies.sweep.study": "Study",
    "studies.sweep.sweep": "sweep",
    "studies.tuning.search": "Budget",
    "studies.tuning.tune": "tune",
    "studies.tuning.tuned": "Tuned",
}
"""The names that each module gives to `ukctrl`."""
_MODULES = {
    "catalog": "core.files.catalog",
    "constraints": "mechanics.constraints",
    "control": "control",
    "effects": "simulation.effects",
    "integrability": "mechanics.integrability",
    "metrics": "simulation.result.metrics",
    "motion": "mechanics.motion",
    "plot": "reports.plot",
    "pseudoinverse": "mechanics.pseudoinverse",
    "reference": "mechanics.reference",
    "robot": "robot",
    "testing": "analysis.conformance",
    "uk": "uk",
}
"""The modules that `ukctrl` gives as a whole."""
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Allocation",
    "Allocator",
    "Attached",
    "Budget",
    "Check",
    "Command",
    "Comparison",
    "Constraint",
    "Controller",
    "Dynamics",
    "Effect",
    "Factor",
    "Feedback",
    "InfeasibleConstraint",
    "InputError",
    "Insight",
    "Law",
    "Matrix",
    "NonNegative",
    "Positive",
    "Result",
    "Robot",
    "Rows",
    "Runtime",
    "Scenario",
    "Signal",
    "Snapshot",
    "Stack",
    "Study",
    "Task",
    "Tuned",
    "UkctrlError",
    "Vector",
    "analyze",
    "catalog",
    "check",
    "check_figure",
    "compare",
    "constraints",
    "control",
    "designed",
    "effects",
    "equilibrium",
    "integrability",
    "internal_dynamics",
    "internal_dynamics_figure",
    "linear_loop",
    "linearize",
    "metrics",
    "motion",
    "plot",
    "pseudoinverse",
    "reference",
    "robot",
    "simulate",
    "spec",
    "sweep",
    "testing",
    "tune",
    "uk",
    "write_report",
    "write_study_report",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(f"ukctrl.{_MODULES[name]}")
    elif name in _HOME:
        value = getattr(importlib.import_module(f"ukctrl.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'ukctrl' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
