"""ukctrl: servo-constraint control of robots, from the mathematics to a reproducible run.

Everything that a script, or a part of one's own, needs comes from here, and is imported on first
use, so that ``import ukctrl`` costs nothing:

    from ukctrl import Scenario, simulate

    simulate(Scenario.load("scara-helix")).metric("rms_phi")

What stands deeper is free to move. In order: ``core``; ``robot`` and ``uk``; ``mechanics``,
``control``, ``simulation``, ``reports``; ``analysis`` and ``studies``; ``cli``. Packages of the
same wheel stand on all of it: ``ukctrl_laws``, laws of one robot or one method, and
``ukctrl_optimal``, motions of least effort or time, as plug-ins; ``ukctrl_film``, with ``Camera``
and ``record``; ``ukctrl_papers``, where ``papers``, ``motion``, ``pseudoinverse`` and ``classify``
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ukctrl_papers as papers
    from ukctrl import control, robot, uk
    from ukctrl.analysis import conformance as testing
    from ukctrl.analysis import linear
    from ukctrl.analysis.check.check_report import check_figure
    from ukctrl.analysis.check.check_result import Check
    from ukctrl.analysis.check.check_scenario import check
    from ukctrl.analysis.internal_dynamics.internal_dynamics import internal_dynamics
    from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import internal_dynamics_figure
    from ukctrl.analysis.internal_dynamics.internal_verdict import InternalDynamics
    from ukctrl.analysis.linear.design import designed
    from ukctrl.analysis.linear.linear_analysis import analyze
    from ukctrl.analysis.linear.linear_loop import linear_loop
    from ukctrl.control.allocation.allocation import Allocation, Allocator
    from ukctrl.control.command import Command
    from ukctrl.control.controller import Controller, Law
    from ukctrl.control.disturbance.disturbance_observer import BoundObserver, DisturbanceObserver
    from ukctrl.control.error_dynamics_spec import ErrorSpec
    from ukctrl.control.feedback.feedback import Feedback
    from ukctrl.control.task import Signal, Task
    from ukctrl.core import errors, fields, number_text, statistics
    from ukctrl.core.algebra.blas_threads import one_blas_thread
    from ukctrl.core.arrays import Matrix, Vector
    from ukctrl.core.errors import InfeasibleConstraint, InputError, UkctrlError
    from ukctrl.core.fields import NonNegative, Positive, spec
    from ukctrl.core.files import catalog, zoo
    from ukctrl.mechanics import constraints, derivatives, reference, relative_degree
    from ukctrl.mechanics.constraints import BoundConstraint, Constraint, Rows, Stack
    from ukctrl.mechanics.dynamics import Dynamics
    from ukctrl.mechanics.linearise.equilibrium import equilibrium
    from ukctrl.mechanics.linearise.linearization import linearize
    from ukctrl.reports import plot
    from ukctrl.reports.run_page import write_report
    from ukctrl.robot import Robot, Snapshot
    from ukctrl.simulation import effects, observers
    from ukctrl.simulation.assemble import Loop
    from ukctrl.simulation.effects import Effect
    from ukctrl.simulation.export.runtime import Runtime, replay
    from ukctrl.simulation.result import metrics
    from ukctrl.simulation.result.result import Result
    from ukctrl.simulation.result.verdicts import judge
    from ukctrl.simulation.scenario import Scenario
    from ukctrl.simulation.scenario.part_kinds import part_kinds
    from ukctrl.simulation.simulate import simulate
    from ukctrl.studies import sweep_analysis, tuning
    from ukctrl.studies.batch.dask_cluster import cluster
    from ukctrl.studies.comparison.compare import compare
    from ukctrl.studies.comparison.comparison import Comparison
    from ukctrl.studies.comparison.comparison_page import write_comparison
    from ukctrl.studies.comparison.entry import Entry
    from ukctrl.studies.comparison.front_settings import Front
    from ukctrl.studies.comparison.pareto_front import FrontPoint, Fronts, LawFront
    from ukctrl.studies.sweep.distributions import Levels
    from ukctrl.studies.sweep.factor import Factor
    from ukctrl.studies.sweep.study import Study
    from ukctrl.studies.sweep.sweep import sweep
    from ukctrl.studies.sweep_analysis import SweepAnalysis, write_study_report
    from ukctrl.studies.tuning.plants import Plants
    from ukctrl.studies.tuning.search import Budget
    from ukctrl.studies.tuning.tune import tune
    from ukctrl.studies.tuning.tuned import Tuned
    from ukctrl.studies.tuning.tuning_page import write_tuned
    from ukctrl_film.camera import Camera
    from ukctrl_film.film import record
    from ukctrl_laws.fuzzy.fuzzy_gain import Fuzzy, fuzzy_gain
    from ukctrl_laws.learning.ilc_update import Learning
    from ukctrl_laws.learning.learn import learn
    from ukctrl_laws.learning.learning_page import write_learning_result
    from ukctrl_laws.learning.learning_result import LearningResult
    from ukctrl_papers import motion, pseudoinverse
    from ukctrl_papers.integrability.classify import classify
    from ukctrl_papers.reproduction_page import write_reproduction

__version__: str
"""The version that is installed, such as ``0.1.0``."""

__all__ = [
    "Allocation",
    "Allocator",
    "BoundConstraint",
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
    "ErrorSpec",
    "Factor",
    "Feedback",
    "Front",
    "FrontPoint",
    "Fronts",
    "Fuzzy",
    "InfeasibleConstraint",
    "InputError",
    "InternalDynamics",
    "Law",
    "LawFront",
    "Learning",
    "LearningResult",
    "Levels",
    "Loop",
    "Matrix",
    "NonNegative",
    "Plants",
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
    "SweepAnalysis",
    "Task",
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
    "record",
    "reference",
    "relative_degree",
    "replay",
    "robot",
    "simulate",
    "spec",
    "statistics",
    "sweep",
    "sweep_analysis",
    "testing",
    "tune",
    "tuning",
    "uk",
    "write_comparison",
    "write_learning_result",
    "write_report",
    "write_reproduction",
    "write_study_report",
    "write_tuned",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ukctrl.core.version import installed_version

        return installed_version()
    from ukctrl.core.lazy_names import lazy_name

    return lazy_name(__name__, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
