"""The equations of logged motions: what is measured, known, and asked for in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.robot import Robot
from ukctrl_identification.base_parameters import BaseParameters, base_parameters
from ukctrl_identification.friction_scales import SCALES, friction_scales
from ukctrl_identification.least_squares import EquationSamples
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.passive_motion import (
    FreeMotion,
    driven,
    free_motion,
    random_free_motion,
    unmeasured_motors,
    whitened,
)
from ukctrl_identification.regression import Regression, known_force, stacked

PROBES = 200
"""Random states that tell which parameters any motion could tell."""
FrictionModel = Literal["none", "coulomb", "stribeck"]


class MotionEquations(NamedTuple):
    """What the equations of all stretches have in common."""

    robot: Robot
    unmeasured: Flags
    """Velocities that motors push on without a measurement in any stretch, shape ``(nv,)``."""
    currents: tuple[str, ...]
    """Velocities whose motor constants are asked for."""
    known: Sequence[str]

    @staticmethod
    def of(robot: Robot, stretches: Sequence[Motion], known: Sequence[str] = ()) -> MotionEquations:
        """Return those of the stretches that are fitted."""
        by_current = np.any(
            [~np.isnan(one.current).all(axis=0) for one in stretches if one.current is not None],
            axis=0,
        )
        names = tuple(robot.dofs[i] for i in np.flatnonzero(by_current))
        return MotionEquations(robot, unmeasured_motors(robot, stretches), names, known)

    def free_motions(self, stretches: Sequence[Motion]) -> list[FreeMotion]:
        """Return the equations of stretches.

        Raises:
            InputError: Stretches have different equations, or one has no sample.
        """
        motions = list[FreeMotion]()
        bodies = self._regression(np.ones(self.robot.nv), friction=False) if self.known else None
        for one in stretches:
            if not len(one.time):
                continue
            force = known_force(self.robot, one)
            free = free_motion(self.robot, one, force, self.unmeasured)
            if bodies is not None:
                free = free._replace(right=free.right - bodies.known_efforts(free))
            if motions and free.rows != motions[0].rows:
                raise InputError(
                    "stretches of the logs must have the same independent joints; from "
                    f"t = {one.time[0]:g} s on they have others. Identify from one of them."
                )
            motions.append(free)
        missing = np.all([np.isnan(one.right_side()).all(axis=0) for one in motions], axis=0)
        if motions and missing.any():
            name = self.robot.dofs[motions[0].rows[int(np.argmax(missing))]]
            raise InputError(
                f"no effort of '{name}' is logged to judge its equation by; choose another log "
                "with --validate."
            )
        return motions

    def _regression(self, scales: Vector, slow: Vector | None = None, **terms: bool) -> Regression:
        return Regression(
            self.robot, scales, slow, currents=self.currents, known=self.known, **terms
        )

    def samples(
        self,
        motions: list[FreeMotion],
        friction: FrictionModel,
        *,
        armature: bool = False,
        scales: Vector | None = None,
    ) -> EquationSamples:
        """Return the samples of a fit, with the scales of friction that suit unless given.

        Raises:
            InputError: Nothing is known of their size.
        """
        if self.currents and not any(np.nan_to_num(one.right_side()).any() for one in motions):
            raise InputError(
                "currents alone tell no size: twice the masses and twice the motor constants give "
                "the same log. Name a link whose body is known (known), or one motor_constant."
            )
        slow = None
        if scales is None and friction == "none":
            scales = np.full(self.robot.nv, SCALES[1])
        elif scales is None:
            scales, slow = friction_scales(
                self._regression, motions, stribeck=friction == "stribeck"
            )
        regression = self._regression(scales, slow, friction=friction != "none", armature=armature)
        base = structural_base(regression, motions[0], self.unmeasured)
        return EquationSamples(regression, self.with_independent_noise(motions), base)

    def with_independent_noise(self, motions: list[FreeMotion]) -> list[FreeMotion]:
        """Return equations that share no sensor's noise, as if all sensors were alike.

        They do where more motors than freedoms are measured, and none is without a motor.
        """
        measured = driven(self.robot) & ~self.unmeasured
        if np.count_nonzero(measured) <= len(motions[0].rows):
            return motions
        changed = list[FreeMotion]()
        for one in motions:
            assert one.basis is not None
            basis, near = one.basis.copy(), np.isfinite(one.basis).all(axis=(1, 2))
            try:
                basis[near] = whitened(basis[near], measured.astype(np.float64))
            except np.linalg.LinAlgError:
                return motions
            changed.append(one._replace(basis=basis))
        return changed


def structural_base(
    regression: Regression, motion: FreeMotion, unmeasured: Flags | None = None
) -> BaseParameters:
    """Return the base parameters of a robot: those of motions of every kind.

    At random states; of robots with passive constraints, all over what these let be reached from
    where a motion begins: near one position columns depend on each other that do not elsewhere.

    Args:
        regression: The columns.
        motion: A motion with the equations.
        unmeasured: Motors whose efforts are eliminated from them, shape ``(nv,)``; absent: none.
    """
    robot, rng = regression.robot, np.random.default_rng(0)
    n, nv = PROBES, robot.nv
    v, a, current = rng.normal(size=(3, n, nv))
    nothing = np.zeros((n, nv))
    time = np.arange(n, dtype=np.float64)
    if motion.basis is None:
        q: Matrix = np.array([robot.random(rng) for _ in range(n)])
        equations = FreeMotion(Motion(time, q, v, a, nothing), motion.rows, None, nothing, current)
    else:
        none = np.zeros(nv, dtype=bool) if unmeasured is None else unmeasured
        equations = random_free_motion(robot, motion.motion.q[0], n, none, rng)
        equations = equations._replace(current=current)
    R = stacked(regression.triangles([equations]), len(regression.parameters))
    return base_parameters(R[:, :-1])
