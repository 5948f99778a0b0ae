"""What `check` finds: plain data, for people and for programs."""

from __future__ import annotations

import dataclasses as dc
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from ukctrl.analysis.check.contact_phases import LiftInterval
from ukctrl.analysis.check.input_feasibility import Feasibility, InputCurves
from ukctrl.analysis.check.loop_stability import LoopStability, TrialRun
from ukctrl.analysis.check.motion_end import MotionEnd
from ukctrl.analysis.check.motion_ranks import MotionRanks, SingularValueCurves, WeakAuthority
from ukctrl.analysis.check.safety_feasibility import SafetyFeasibility, SlackCurves
from ukctrl.analysis.check.task_motion import Kind
from ukctrl.analysis.check.timing import PathTiming, SampledError
from ukctrl.analysis.internal_dynamics import InternalDynamics
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.core.verdict import Level
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.uk import RankReport

Readiness = Literal["ready", "warnings", "not ready"]

Actuation = Literal["fully", "under", "redundantly"]


class Integrability(Protocol):
    """What `ukctrl.classify` returns, as far as it is used here."""

    @property
    def rows(self) -> tuple[Any, ...]:
        """Name, kind and integral of each row."""

    @property
    def degree(self) -> int:
        """Degree of nonholonomy."""

    @property
    def witness(self) -> str:
        """Why the rows do not integrate."""

    def sentence(self) -> str:
        """Return the answer in words."""


@dc.dataclass(frozen=True, kw_only=True)
class RowCheck:
    """One servo row at the start."""

    name: str
    unit: str
    phi: float
    """Position error [unit]; NaN where the row is nonholonomic."""
    beta: float
    """Velocity error [unit/s]."""
    reach: float
    """Part of the demanded acceleration that no input can give [unit/s^2]."""
    relative_degree: int | None
    """How often the row is differentiated until the input appears: 2 (1 for a nonholonomic
    row) where the motors have grip, more where they have none; None where it is not certain."""
    relative_degree_at_least: int
    """The same number where it is certain; else a bound."""
    relative_degree_note: str
    """Why it is not certain; empty where it is."""
    integrable: bool | None
    """Whether the row is, or integrates to, one on positions; None where that is undecided."""


@dc.dataclass(frozen=True, kw_only=True)
class TaskMotionSummary:
    """The motion that the task asks for, and how far it could be worked out."""

    kind: Kind
    """How it was worked out; see `ukctrl.analysis.check.task_motion`."""
    start: float
    """[s]."""
    end: float
    """Where the run ends [s]."""
    reached: float
    """Where the motion ends [s]."""
    stop: MotionEnd | None
    """Why before the run does; None where it lasts as long."""
    yields: tuple[str, ...]
    """Blocks of rows that the law gives up for those before them."""
    lifted: tuple[LiftInterval, ...] = ()
    """When contacts are lifted meanwhile, by plan of the law."""
    why: str
    """Why there is no motion, or no more than a path; empty where there is one."""
    approach: float | None
    """When the law has brought a start off the rows back to them [s]; the end of the run where that
    is not known before, None from a start on the rows."""
    lost: str
    """Why the run ends on that way; empty where it does not."""


@dc.dataclass(frozen=True, kw_only=True)
class StartCheck:
    """What the start alone tells."""

    moved: dict[str, float]
    """How far ``start.solve`` moved the start, by unit; empty where it was not asked to."""
    sharing: tuple[str, ...]
    """Passive rows that share their load in a way that no motion tells."""
    freedoms: int
    """Degrees of freedom ``nv``."""
    mobility: int
    """Freedoms that the passive constraints leave."""
    motors: int
    actuation: Actuation
    """Whether the motors reach all of the mobility, part of it, or all in more than one way."""
    passive: RankReport
    """Ranks of the passive rows ``A_p``, of unit length in mass-weighted coordinates."""
    servo: RankReport
    """Ranks of the servo rows ``A``."""
    grip: RankReport
    """Ranks of ``H = A G``: how the motors hold the rows."""
    rows: tuple[RowCheck, ...]
    velocity_rows: Integrability | None
    """Which rows on velocities are truly nonholonomic, the passive rows given; None where there
    is no row on velocities."""
    inputs: dict[str, float]
    """Input at the start by actuator [N m or N]; empty when none is possible."""
    over_limit: tuple[str, ...]
    """Actuators whose start input is beyond a limit, at the speed of the start."""


class OptimisedSummary(NamedTuple):
    """The motion of optimised paths."""

    text: str
    """It, in words."""
    end: float
    """When it ends [s]."""


@dc.dataclass(frozen=True, kw_only=True)
class MotionCheck:
    """What the motion that the task asks for tells."""

    way: TaskMotionSummary
    """The motion along which the answers below are given."""
    ranks: MotionRanks | None
    """Mobility, ranks and realisation along the motion; None without one."""
    feasibility: Feasibility | None
    """Peaks of motors, joints and ground along the motion; None without one."""
    sampling: SampledError | None
    """The control period against the error dynamics; None where the law's error is not linear."""
    stability: LoopStability | None = None
    """The poles of the whole loop; None where it was not looked at."""
    stability_unknown: str = ""
    """Why it was not, else empty."""
    trial: TrialRun | None = None
    """A run that was tried, where the poles do not decide."""
    weak_grip: WeakAuthority | None = None
    """Where the motors' grip of the rows is weakest, the start included; None where it is firm."""
    timing: PathTiming | None = None
    """How much faster or slower than the robot allows it is; None where nothing limits it."""
    optimum: OptimisedSummary | None = None
    """The motion of optimised paths; None where there is none."""
    kept: SafetyFeasibility | None = None
    """How much of it is feasible with what the law keeps; None where it keeps nothing, or that is
    not known."""
    left: SlackCurves | None = None
    """What it leaves of what is kept, for figures."""
    kept_unknown: str = ""
    """Why that has no answer along it, such as a formula without a value there; else empty."""
    curves: SingularValueCurves | None = None
    """Singular values along the motion, for figures."""
    loads: InputCurves | None = None
    """Inputs along the motion, for figures."""


class Diagnostic(NamedTuple):
    """One sentence of `check`, and what orders it."""

    level: Level
    subject: str
    """What it is about, in a word: see `CAUSED_BY` in `ukctrl.analysis.check.diagnostics`."""
    text: str
    time: float | None = None
    """When it is worst [s]; None where it is said of the whole run."""
    remedy: str = ""
    """What to do; empty where the text says it, or nothing is known."""


class RootCause(NamedTuple):
    """A judgement that follows from no other, with those that follow from it."""

    level: Level
    """The gravest of all of them."""
    text: str
    cure: str
    follows: tuple[Diagnostic, ...]

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data for programs."""
        follows = [{"level": effect.level, "text": effect.text} for effect in self.follows]
        return {"level": self.level, "text": self.text, "cure": self.cure, "follows": follows}


@dc.dataclass(frozen=True, kw_only=True)
class Check(NotebookRepr):
    """What `check` found. ``problems`` empty means that a run can start."""

    repr_module: ClassVar[str] = "ukctrl.analysis.check.check_report"

    scenario: str
    robot: str
    start: StartCheck
    motion: MotionCheck
    internal: InternalDynamics | None
    """What the servo rows leave to itself, and what becomes of it; None without servo rows, of a
    large robot, and where it is not known."""
    findings: tuple[str, ...]
    """What the model's audit says."""
    causes: tuple[RootCause, ...]
    """What all of that means for a run, by cause: the gravest first, with what follows from it."""
    judgements: tuple[Diagnostic, ...]
    """The same one by one, in that order."""

    def __repr__(self) -> str:
        counts = f"{len(self.problems)} problems, {len(self.warnings)} warnings"
        return f"<Check of {self.scenario!r}: {self.verdict}; {counts}>"

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a run cannot start or cannot hold the task."""
        return self._texts("bad")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where the task asks for more than the robot has, though a run can start."""
        return self._texts("warning")

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing, but no obstacle."""
        return self._texts("note")

    def _texts(self, level: Level) -> tuple[str, ...]:
        return tuple(diagnostic.text for diagnostic in self.judgements if diagnostic.level == level)

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way of a run."""
        return not self.problems

    @property
    def verdict(self) -> Readiness:
        """The whole in a word."""
        if self.problems:
            return "not ready"
        return "warnings" if self.warnings else "ready"

    def to_dict(self, curves: bool = False) -> dict[str, Any]:
        """Return the findings as plain data for programs.

        Args:
            curves: Whether to add the curves over time.
        """
        start, motion = self.start, self.motion
        table = {
            **attributes_of(self, "verdict", "ok", "scenario", "robot"),
            **dc.asdict(start),
            **dc.asdict(dc.replace(motion, curves=None, loads=None, left=None)),
            "internal": None if self.internal is None else self.internal.to_dict(),
            **attributes_of(self, "findings", "problems", "warnings", "notes"),
            "causes": [cause.to_dict() for cause in self.causes],
        }
        del table["curves"], table["loads"], table["left"]
        if start.velocity_rows is not None:
            table["velocity_rows"]["degree"] = start.velocity_rows.degree
        if curves and motion.curves is not None and motion.loads is not None:
            loads, back = dc.replace(motion.loads, approach=None), motion.loads.approach
            over = {**dc.asdict(motion.curves), **dc.asdict(loads)}
            over |= {"approach_t": back.motion.t, "approach": back.u} if back is not None else {}
            if motion.left is not None:
                over |= {"kept": motion.left.slack, "kept_feasible": motion.left.feasible}
            table["curves"] = {
                name: values.tolist() for name, values in over.items() if values is not None
            }
        plain: dict[str, Any] = finite_or_none(table)
        return plain
