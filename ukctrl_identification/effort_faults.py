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
from ukctrl_identification.log_fault import JointMotion, LogFault, is_constant, median_period
from ukctrl_identification.position_faults import jump_places

STATES = 300
"""States at which model and log are compared."""
HALF_WINDOW = 0.03
"""Over so long before and after, a parabola is fitted to each position [s]."""
MIN_HALF_SAMPLES = 5
"""At least so many samples of it."""
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
    robot: Robot, log: JointLog, motions: Mapping[str, JointMotion]
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
            f"{channel} is about {1.0 / size:.2g} times what the model asks for along the motion. "
            f"{question}",
            is_milli,
        )


def effort_factors(
    robot: Robot, log: JointLog, motions: Mapping[str, JointMotion]
) -> dict[str, EffortFactor]:
    """Return the factors of all efforts that the log and the model determine."""
    measured = [n for n in robot.dofs if n in log.effort and not is_constant(log.effort[n])]
    driven = [
        name for name, row in zip(robot.dofs, robot.actuation.acts_on, strict=True) if row.any()
    ]
    states = _states(robot, log, motions, measured)
    # through closed chains an effort that was not measured acts on every equation
    if states is None or (robot.passive and set(driven) - set(measured)):
        return {}
    places = [robot.dofs.index(name) for name in measured]
    try:
        dynamics = Dynamics(robot)
        # contacts that may let go leave more motions than their rows
        if dynamics.contacts is not None:
            return {}
        forces, bases = _model_forces(dynamics, states)
    except UkctrlError:  # a state that the model does not have: other checks say why
        return {}
    factors = {}
    # what each motor does to the motions of the robot: its effort, friction there, an offset
    effects = [
        [_acting(bases, place, values) for values in (effort, *_friction(states.v[:, place]), ones)]
        for place, effort in zip(places, states.effort.T, strict=True)
        for ones in (np.ones(len(effort)),)
    ]
    for k, place in enumerate(places):
        column, *others = effects[k]
        target = np.concatenate(forces)
        if robot.passive:  # closed chains hand all of it on to each other
            others += [one for i, effect in enumerate(effects) if i != k for one in effect]
        else:
            rows = slice(place, None, robot.nv)
            column, target, others = column[rows], target[rows], [one[rows] for one in others]
        factor = _factor(target, column, np.column_stack(others))
        if factor is not None and not robot.passive and robot.structure.block_of(place).nv == 1:
            feeds = _feeds_friction(column, target, states.v[:, place])
            factor = factor._replace(feeds_friction=feeds)
        if factor is not None:
            factors[measured[k]] = factor
    return factors


class _States(NamedTuple):
    """The robot at some moments of a log, smoothed around each; one row a moment."""

    time: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    effort: Matrix


def _states(
    robot: Robot, log: JointLog, motions: Mapping[str, JointMotion], measured: Sequence[str]
) -> _States | None:
    """Return states all over the log; None where it does not hold all that they take."""
    single = [block for block in robot.blocks if block.shape in ("line", "circle")]
    others = [block for block in robot.blocks if block.shape not in ("line", "circle")]
    positions = [motions[b.dofs[0]].position for b in single if b.dofs[0] in motions]
    velocities = [log.velocity.get(name) for block in others for name in block.dofs]
    poses = [log.position.get(name) for block in others for name in block.coordinates]
    if (
        not measured
        or len(positions) < len(single)
        or any(channel is None for channel in (*positions, *velocities, *poses))
    ):
        return None
    efforts = [log.effort[name] for name in measured]
    everything = np.array([log.time, *positions, *velocities, *poses, *efforts])
    rows = np.concatenate(([True], np.diff(np.maximum.accumulate(log.time)) > 0.0))
    if np.count_nonzero(rows) < 4 * MIN_HALF_SAMPLES:
        return None
    everything = everything[:, rows].T
    time = everything[:, 0]
    ends = 1 + np.cumsum([len(positions), len(velocities), len(poses), len(efforts)])
    turns, rates, pose, effort = np.split(everything[:, 1:], ends[:-1] - 1, axis=1)
    jumps = (
        np.concatenate(
            [
                jump_places(motions[b.dofs[0]]._replace(position=turns[:, k]), time)
                for k, b in enumerate(single)
            ]
        )
        if single
        else np.empty(0, dtype=np.intp)
    )
    half = max(MIN_HALF_SAMPLES, round(HALF_WINDOW / median_period(time)))
    centres = np.unique(np.linspace(half, len(time) - 1 - half, STATES).astype(np.intp))
    kept = [c for c in centres if not np.any((jumps >= c - half) & (jumps < c + half))]
    count = len(kept)
    answer = _States(
        time[kept], np.zeros((count, robot.nq)), np.zeros((count, robot.nv)),
        np.zeros((count, robot.nv)), np.zeros((count, len(efforts))),
    )  # fmt: skip
    for row, centre in enumerate(kept):
        window = slice(centre - half, centre + half + 1)
        since = time[window] - time[centre]
        parabola, *_ = np.linalg.lstsq(
            np.vander(since, 3, increasing=True), turns[window], rcond=None
        )
        line, *_ = np.linalg.lstsq(np.vander(since, 2, increasing=True), rates[window], rcond=None)
        answer.effort[row] = effort[window].mean(axis=0)
        for k, block in enumerate(single):
            angle, answer.v[row, block.iv], half_a = parabola[:, k]
            is_circle = block.shape == "circle"
            own = (np.cos(angle), np.sin(angle)) if is_circle else (angle,)
            answer.q[row, block.iq : block.iq + block.nq] = own
            answer.a[row, block.iv] = 2.0 * half_a
        iv = [block.iv + k for block in others for k in range(block.nv)]
        iq = [block.iq + k for block in others for k in range(block.nq)]
        answer.v[row, iv], answer.a[row, iv] = line
        answer.q[row, iq] = pose[centre]
    return answer


def _model_forces(dynamics: Dynamics, states: _States) -> tuple[list[Vector], list[Matrix]]:
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


def _acting(bases: Sequence[Matrix], place: int, values: Vector) -> Vector:
    """Return what forces at one velocity do along the motions of the robot, state after state."""
    return np.concatenate(
        [basis[place] * value for basis, value in zip(bases, values, strict=True)]
    )


def _friction(speed: Vector) -> tuple[Vector, Vector]:
    return -speed, -np.tanh(speed / SLIDING_SPEED)


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


def _factor(target: Vector, column: Vector, others: Matrix) -> EffortFactor | None:
    """Return the coefficient of a column beside others, by least squares; None: undetermined."""
    both = np.column_stack([column, target])
    own, rest = (both - others @ np.linalg.lstsq(others, both, rcond=None)[0]).T
    size = float(own @ own)
    if not size > MIN_OWN_SHARE**2 * float(column @ column):
        return None
    value = float(own @ rest) / size
    residual = rest - value * own
    freedoms = max(len(target) - others.shape[1] - 1, 1)
    return EffortFactor(value, float(np.sqrt(residual @ residual / freedoms / size)))
