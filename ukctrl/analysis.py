"""What can be known of a scenario before it is simulated."""

from __future__ import annotations

import dataclasses as dc
from typing import Any, Literal

import numpy as np

from ukctrl import uk
from ukctrl.constraints import Integrability, Stack, classify_parts
from ukctrl.dynamics import Dynamics
from ukctrl.errors import InfeasibleConstraint, InputError, UkctrlError, quoted
from ukctrl.factor import Matrix
from ukctrl.free_motion import falling
from ukctrl.loop import Loop
from ukctrl.relative_degree import RelativeDegree, advice, relative_degrees
from ukctrl.scenario import Monitor, Scenario
from ukctrl.threads import one_blas_thread
from ukctrl.uk import RankReport

Actuation = Literal["fully", "under", "redundantly"]
CONSISTENT = 1e-6
"""A start this close to the constraints counts as on them [unit of phi, of beta]."""


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
class Check:
    """What `check` found. ``problems`` empty means that a run can start."""

    scenario: str
    robot: str
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
    findings: tuple[str, ...]
    """What the model's audit says."""
    problems: tuple[str, ...]
    """Why a run cannot start or cannot hold the task."""
    notes: tuple[str, ...]
    """What is worth knowing, but no obstacle."""

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way of a run."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for programs."""
        table = {**_plain(dc.asdict(self)), "ok": self.ok}
        if self.velocity_rows is not None:
            table["velocity_rows"]["degree"] = self.velocity_rows.degree
        return table


@one_blas_thread()
def check(scenario: Scenario) -> Check:
    """Look at a scenario at its start: ranks, actuation, grip, consistency, first input.

    Raises:
        InputError: The scenario does not fit its robot.
    """
    loop = Loop(scenario)
    q, v, _ = loop.state
    truth, servo = loop.truth, loop.recorder.servo
    truth.move(loop.t0, q, v)
    rows = servo.write(truth.snapshot)
    passive = truth.passive
    H = uk.servo_matrix(rows.A, truth.G, scenario.rank)
    d = rows.b - rows.A @ truth.a_free
    grip = uk.rank_report(H, servo.names, scenario.rank.servo)
    servo_rank = uk.rank_report(rows.A, servo.names, scenario.rank.servo)
    passive_rank = truth.passive_report()
    mobility = loop.robot.nv - passive_rank.rank
    actuation = _actuation(truth.G, mobility)
    residual = uk.reach_residual(H, d, scenario.rank)
    velocity_rows, remarks = _velocity_rows(passive, servo)
    integrable = _integrable(servo, velocity_rows)
    phi, beta = rows.phi.copy(), rows.beta.copy()  # the trials overwrite what they are given
    degrees = relative_degrees(truth, servo, loop.t0, q, v)
    row_checks = tuple(
        RowCheck(
            name=name,
            unit=servo.units[i],
            phi=float(phi[i]),
            beta=float(beta[i]),
            reach=float(abs(residual[i])),
            relative_degree=degrees[i].value,
            relative_degree_at_least=degrees[i].at_least,
            relative_degree_note=degrees[i].note,
            integrable=integrable[i],
        )
        for i, name in enumerate(servo.names)
    )
    needs_grip = scenario.controller.needs_grip
    instead = f" {advice(loop.robot)}" if needs_grip else ""
    problems, notes = _ranks(servo_rank, grip, degrees, instead)
    if not needs_grip:
        problems, notes = [], [*notes, *problems]
    notes.extend(remarks)
    inputs: dict[str, float] = {}
    try:
        command = loop.command(loop.t0, q, v, loop.state.memory)
        inputs = dict(zip(loop.robot.actuators, command.u.tolist(), strict=True))
    except InfeasibleConstraint as error:
        problems.append(str(error))
    except (UkctrlError, ArithmeticError) as error:
        problems.append(f"the controller cannot start: {error}")
    notes.extend(falling(loop, q))
    truth.move(loop.t0, q, v)
    beyond = _beyond_limits(inputs, truth)
    notes.extend(beyond.values())
    notes.extend(_consistency(row_checks))
    sharing = truth.sharing() if len(passive) else ()
    if sharing:
        notes.append(
            f"passive rows {quoted(sharing)} share their load in a way that no motion tells; their "
            "reactions are those of least norm."
        )
    problems.extend(_broken_closures(passive, scenario.monitor))
    return Check(
        scenario=scenario.name or scenario.title,
        robot=loop.robot.name,
        moved=loop.moved,
        sharing=sharing,
        freedoms=loop.robot.nv,
        mobility=mobility,
        motors=loop.robot.nu,
        actuation=actuation,
        passive=passive_rank,
        servo=servo_rank,
        grip=grip,
        rows=row_checks,
        velocity_rows=velocity_rows,
        inputs=inputs,
        over_limit=tuple(beyond),
        findings=tuple(f"{f.level}: {f.message}" for f in loop.robot.audit),
        problems=tuple(problems),
        notes=tuple(notes),
    )


def _velocity_rows(passive: Stack, servo: Stack) -> tuple[Integrability | None, list[str]]:
    """Classify the rows on velocities, passive and servo; the paths of the task are left out."""
    parts = [*passive.attached, *(part for part in servo.attached if not all(part.holonomic))]
    try:
        found = classify_parts(parts, servo.robot, closed_form=True)
    except InputError as error:
        return None, [f"the velocity rows cannot be classified: {error}"]
    if found is None:
        return None, []
    velocity = {
        name
        for part in parts
        for name, holonomic in zip(part.names, part.holonomic, strict=True)
        if not holonomic
    }
    notes = [
        f"velocity row '{row.name}' says that {row.integral} stays constant; written as phi it "
        "would hold a value."
        for row in found.rows
        if row.integral and row.name in velocity
    ]
    if found.witness:
        notes.append(f"velocity rows do not all integrate: {found.witness}.")
    return found, notes


def _integrable(servo: Stack, found: Integrability | None) -> list[bool | None]:
    kinds = {row.name: row.kind for row in found.rows} if found is not None else {}
    known: dict[str, bool | None] = {"holonomic": True, "nonholonomic": False}
    return [
        True if holonomic else known.get(kinds.get(name, "undecided"))
        for name, holonomic in zip(servo.names, servo.holonomic, strict=True)
    ]


def _actuation(G: Matrix, mobility: int) -> Actuation:
    reach = int(np.linalg.matrix_rank(G)) if G.size else 0
    if reach < mobility:
        return "under"
    return "redundantly" if G.shape[1] > mobility else "fully"


def _ranks(
    servo: RankReport, grip: RankReport, degrees: tuple[RelativeDegree, ...], instead: str
) -> tuple[list[str], list[str]]:
    problems, notes = [], []
    if servo.dependent:
        names = ", ".join(f"'{name}'" for name in servo.dependent)
        notes.append(f"servo rows {names} depend on the others; they are kept if consistent.")
    if grip.rank < servo.rank:
        problems.append(
            f"the motors hold {grip.rank} of {servo.rank} independent servo rows at the start: "
            "the rest has a higher relative degree, or is beyond the actuation."
        )
    for degree in degrees:
        held = degree.value is not None and degree.value <= 2
        if not held and degree.name not in servo.dependent:
            beyond = instead if degree.value is not None else ""
            instead = instead.removeprefix(beyond)  # said once
            problems.append(f"no motor accelerates row '{degree.name}': {degree.sentence}{beyond}")
    return problems, notes


def _beyond_limits(inputs: dict[str, float], truth: Dynamics) -> dict[str, str]:
    """Say of each input beyond what its motor gives at this speed by how much, by name."""
    rate = truth.snapshot.v @ truth.snapshot.B
    said = {}
    for name, low, high in zip(truth.robot.actuators, *truth.robot.input_bounds(rate), strict=True):
        u = inputs.get(name, low)
        if u > high:
            said[name] = f"input '{name}' starts at {u:.4g}, above its limit {high:.4g}."
        elif u < low:
            said[name] = f"input '{name}' starts at {u:.4g}, below its limit {low:.4g}."
    return said


def _broken_closures(passive: Stack, monitor: Monitor) -> list[str]:
    """Say which passive rows the start breaks by more than a run allows."""
    said = []
    for level, error, limit in (
        ("phi", passive.rows.phi, monitor.max_passive_phi),
        ("beta", passive.rows.beta, monitor.max_passive_beta),
    ):
        size = np.abs(np.nan_to_num(error))
        if np.linalg.norm(size) > limit:
            worst = int(np.argmax(size))
            said.append(
                f"the start breaks the passive constraints, most row '{passive.names[worst]}': "
                f"{level} = {error[worst]:.3g}. Correct it, or set start.solve = true."
            )
    return said


def _consistency(rows: tuple[RowCheck, ...]) -> list[str]:
    off = [row for row in rows if abs(row.phi) > CONSISTENT or abs(row.beta) > CONSISTENT]
    if not off:
        return []
    worst = max(off, key=lambda row: np.nanmax(np.abs([row.phi, row.beta])))
    phi = "" if np.isnan(worst.phi) else f"phi = {worst.phi:.3g} {worst.unit}, "
    return [
        f"the start is off the constraints, most on row '{worst.name}': {phi}"
        f"beta = {worst.beta:.3g} {worst.unit}/s. Feedback must bring it back, or set "
        "start.solve = true."
    ]


def _plain(value: Any) -> Any:
    """Return data that JSON can hold: NaN becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
