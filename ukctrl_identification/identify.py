"""From logs of a robot to its parameters, and to whether they may be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.robot import Robot
from ukctrl_identification.base_parameters import (
    BaseParameters,
    Excitation,
    base_parameters,
    excitation,
)
from ukctrl_identification.consistent_parameters import ConsistentFit, consistent_fit
from ukctrl_identification.friction_scales import friction_scales
from ukctrl_identification.identified_dynamics import IdentifiedDynamics, JointFriction
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.least_squares import Fit, robust_fit, weighted_fit
from ukctrl_identification.measured_motion import Motion, measured_motion, motion_frequency
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
    held_out: FreeMotion
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
        return self.held_out.right_side() - self.regression.residuals(self.held_out, kept, values)


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
    motions = [filtered_motion(robot, log, cutoff) for log in logs]
    cutoff = motions[0][1] if cutoff is None else cutoff
    if validate:
        seen = [motion for motion, _ in motions]
        unseen = [filtered_motion(robot, log, cutoff)[0] for log in validate]
    else:
        seen, unseen = zip(*(_divided(motion) for motion, _ in motions), strict=True)
    motion, held_out = (
        free_motion(robot, joined, known_force(robot, joined))
        for joined in (Motion.joined(seen), Motion.joined(unseen))
    )
    scales, slow = np.full(robot.nv, 0.01), None
    if friction != "none":
        scales, slow = friction_scales(robot, motion, stribeck=friction == "stribeck")
    regression = Regression(robot, scales, slow, friction=friction != "none", armature=armature)
    base = structural_base(regression, motion)
    model = regression.model_values()
    prior, kept = base.values(model), base.kept()
    triangles, share = regression.triangles(motion, kept), motion.motion.independent
    if method == "robust":
        fit = robust_fit(regression, motion, base, share, prior)
    else:
        fit = weighted_fit(triangles, base, share, prior, weighted=method == "weighted")
    consistent = consistent_fit(regression, base, fit, model)
    log = motions[0][0]
    frequency = motion_frequency(log.time, log.q)
    values = {"fit": np.zeros(len(model)), "consistent": consistent.values, "model": model}
    values["fit"][base.independent] = fit.values
    everything = np.ones(len(model), dtype=bool)

    def judged(which: str, samples: FreeMotion) -> Residual:
        e = regression.residuals(samples, everything, values[which])
        return residual_of(e, samples.motion, frequency, cutoff)

    return Identification(
        robot, regression, base, base.formulas(regression.parameters),
        excitation(fit.triangle[:, :-1]), fit, consistent,
        tuple(robot.dofs[row] for row in motion.rows), judged("consistent", motion),
        judged("fit", held_out), judged("consistent", held_out), judged("model", held_out),
        held_out, cutoff, frequency, (len(motion.motion.q), len(held_out.motion.q)),
        tuple(log.source for log in (*logs, *validate)),
    )  # fmt: skip


def filtered_motion(robot: Robot, log: JointLog, cutoff: float | None) -> tuple[Motion, float]:
    """Return the motion of a log, passive joints included, and the filter's frequency [Hz]."""
    stack = passive_stack(robot)
    if stack is None:
        return measured_motion(robot, log, cutoff)
    known = [i for i, name in enumerate(robot.dofs) if _is_logged(robot, log, name)]
    home = robot.neutral if robot.home is None else robot.home
    still = {name: np.full(len(log.time), home[i]) for i, name in enumerate(robot.coordinates)}
    motion, frequency = measured_motion(robot, log._replace(position=still | log.position), cutoff)
    return completed_motion(robot, motion, known, home), frequency


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
        probe = Motion(np.arange(n) * 1.0, q, v, a, np.zeros((n, nv)), 1.0)
        equations = FreeMotion(probe, motion.rows, None, np.zeros((n, nv)))
    else:
        some = motion.part(slice(None, None, max(1, len(motion.motion.q) // n)))
        q, k = some.motion.q, len(some.motion.q)
        probe = Motion(some.motion.time, q, v[:k], a[:k], some.motion.effort, 1.0)
        probe = completed_motion(robot, probe, motion.rows, q[0])
        equations = free_motion(robot, probe, np.zeros((k, nv)))
    R = stacked(regression.triangles(equations), len(regression.parameters))
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
