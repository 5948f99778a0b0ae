"""ukctrl: servo-constraint control of robots, from the mathematics to a reproducible run.

Everything that a script, or a part of one's own, needs comes from here, and is imported on first
use, so that ``import ukctrl`` costs nothing:

    from ukctrl import Scenario, simulate

    simulate(Scenario.load("scara-helix")).metric("rms_phi")

What stands deeper is free to move. In order: ``core``; ``robot`` and ``uk``; ``mechanics``,
``control``, ``simulation``, ``reports``; ``analysis``, ``papers`` and ``studies``; ``cli``.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ukctrl import control, papers, robot, uk
    from ukctrl.analysis import conformance as testing
    from ukctrl.analysis import linear
    from ukctrl.analysis.check.check import check
    from ukctrl.analysis.check.check_figure import check_figure
    from ukctrl.analysis.check.findings import Check
    from ukctrl.analysis.check.reach_figure import reach_figure
    from ukctrl.analysis.check.reach_map import ReachMap, reach_map
    from ukctrl.analysis.internal_dynamics.internal_dynamics import internal_dynamics
    from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import internal_dynamics_figure
    from ukctrl.analysis.internal_dynamics.internal_dynamics_record import InternalDynamics
    from ukctrl.analysis.linear.analysis import analyze
    from ukctrl.analysis.linear.design import designed
    from ukctrl.analysis.linear.linear_loop import linear_loop
    from ukctrl.control.allocation.allocation import Allocation, Allocator
    from ukctrl.control.controller import Controller, Law
    from ukctrl.control.disturbance.observer import BoundObserver, DisturbanceObserver
    from ukctrl.control.feedback.feedback import Feedback
    from ukctrl.control.fuzzy_gain import Fuzzy, fuzzy_gain
    from ukctrl.control.task import Signal, Task
    from ukctrl.control.terms import Terms
    from ukctrl.control.tick import Command
    from ukctrl.core import errors, fields, number_text, statistics
    from ukctrl.core.algebra.threads import one_blas_thread
    from ukctrl.core.arrays import Matrix, Vector
    from ukctrl.core.errors import InfeasibleConstraint, InputError, UkctrlError
    from ukctrl.core.fields import NonNegative, Positive, spec
    from ukctrl.core.files import catalog, zoo
    from ukctrl.mechanics import (
        constraints,
        derivatives,
        motion,
        pseudoinverse,
        reference,
        relative_degree,
    )
    from ukctrl.mechanics.constraints import Attached, Constraint, Rows, Stack
    from ukctrl.mechanics.dynamics import Dynamics
    from ukctrl.mechanics.integrability.classify import classify
    from ukctrl.mechanics.linearise.equilibrium import equilibrium
    from ukctrl.mechanics.linearise.linearization import linearize
    from ukctrl.papers.reproduction_page import write_reproduction
    from ukctrl.reports import plot
    from ukctrl.reports.run_page import write_report
    from ukctrl.reports.scene.camera import Camera
    from ukctrl.reports.scene.film import record
    from ukctrl.robot import Robot, Snapshot
    from ukctrl.simulation import effects, observers
    from ukctrl.simulation.effects import Effect
    from ukctrl.simulation.handover.runtime import Runtime, replay
    from ukctrl.simulation.loop import Loop
    from ukctrl.simulation.result import metrics
    from ukctrl.simulation.result.result import Result
    from ukctrl.simulation.result.verdicts import judge
    from ukctrl.simulation.scenario import Scenario
    from ukctrl.simulation.scenario.part_kinds import part_kinds
    from ukctrl.simulation.simulate import simulate
    from ukctrl.studies import insight, tuning
    from ukctrl.studies.batch.cluster import cluster
    from ukctrl.studies.comparison.compare import compare
    from ukctrl.studies.comparison.comparison import Comparison
    from ukctrl.studies.comparison.comparison_page import write_comparison
    from ukctrl.studies.comparison.entry import Entry
    from ukctrl.studies.comparison.front_runs import Front
    from ukctrl.studies.comparison.fronts import Fronts
    from ukctrl.studies.comparison.law_front import FrontPoint, LawFront
    from ukctrl.studies.insight import Insight, write_study_report
    from ukctrl.studies.learning.learn import learn
    from ukctrl.studies.learning.practice import Practice
    from ukctrl.studies.learning.practice_page import write_practice
    from ukctrl.studies.learning.update import Learning
    from ukctrl.studies.sweep.factor import Factor
    from ukctrl.studies.sweep.spread import Levels
    from ukctrl.studies.sweep.study import Study
    from ukctrl.studies.sweep.sweep import sweep
    from ukctrl.studies.tuning.plants import Plants
    from ukctrl.studies.tuning.search import Budget
    from ukctrl.studies.tuning.tune import tune
    from ukctrl.studies.tuning.tuned import Tuned
    from ukctrl.studies.tuning.tuning_page import write_tuned

__version__: str
"""The version that is installed, such as ``0.1.0``."""

__all__ = [
    "Allocation",
    "Allocator",
    "Attached",
    "BoundObserver",
    "Budget",
    "Camera",
    "Check",
    "Command",
    "Comparison",
    "Constraint",
    "Controller",
    "DisturbanceObserver",
    "Dynamics",
    "Effect",
    "Entry",
    "Factor",
    "Feedback",
    "Front",
    "FrontPoint",
    "Fronts",
    "Fuzzy",
    "InfeasibleConstraint",
    "InputError",
    "Insight",
    "InternalDynamics",
    "Law",
    "LawFront",
    "Learning",
    "Levels",
    "Loop",
    "Matrix",
    "NonNegative",
    "Plants",
    "Positive",
    "Practice",
    "ReachMap",
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
    "Terms",
    "Tuned",
    "UkctrlError",
    "Vector",
    "analyze",
    "catalog",
    "check",
    "check_figure",
    "classify",
    "cluster",
    "compare",
    "constraints",
    "control",
    "derivatives",
    "designed",
    "effects",
    "equilibrium",
    "errors",
    "fields",
    "fuzzy_gain",
    "insight",
    "internal_dynamics",
    "internal_dynamics_figure",
    "judge",
    "learn",
    "linear",
    "linear_loop",
    "linearize",
    "metrics",
    "motion",
    "number_text",
    "observers",
    "one_blas_thread",
    "papers",
    "part_kinds",
    "plot",
    "pseudoinverse",
    "reach_figure",
    "reach_map",
    "record",
    "reference",
    "relative_degree",
    "replay",
    "robot",
    "simulate",
    "spec",
    "statistics",
    "sweep",
    "testing",
    "tune",
    "tuning",
    "uk",
    "write_comparison",
    "write_practice",
    "write_report",
    "write_reproduction",
    "write_study_report",
    "write_tuned",
    "zoo",
]


@functools.cache
def _homes() -> dict[str, tuple[str, str]]:
    """Return the module and the name there of each name, from the imports above."""
    import ast
    import pkgutil

    tree = ast.parse(pkgutil.get_data(__name__, "__init__.py") or b"")
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ukctrl.core.version import installed_version

        return installed_version()
    if name not in __all__:
        raise AttributeError(f"module 'ukctrl' has no attribute '{name}'")
    module, own = _homes()[name]
    home = vars(importlib.import_module(module))
    value = globals()[name] = home.get(own) or importlib.import_module(f"{module}.{own}")
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
