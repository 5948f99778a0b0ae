"""From logs of a robot to its parameters, and to whether they may be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.robot import Robot
from ukctrl_identification.base_parameters import (
    BaseParameters,
    Excitation,
    base_parameters,
    excitation,
)
from ukctrl_identification.consistent_parameters import ConsistentFit, consistent_fit
from ukctrl_identification.friction_scales import SCALES, friction_scales
from ukctrl_identification.identified_dynamics import IdentifiedDynamics, JointFriction
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.least_squares import (
    Fit,
    robust_fit,
    samples_per_independent,
    weighted_fit,
)
from ukctrl_identification.measured_motion import Motion, measured_motions, motion_frequency
from ukctrl_identification.passive_motion import (
    FreeMotion,
    completed_motion,
    free_motion,
    passive_stack,
)
from ukctrl_identification.regression import Regression, known_force, stacked
from ukctrl_identification.validation import Residual, residual_of

HELD_OUT = 1.0 / 3.0
"""Share of each log, its last part, that the fit does not see."""
PROBES = 200
"""Random states that tell which parameters any motion could tell."""
METHODS = ("weighted", "ordinary", "robust")
Method = Literal["weighted", "ordinary", "robust"]
FrictionModel = Literal["none", "coulomb", "stribeck"]


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
    rows: tuple[str, ...]
    """Velocities whose equations were used."""
    training: Residual
    """Of the consistent parameters, where they were fitted."""
    unconstrained: Residual
    """Of the base parameters, on what was held out."""
    validation: Residual
    """Of the consistent parameters, on what was held out."""
    before: Residual
    """Of the robot's model as it was, on what was held out."""
    held_out: list[FreeMotion]
    cutoff: float
    """Of the filter [Hz]."""
    frequency: float
    """Below which nearly all of the motion lies [Hz]."""
    samples: tuple[int, int]
    """Of the fit, and held out."""
    sources: tuple[str, ...]

    @property
    def dynamics(self) -> IdentifiedDynamics:
        """Return what the robot's files are to say."""
        return identified_dynamics(self.regression, self.consistent.values)

    def predicted(self, values: Vector) -> Matrix:
        """Return the efforts that parameters ask for on what was held out, shape ``(n, k)``."""
        kept = np.ones(len(values), dtype=bool)
        zero = np.zeros(len(values))
        residuals = self.regression.residuals
        return residuals(self.held_out, kept, zero) - residuals(self.held_out, kept, values)


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
) -> Identification:
    """Return the parameters of a robot that logs tell.

    Args:
        robot: The robot, of a model file.
        logs: Its logs.
        validate: Logs to judge by; absent: the last third of each log, which is not fitted then.
        cutoff: Frequency of the filter [Hz]; absent: from the motion.
        friction: The model of the joints' friction.
        armature: Whether inertias of rotors are fitted; joint torque sensors do not feel them.
        method: ``weighted`` by each joint's noise, ``ordinary``, or ``robust`` against outliers.

    Raises:
        InputError: A log lacks what the equations need.
    """
    if not logs:
        raise InputError("at least one log is needed to identify a robot.")
    read = [_motions(robot, log, cutoff) for log in logs]
    cutoff = read[0][1] if cutoff is None else cutoff
    stretches = [stretch for some, _ in read for stretch in some]
    if validate:
        seen, unseen = stretches, [m for log in validate for m in _motions(robot, log, cutoff)[0]]
    else:
        seen, unseen = map(list, zip(*map(_divided, stretches), strict=True))
    motions, held_out = (
        [free_motion(robot, one, known_force(robot, one)) for one in some if len(one.time)]
        for some in (seen, unseen)
    )
    scales, slow = np.full(robot.nv, SCALES[1]), None
    if friction != "none":
        scales, slow = friction_scales(robot, motions, stribeck=friction == "stribeck")
    regression = Regression(robot, scales, slow, friction=friction != "none", armature=armature)
    base = structural_base(regression, motions[0])
    model = regression.model_values()
    prior = base.values(model)
    fit = _fitted(regression, motions, base, prior, method)
    consistent = consistent_fit(regression, base, fit, model)
    longest = max(stretches, key=lambda one: len(one.time))
    period, low_pass = float(longest.time[1] - longest.time[0]), longest.low_pass
    frequency = motion_frequency(longest.time, longest.q)
    values = {"fit": np.zeros(len(model)), "consistent": consistent.values, "model": model}
    values["fit"][base.independent] = fit.values
    everything = np.ones(len(model), dtype=bool)

    def judged(which: str, samples: list[FreeMotion]) -> Residual:
        e = regression.residuals(samples, everything, values[which])
        return residual_of(e, 1.0 / (period * low_pass.stride), frequency)

    return Identification(
        robot, regression, base, base.formulas(regression.parameters),
        excitation(fit.triangle[:, :-1]), fit, consistent,
        tuple(robot.dofs[row] for row in motions[0].rows), judged("consistent", motions),
        judged("fit", held_out), judged("consistent", held_out), judged("model", held_out),
        held_out, cutoff, frequency,
        (sum(len(one.motion.q) for one in motions), sum(len(one.motion.q) for one in held_out)),
        tuple(log.source for log in (*logs, *validate)),
    )  # fmt: skip


def _fitted(
    regression: Regression,
    motions: list[FreeMotion],
    base: BaseParameters,
    prior: Vector,
    method: Method,
) -> Fit:
    """Return the base parameters by a method."""
    kept, least = base.kept(), 1.0 / motions[0].motion.low_pass.independent
    triangles = regression.triangles(motions, kept)
    weighted, full = method != "ordinary", np.zeros(len(regression.parameters))
    thinning = np.full(len(triangles), least)
    fit = weighted_fit(triangles, base, thinning, prior, weighted=weighted)
    full[base.independent] = fit.values
    thinning = samples_per_independent(regression.residuals(motions, kept, full), least)
    fit = weighted_fit(triangles, base, thinning, prior, weighted=weighted)
    return robust_fit(regression, motions, base, thinning, fit) if method == "robust" else fit


def _motions(robot: Robot, log: JointLog, cutoff: float | None) -> tuple[list[Motion], float]:
    """Return the motion of a log, passive joints included, and the filter's frequency [Hz]."""
    if passive_stack(robot) is None:
        return measured_motions(robot, log, cutoff)
    known = [i for i, name in enumerate(robot.dofs) if _is_logged(robot, log, name)]
    home = robot.neutral if robot.home is None else robot.home
    still = {name: np.full(len(log.time), home[i]) for i, name in enumerate(robot.coordinates)}
    log = log._replace(position=still | log.position)
    motions, frequency = measured_motions(robot, log, cutoff)
    return [completed_motion(robot, one, known, home) for one in motions], frequency


def _is_logged(robot: Robot, log: JointLog, dof: str) -> bool:
    block = next(block for block in robot.blocks if dof in block.dofs)
    return all(name in log.position for name in block.coordinates)


def _divided(motion: Motion) -> tuple[Motion, Motion]:
    """Return the part of a motion that is fitted, and that which is held out."""
    first = int(len(motion.time) * (1.0 - HELD_OUT))
    return motion.part(slice(None, first)), motion.part(slice(first, None))


def structural_base(regression: Regression, motion: FreeMotion) -> BaseParameters:
    """Return the base parameters of a robot: those of motions of every kind.

    Of trees, at random states; of robots with passive constraints, at those of a motion, with
    other velocities and accelerations.
    """
    robot, rng = regression.robot, np.random.default_rng(0)
    n, nv = PROBES, robot.nv
    v, a = rng.normal(size=(2, n, nv))
    if motion.basis is None:
        q = np.array([robot.random(rng) for _ in range(n)])
        probe = Motion(np.arange(n) * 1.0, q, v, a, np.zeros((n, nv)))
        equations = FreeMotion(probe, motion.rows, None, np.zeros((n, nv)))
    else:
        some = motion.part(slice(None, None, max(1, len(motion.motion.q) // n)))
        q, k = some.motion.q, len(some.motion.q)
        probe = Motion(some.motion.time, q, v[:k], a[:k], some.motion.effort)
        probe = completed_motion(robot, probe, motion.rows, q[0])
        equations = free_motion(robot, probe, np.zeros((k, nv)))
    R = stacked(regression.triangles([equations]), len(regression.parameters))
    return base_parameters(R[:, :-1])


def identified_dynamics(regression: Regression, values: Vector) -> IdentifiedDynamics:
    """Return parameters, shape ``(p,)``, by joint, as files have them."""
    robot, symbols = regression.robot, dict[tuple[str, str], float]()
    for one, value in zip(regression.parameters, values, strict=True):
        symbols[one.owner, one.symbol] = float(value)
    joints = [str(name) for name in robot.model.names][1:]
    bodies = {
        joint: values[10 * k : 10 * k + 10].copy()
        for k, joint in enumerate(joints)
        if 10 * k < regression.inertial
    }
    armature = {
        name: symbols[name, "armature"] for name in robot.dofs if (name, "armature") in symbols
    }
    friction = {}
    for i, name in enumerate(robot.dofs):
        if (name, "coulomb") not in symbols:
            continue
        coulomb = symbols[name, "coulomb"]
        slow = regression.stribeck_velocity
        friction[name] = JointFriction(
            coulomb=coulomb,
            viscous=symbols[name, "viscous"],
            static=0.0 if slow is None else coulomb + symbols[name, "stribeck"],
            stribeck_velocity=0.1 if slow is None else float(slow[i]),
            velocity_scale=float(regression.velocity_scale[i]),
        )
    return IdentifiedDynamics(bodies, armature, friction)
