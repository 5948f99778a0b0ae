"""Friction in the joints: Coulomb, viscous, Stribeck."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.task import Signal
from ukctrl.core.errors import InputError
from ukctrl.core.fields import JointSpeed, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import KernelSequence
from ukctrl.robot import Robot, Snapshot
from ukctrl.robot.forces import Forces, Friction
from ukctrl.robot.robot_base import RobotBase
from ukctrl.robot.schema.force_tables import Dampings, Efforts
from ukctrl.robot.values_by_name import joint_values
from ukctrl.simulation.effects.effect import PlantEffect
from ukctrl.simulation.effects.encoder_settings import refuse_zeros


@final
@spec
class JointFriction(PlantEffect):
    r"""Friction in the joints, smooth so that it can be integrated.

    $$ f = -\left(F_c + (F_s - F_c)\, e^{-(v/v_s)^2}\right) \tanh\frac{v}{v_\varepsilon} - d\,v . $$

    Far above $v_s$ it is Coulomb's $F_c$ and viscous friction; between $v_\varepsilon$ and $v_s$ it
    falls from the static $F_s$ (Stribeck). Sticking is creep: a load $F < F_s$ moves the joint at
    $v_\varepsilon\,\mathrm{artanh}(F/F_s)$, so that half the static level takes 0.55
    $v_\varepsilon$. A smaller $v_\varepsilon$ sticks better and takes shorter steps.

    A number is for every joint with one freedom; a table is by joint, and may name motors of
    elastic joints (``q1_motor``) and single freedoms (``root_wz``).

    References:
        Armstrong-Helouvry, Dupont, Canudas de Wit, "A survey of models, analysis tools and
        compensation methods for the control of machines with friction", Automatica 30(7), 1994.
    """

    kind: Literal["friction"] = "friction"
    coulomb: Efforts = 0.0
    """Level while sliding, $F_c$ [N m or N]."""
    static: Efforts | None = None
    """Level that must be overcome, $F_s$, at least that of sliding [N m or N]; absent: the same."""
    viscous: Dampings = 0.0
    """$d$ [N m s/rad or N s/m]."""
    stribeck_velocity: JointSpeed = 0.1
    """$v_s$ [rad/s or m/s]."""
    velocity_scale: JointSpeed = 0.01
    r"""$v_\varepsilon$, at which 76 % of the level is reached [rad/s or m/s]."""

    @model_validator(mode="after")
    def _falls(self) -> JointFriction:
        refuse_zeros(self, "coulomb", "static", "viscous")
        if self.static is not None and not self.velocity_scale < self.stribeck_velocity:
            raise InputError(
                f"velocity_scale must be below stribeck_velocity, {self.stribeck_velocity:g}, for "
                f"static friction to be felt; got {self.velocity_scale:g}."
            )
        return self

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        return dc.replace(
            robot, forces=Forces((*robot.forces.terms, self._rubbing(robot))), path=None
        )

    def _rubbing(self, robot: RobotBase) -> Friction:
        with error_context("coulomb"):
            coulomb = static = joint_values(robot.structure, self.coulomb)
        with error_context("viscous"):
            viscous = joint_values(robot.structure, self.viscous)
        if self.static is not None:
            with error_context("static"):
                static = joint_values(robot.structure, self.static)
            # a joint that the table does not name has no static friction of its own
            if isinstance(self.static, dict):
                static = np.where(static > 0.0, static, coulomb)
        low = np.flatnonzero(static < coulomb)
        if low.size:
            i = int(low[0])
            raise InputError(
                f"static must be at least coulomb, {coulomb[i]:g} at joint '{robot.dofs[i]}'; "
                f"got {static[i]:g}."
            )
        dofs = np.flatnonzero((coulomb > 0.0) | (static > 0.0) | (viscous > 0.0))
        # a number is for joints with one freedom, and the robot has none
        if not dofs.size:
            raise InputError(
                f"there is nothing to rub; robot '{robot.name}' has no joint with one freedom. "
                f"Name single freedoms, such as coulomb = {{ {robot.dofs[-1]} = 1.0 }}, or remove "
                "the effect."
            )
        return Friction(
            dofs=dofs,
            level=coulomb[dofs],
            scale=np.full(dofs.size, self.velocity_scale),
            excess=(static - coulomb)[dofs],
            stribeck_velocity=self.stribeck_velocity,
            viscous=viscous[dofs],
        )

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        robot = snapshot.robot
        rubbing = self._rubbing(robot)
        names = tuple(robot.dofs[i] for i in rubbing.dofs)
        whole = np.zeros(robot.nv)
        KernelSequence(rubbing.steps(snapshot, whole))()
        force = whole[rubbing.dofs]
        units = {"N" if robot.dof_units[i] == "m/s" else "N m" for i in rubbing.dofs}
        loss = -float(force @ snapshot.v[rubbing.dofs])
        return {
            "force": Signal(force, ", ".join(sorted(units)), "joint friction", names),
            "loss": Signal(loss, "W", "power that joint friction takes"),
        }
