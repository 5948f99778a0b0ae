r"""Whether efforts are those that the robot's model asks for: sign and unit.

The model may be wrong, which is why a log is identified; a sign or a factor of a thousand shows
all the same. At states all over the log the passive constraints leave
$N^T (M a + h - f) = N^T \tau$, with $N$ a basis of the motions that they allow. The left side is
fitted by the logged efforts, each times a factor, and friction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import JointChannels, LogFault, is_constant
from ukctrl_identification.log_states import LogStates, log_states

MIN_RATIO = 15.0
"""Of a factor whose size is so many of its standard deviations something is said."""
SLIDING_SPEED = 0.02
"""Speed at which friction counts as sliding [rad/s or m/s]."""
LEAST_SIGN = 0.3
"""A negative factor below, or above its inverse, is of noise rather than of a sign."""
LEAST_FACTOR = 0.05
"""A factor below, or above its inverse, is one of units, not of a model that is wrong."""
MAX_MODEL_SHARE = 0.5
"""Efforts that vary so much more than the model's are mostly friction."""
MIN_REVERSED = 0.1
"""Friction shows in a motion that goes each way for this part of the time."""
CLEAR_FRICTION = 0.8
"""Correlation of efforts beyond the model's with the direction of motion that is friction."""
RANK_RTOL = 1e-9
"""Singular values of passive rows below this part of the largest count as zero."""
MIN_OWN_SHARE = 1e-6
"""An effort that differs less from what friction and offset would give tells nothing."""


class EffortFactor(NamedTuple):
    """By what a logged effort must be multiplied to be that of the model."""

    value: float
    deviation: float
    """Standard deviation, as if residuals were independent."""
    feeds_friction: bool = False
    """Whether what the model does not ask for drives the motion, and would be friction with the
    other sign."""


def effort_faults(
    robot: Robot, log: JointLog, motions: Mapping[str, JointChannels]
) -> Iterator[LogFault]:
    """Yield efforts whose sign or unit is against the model."""
    for name, factor in effort_factors(robot, log, motions).items():
        channel, at = f"effort.{name}", float(log.time[0])
        size = abs(factor.value)
        is_known = size > MIN_RATIO * factor.deviation
        is_milli = 0.5e-3 < size < 2e-3
        is_turned = factor.value < 0.0 and (is_milli or LEAST_SIGN < size < 1.0 / LEAST_SIGN)
        if is_turned if is_known else factor.feeds_friction:
            yield LogFault(
                "sign",
                channel,
                at,
                f"{channel} has the sign against what the model asks for along the motion. Say "
                f"sign.{name} = -1 if positions and velocities count the other way as well, and "
                "else turn it in the log.",
                True,
            )
        if not is_known or LEAST_FACTOR < size < 1.0 / LEAST_FACTOR:
            continue
        question = (
            'Is it in mN m? Then say effort_unit = "mN m".'
            if is_milli
            else "Is its unit another, or is it on the motor's side of a gear?"
        )
        yield LogFault(
            "unit",
            channel,
            at,
            f"{channel} is about {1.0 / size:.3g} times what the model asks for along the motion. "
            f"{question}",
            is_milli,
        )


def effort_factors(
    robot: Robot, log: JointLog, motions: Mapping[str, JointChannels]
) -> dict[str, EffortFactor]:
    """Return the factors of all efforts that the log and the model determine."""
    measured = [n for n in robot.dofs if n in log.effort and not is_constant(log.effort[n])]
    driven = [
        name for name, row in zip(robot.dofs, robot.actuation.acts_on, strict=True) if row.any()
    ]
    # through closed chains an effort that was not measured acts on every equation
    if not measured or (robot.passive and set(driven) - set(measured)):
        return {}
    states = log_states(robot, log, motions, measured)
    if states is None:
        return {}
    indices = [robot.dofs.index(name) for name in measured]
    try:
        dynamics = Dynamics(robot)
        # contacts that may let go leave more motions than their rows
        if dynamics.contacts is not None:
            return {}
        forces, bases = _model_forces(dynamics, states)
    except UkctrlError:  # a state that the model does not have: other checks say why
        return {}
    factors = {}
    effects = [
        _effects(bases, index, effort, states.v[:, index])
        for index, effort in zip(indices, states.effort.T, strict=True)
    ]
    for k, index in enumerate(indices):
        column, *columns = effects[k]
        target = np.concatenate(forces)
        if robot.passive:  # closed chains hand all of it on to each other
            columns += [one for i, effect in enumerate(effects) if i != k for one in effect]
        else:
            rows = slice(index, None, robot.nv)
            column, target, columns = column[rows], target[rows], [one[rows] for one in columns]
        factor = _factor(target, column, np.column_stack(columns))
        if factor is not None and not robot.passive and robot.structure.block_of(index).nv == 1:
            feeds = _feeds_friction(column, target, states.v[:, index])
            factor = factor._replace(feeds_friction=feeds)
        if factor is not None:
            factors[measured[k]] = factor
    return factors


def _model_forces(dynamics: Dynamics, states: LogStates) -> tuple[list[Vector], list[Matrix]]:
    """Return what motors must put on the robot, along the motions that it has, and these.

    Returns:
        Forces, ``(d,)`` each, and bases of the motions, ``(nv, d)``; of a robot without passive
        constraints in its velocities.
    """
    robot, snapshot = dynamics.robot, dynamics.snapshot
    forces, bases = [], []
    for t, q, v, a in zip(states.time, states.q, states.v, states.a, strict=True):
        dynamics.move(float(t), robot.normalize(q), v)
        force = snapshot.M @ a + snapshot.nle - snapshot.f
        basis: Matrix = np.eye(robot.nv)
        if robot.passive:
            _, sigma, Vt = np.linalg.svd(dynamics.passive.rows.A)
            rank = np.count_nonzero(sigma > RANK_RTOL * sigma.max(initial=0.0))
            basis = Vt[rank:].T
        forces.append(basis.T @ force)
        bases.append(basis)
    return forces, bases


def _effects(bases: Sequence[Matrix], index: int, effort: Vector, speed: Vector) -> list[Vector]:
    """Return what a motor does along the motions of the robot, state after state.

    Its effort, viscous and Coulomb friction there, and an offset.
    """
    forces = effort, -speed, -np.tanh(speed / SLIDING_SPEED), np.ones(len(effort))
    # of each state the entries of its basis at that velocity
    entries = np.concatenate([basis[index] for basis in bases])
    counts = [basis.shape[1] for basis in bases]
    return [entries * np.repeat(force, counts) for force in forces]


def _feeds_friction(effort: Vector, model: Vector, speed: Vector) -> bool:
    """Whether efforts beyond the model's drive the motion, as friction does with the other sign."""
    along = np.tanh(speed / SLIDING_SPEED)
    to_and_fro = min(np.mean(along > 0.5), np.mean(along < -0.5)) > MIN_REVERSED
    if not to_and_fro or float(model.std()) > MAX_MODEL_SHARE * float(effort.std()):
        return False
    turned, straight = (_correlation(sign * effort - model, along) for sign in (-1.0, 1.0))
    return turned > CLEAR_FRICTION and straight < -CLEAR_FRICTION


def _correlation(first: Vector, second: Vector) -> float:
    if is_constant(first) or is_constant(second):
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _factor(target: Vector, column: Vector, columns: Matrix) -> EffortFactor | None:
    """Return the coefficient of a column beside others, by least squares; None: undetermined."""
    both = np.column_stack([column, target])
    own, rest = (both - columns @ np.linalg.lstsq(columns, both, rcond=None)[0]).T
    size = float(own @ own)
    if not size > MIN_OWN_SHARE**2 * float(column @ column):
        return None
    value = float(own @ rest) / size
    residual = rest - value * own
    freedoms = max(len(target) - columns.shape[1] - 1, 1)
    return EffortFactor(value, float(np.sqrt(residual @ residual / freedoms / size)))
