"""From logs of a robot to its parameters, and to whether they may be believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.robot import Robot
from ukctrl_identification.base_parameters import (
    BaseParameters,
    Excitation,
    excitation,
)
from ukctrl_identification.consistent_parameters import ConsistentFit, consistent_fit
from ukctrl_identification.identified_dynamics import (
    SPRINGS,
    DofFriction,
    IdentifiedDynamics,
)
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.least_squares import (
    EquationSamples,
    Fit,
    instrumental_fit,
    robust_fit,
    samples_per_independent,
    weighted_fit,
)
from ukctrl_identification.logged_motions import logged_motions
from ukctrl_identification.measured_motion import Motion, motion_frequency
from ukctrl_identification.motion_equations import FrictionModel, MotionEquations
from ukctrl_identification.regression import Regression
from ukctrl_identification.robot_dynamics import with_dynamics
from ukctrl_identification.validation import Residual, open_loop_errors, residual_of

HELD_OUT = 1.0 / 3.0
"""Share of each log, its last part, that the fit does not see."""
Method = Literal["weighted", "ordinary", "robust", "instrumental"]


class Identification(NamedTuple):
    """What logs say of a robot."""

    robot: Robot
    """As its model has it."""
    regression: Regression
    base: BaseParameters
    formulas: list[str]
    """Each base parameter in parameters of links and joints."""
    excited: Excitation
    fit: Fit
    """The base parameters, by least squares alone."""
    consistent: ConsistentFit
    """All parameters, as bodies can have them."""
    dynamics: IdentifiedDynamics
    """The same, as the robot's files say them."""
    rows: tuple[str, ...]
    """Velocities whose equations were used."""
    training: Residual
    """Of the consistent parameters, where they were fitted."""
    validation: dict[str, Residual]
    """On what was held out: of ``consistent``, of ``fit``, and of the ``model`` as it was."""
    time: Vector
    """Of the filtered samples that were held out, shape ``(n,)`` [s]."""
    measured: Matrix
    """Their efforts, shape ``(n, k)``."""
    predicted: dict[str, Matrix]
    """What the same three ask for there, shape ``(n, k)`` each."""
    open_loop: dict[str, Matrix]
    """Errors of ``consistent`` and ``model`` left to the logged efforts; see
    `open_loop_errors`."""
    cutoff: float
    """Of the filter [Hz]."""
    frequency: float
    """Below which nearly all of the motion lies [Hz]."""
    samples: tuple[int, int]
    """Of the fit, and held out."""
    sources: tuple[str, ...]

    def motor_constants(self) -> Iterator[tuple[str, float, float, str]]:
        """Yield velocity, motor constant, its deviation and its unit of motors with currents."""
        deviations = np.sqrt(np.diag(self.consistent.covariance))
        for one, value, deviation in zip(
            self.regression.parameters, self.consistent.values, deviations, strict=True
        ):
            if one.symbol == "motor_constant":
                yield one.owner, float(value), float(deviation), one.unit

    def unit(self, row: int) -> str:
        """Return the unit of an equation."""
        unit = self.robot.dof_units[self.robot.dofs.index(self.rows[row])]
        return "N m" if unit.startswith("rad") else "N"


@explain_argument_errors
def identify(
    robot: Robot,
    logs: Sequence[JointLog],
    *,
    validate: Sequence[JointLog] = (),
    cutoff: float | None = None,
    friction: FrictionModel = "coulomb",
    armature: bool = False,
    method: Method = "weighted",
    known: Sequence[str] = (),
) -> Identification:
    """Return the parameters of a robot that logs tell.

    Args:
        robot: The robot, of a model file.
        logs: Its logs.
        validate: Logs to judge by; absent: the last third of each log, which is not fitted then.
        cutoff: Frequency of the filter [Hz]; absent: from the motion.
        friction: The model of the joints' friction.
        armature: Whether inertias of rotors are fitted; joint torque sensors do not feel them.
        method: ``weighted`` by each joint's noise, ``ordinary``, ``robust`` against outliers, or
            ``instrumental``, which noise of positions does not bias, of logs with asked positions.
        known: Links whose bodies are as the model has them, such as a payload that was weighed.
            Of motors with logged currents and no constants, something must be: all else follows
            from it (Gautier & Briot, "Global identification of joint drive gains and dynamic
            parameters of robots", ASME J. Dyn. Sys. Meas. Control 136, 2014).

    Raises:
        InputError: A log lacks what the equations need.
    """
    if not logs:
        raise InputError("at least one log is needed to identify a robot.")
    read = [logged_motions(robot, log, cutoff) for log in logs]
    cutoff = read[0][1] if cutoff is None else cutoff
    stretches = [stretch for some, _ in read for stretch in some]
    if validate:
        others = (logged_motions(robot, log, cutoff)[0] for log in validate)
        seen, held_back = stretches, [motion for some in others for motion in some]
    else:
        seen, held_back = map(list, zip(*map(_divided, stretches), strict=True))
    equations = MotionEquations.of(robot, seen, known)
    motions, held_out = equations.free_motions(seen), equations.free_motions(held_back)
    samples = equations.samples(motions, friction, armature=armature)
    fit = _fitted(samples, samples.base.values(samples.regression.model_values()), method)
    if method == "instrumental":
        asked_motions = [
            one for log in logs for one in logged_motions(robot, _as_asked(log), cutoff)[0]
        ]
        asked_motions = asked_motions if validate else [_divided(one)[0] for one in asked_motions]
        fit = instrumental_fit(
            samples, equations.with_independent_noise(equations.free_motions(asked_motions)), fit
        )
    regression, base, model = samples.regression, samples.base, samples.regression.model_values()
    consistent = consistent_fit(regression, base, fit, model)
    longest = max(stretches, key=lambda one: len(one.time))
    rate = 1.0 / (longest.low_pass.stride * float(longest.time[1] - longest.time[0]))
    frequency = motion_frequency(longest.time, longest.q)
    values = {"fit": np.zeros(len(model)), "consistent": consistent.values, "model": model}
    values["fit"][base.independent] = fit.values
    # an ampere is the same effort in all
    constants = [one.symbol == "motor_constant" for one in regression.parameters]
    all_values = np.array([0.0 * model, *values.values()])
    all_values[:, constants] = consistent.values[constants]
    measured, *residuals = regression.residuals(held_out, regression.asked, all_values)
    if known:  # their share is part of what was measured
        whole = equations._replace(known=()).free_motions(held_back)
        measured = regression.residuals(whole, regression.asked, all_values[0])
    unseen_by = dict(zip(values, residuals, strict=True))
    dynamics = identified_dynamics(regression, consistent.values)
    offset = regression.by_velocity("offset", consistent.values)
    factor = regression.by_velocity("motor_constant", consistent.values)
    unseen_motion = [_with_efforts(one.motion, factor) for one in held_out]
    return Identification(
        robot=robot,
        regression=regression,
        base=base,
        formulas=base.formulas(regression.parameters),
        excited=excitation(fit.triangle[:, :-1]),
        fit=fit,
        consistent=consistent,
        dynamics=dynamics,
        rows=tuple(robot.dofs[row] for row in motions[0].rows),
        training=residual_of(
            regression.residuals(motions, regression.asked, consistent.values), rate, frequency
        ),
        validation={source: residual_of(e, rate, frequency) for source, e in unseen_by.items()},
        time=np.concatenate(
            [one.time[one.low_pass.instants(len(one.time))] for one in unseen_motion]
        ),
        measured=measured,
        predicted={source: measured - e for source, e in unseen_by.items()},
        open_loop={
            "consistent": open_loop_errors(with_dynamics(robot, dynamics), unseen_motion, offset),
            "model": open_loop_errors(robot, unseen_motion, np.zeros(robot.nv)),
        },
        cutoff=cutoff,
        frequency=frequency,
        samples=(
            sum(len(one.motion.q) for one in motions),
            sum(len(one.time) for one in unseen_motion),
        ),
        sources=tuple(log.source for log in (*logs, *validate)),
    )


def _with_efforts(motion: Motion, constants: Vector) -> Motion:
    """Return a motion with the efforts that its currents make, by constants, shape ``(nv,)``."""
    if motion.current is None:
        return motion
    known = ~np.isnan(motion.current)
    return motion._replace(effort=np.where(known, motion.current * constants, motion.effort))


def _as_asked(log: JointLog) -> JointLog:
    """Return a log of the motion that was asked for."""
    missing = [name for name in log.position if name not in log.asked]
    if missing:
        raise InputError(
            f"{log.source}: method 'instrumental' needs the positions that were asked for, as "
            f"'asked' of the table [log]; those of {quoted(missing)} are missing."
        )
    return log._replace(position=dict(log.asked), velocity={}, acceleration={})


def _fitted(samples: EquationSamples, prior: Vector, method: Method) -> Fit:
    """Return the base parameters by a method."""
    counts = [len(one.motion.q) / one.motion.low_pass.stride for one in samples.motions]
    shares = [one.motion.low_pass.independent for one in samples.motions]
    least = sum(counts) / float(np.dot(counts, shares))
    triangles = samples.triangles()
    weighted, thinning = method != "ordinary", np.full(len(triangles), least)
    fit = weighted_fit(triangles, samples.base, thinning, prior, weighted=weighted)
    thinning = samples_per_independent(samples.residuals(fit.values), least)
    fit = weighted_fit(triangles, samples.base, thinning, prior, weighted=weighted)
    return robust_fit(samples, fit) if method == "robust" else fit


def _divided(motion: Motion) -> tuple[Motion, Motion]:
    """Return the part of a motion that is fitted, and that which is held out."""
    first = int(len(motion.time) * (1.0 - HELD_OUT))
    return motion.part(slice(None, first)), motion.part(slice(first, None))


def identified_dynamics(regression: Regression, values: Vector) -> IdentifiedDynamics:
    """Return parameters, shape ``(p,)``, by joint, as files have them."""
    robot, symbols = regression.robot, dict[tuple[str, str], float]()
    for one, value in zip(regression.parameters, values, strict=True):
        symbols[one.owner, one.symbol] = float(value)
    bodies, armature, friction = {}, dict[str, float](), {}
    for block in robot.blocks:
        body = values[10 * (block.joint - 1) : 10 * block.joint].copy()
        if block.rotor:
            armature[block.dofs[0]] = float(body[9])
        else:
            bodies[block.name] = body
    for i, name in enumerate(robot.dofs):
        if (name, "armature") in symbols:
            armature[name] = symbols[name, "armature"]
        if (name, "coulomb") not in symbols:
            continue
        coulomb, slow = symbols[name, "coulomb"], regression.stribeck_velocity
        friction[name] = DofFriction(
            coulomb=coulomb,
            viscous=symbols[name, "viscous"],
            static=0.0 if slow is None else max(coulomb, coulomb + symbols[name, "stribeck"]),
            stribeck_velocity=0.1 if slow is None else float(slow[i]),
            velocity_scale=float(regression.velocity_scale[i]),
        )
    springs = () if robot.elastic is None else robot.elastic.joints
    return IdentifiedDynamics(
        bodies,
        armature,
        friction,
        *({name: symbols[name, symbol] for name in springs} for symbol in SPRINGS),
    )
