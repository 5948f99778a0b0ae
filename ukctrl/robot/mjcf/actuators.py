"""``<actuator>`` of a compiled model as motors: what pushes where, and how strongly at most.

The input of a ``motor`` is its control. That of an actuator with a law of its own (a servo, a
muscle's activation, a motor behind a filter) is its force: the law is a controller's, and a
controller of ours stands in its place. Servos at joints keep theirs where that is asked for: their
input is the command, and the rest of the law, -kp q - kv v, is a spring and a damper of the joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.forces import SCALAR_JOINTS
from ukctrl.robot.mjcf.pinocchio_model import HINGE, MjcfNames
from ukctrl.robot.mjcf.supported_fields import (
    UnsupportedElements,
    UnsupportedFeature,
    listed_names,
    remark,
    report,
    unsupported,
)
from ukctrl.robot.mjcf.tendons import tendon_ratios
from ukctrl.robot.model_audit import note
from ukctrl.robot.schema.force_tables import (
    AnyActuator,
    FormulaInput,
    JointDamper,
    JointMotor,
    JointSpring,
    Transmission,
    Wrench,
)
from ukctrl.robot.structure import Structure

TO_JOINT, IN_PARENT, CRANK, TO_TENDON, TO_SITE, TO_BODY, SO3 = range(7)
"""MuJoCo's transmissions, by their number."""
TRANSMISSIONS = {
    CRANK: "a slider-crank",
    TO_SITE: "a site that another sees",
    TO_BODY: "the contacts of a body",
    SO3: "an orientation",
}
FIXED, AFFINE = 0, 1
"""MuJoCo's gains and biases that a servo has."""
NO_DYNAMICS = 0
SERVO_MESSAGE = (
    "the law (position, velocity, filter or muscle) of {names} is not in the plant: the input is "
    "the force of the motor behind it, and a controller takes the law's place. At rest without one "
    'nothing holds these joints; servos = "commands" in robot.toml keeps servos at joints.'
)
SERVO_LIMIT_MESSAGE = (
    "the largest force of {names}, whose input is a command, is not in the robot, which follows "
    'with any force. Keep the command close, or take servos = "motors".'
)
ACTUATOR_MESSAGE = (
    "not in the robot, for it {}: actuator {}; write [[actuator]] tables in robot.toml."
)
ROTOR_MESSAGE = (
    "rotor inertia and damping of {names}, which do not act on one joint, are not in the robot: it "
    "moves more easily."
)
Limit = tuple[float, float]
WIDE: Limit = (-np.inf, np.inf)


class ImportedActuators(NamedTuple):
    """What the actuators of a model became."""

    motors: tuple[AnyActuator, ...] | None
    """None: the file has none, and joints get theirs as in any model."""
    columns: tuple[tuple[int, float], ...]
    """Of every motor MuJoCo's number, and its force per unit of input."""
    unsupported: tuple[UnsupportedFeature, ...]
    laws: tuple[JointSpring | JointDamper, ...] = ()
    """What servos do beside their command."""
    servos: tuple[int, ...] = ()
    """MuJoCo's numbers of those."""


def import_actuators(
    m: Any, names: MjcfNames, structure: Structure, on: EnabledForces, commands: bool = False
) -> ImportedActuators:
    """Return the motors of a model.

    Args:
        m: The ``MjModel``.
        names: What its parts are called.
        structure: The robot's names.
        on: Which of its forces act.
        commands: Whether servos at joints keep their law.
    """
    if not m.nactuator:
        return ImportedActuators(None, (), ())
    if not on.actuation:
        off = note(
            "actuation_off", "actuator", "the file switches its actuators off; none is read."
        )
        return ImportedActuators((), (), (UnsupportedFeature(off),))
    reader = _ActuatorReader(m, names, structure, on, commands)
    motors = [(i, *one) for i in range(m.nactuator) if (one := reader.motor(i)) is not None]
    columns = tuple((i, scale) for i, _, scale in motors)
    actuators = tuple(motor for _, motor, _ in motors)
    return ImportedActuators(
        actuators,
        columns,
        tuple(reader.unsupported()),
        tuple(reader.laws),
        tuple(reader.servo_numbers),
    )


class _ActuatorReader:
    def __init__(
        self, m: Any, names: MjcfNames, structure: Structure, on: EnabledForces, commands: bool
    ) -> None:
        self._m, self._names, self._structure, self._on = m, names, structure, on
        self._commands = commands
        self.laws: list[JointSpring | JointDamper] = []
        self.servo_numbers: list[int] = []
        self._strong: list[str] = []
        self._taken: set[str] = set()
        self._servos: list[str] = []
        self._lost: dict[str, list[str]] = {}
        self._idle: list[str] = []
        self._passive: list[int] = []
        on_joint = [int(m.actuator_trnid[i, 0]) for i in range(m.nactuator) if self._plain(i)]
        self._shared = {j for j in on_joint if on_joint.count(j) > 1}
        self._shared_limits: set[int] = set()

    def _plain(self, i: int) -> bool:
        m = self._m
        to_joint = m.actuator_trntype[i] in (TO_JOINT, IN_PARENT)
        return to_joint and m.jnt_type[m.actuator_trnid[i, 0]] in SCALAR_JOINTS

    def motor(self, i: int) -> tuple[AnyActuator, float] | None:
        """Return a motor and its force per unit of input; None where it is told."""
        m = self._m
        target = int(m.actuator_trnid[i, 0])
        to_joint = m.actuator_trntype[i] in (TO_JOINT, IN_PARENT)
        name = m.actuator(i).name or (self._names.joints[target] if to_joint else f"actuator{i}")
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        losses = m.actuator_armature[i], m.actuator_damping[i], *m.actuator_dampingpoly[i]
        if any(losses) and not (self._plain(i) and m.actuator_trntype[i] == TO_JOINT):
            self._passive.append(i)
        if int(m.opt.disableactuator) >> int(m.actuator_group[i]) & 1:
            self._idle.append(name)
            return None
        if m.actuator_ctrlnum[i] != 1 or m.actuator_outnum[i] != 1 or m.actuator_plugin[i] >= 0:
            self._report(name, "is of a kind that is not read")
            return None
        if self._commands and (servo_motor := self._servo(i, name, target)) is not None:
            return servo_motor
        scale, servo = self._scale(i)
        if scale == 0.0:
            self._report(name, "damps, or does nothing, rather than drives")
            return None
        motor = self._transmitted(i, name, target, scale, self._limit(i, scale, servo))
        if motor is None:
            return None
        if servo:
            self._servos.append(name)
        return motor, scale

    def _servo(self, i: int, name: str, joint: int) -> tuple[AnyActuator, float] | None:
        """Return a servo at a joint as what its command pushes; None: it is none, or cannot be."""
        m, gain, (constant, stiff, damp) = self._m, *self._law(i)
        # a servo holds something: a bias that pushes away, or pulls to no place, is another law
        pulls_back = stiff <= 0.0 and damp <= 0.0 and (stiff or damp)
        if not (self._plain(i) and gain and pulls_back and (stiff or not constant)):
            return None
        gear = float(m.actuator_gear[i, 0])
        if gear == 0.0:
            return None
        dof, damping = self._structure.dofs[m.jnt_dofadr[joint]], -damp * gear**2
        position = "rad" if m.jnt_type[joint] == HINGE else "m"
        motor = Transmission(  # as a motor of the joint it would have the limit of its effort
            name=name,
            ratios={dof: gear * gain},
            unit=position if stiff else f"{position}/s",
            limit=self._limit(i, gain, False, force=False),
        )
        self.laws.append(
            JointSpring(joint=dof, stiffness=-stiff * gear**2, rest=-constant / (stiff * gear),
                        damping=damping)
            if stiff
            else JointDamper(joint=dof, damping=damping)
        )  # fmt: skip
        self.servo_numbers.append(i)
        if m.actuator_forcelimited[i] or m.jnt_actfrclimited[joint]:
            self._strong.append(name)
        return motor, gain

    def _law(self, i: int) -> tuple[float, tuple[float, float, float]]:
        """Return gain and bias (constant, per length, per speed) of a servo; else zeros."""
        m = self._m
        kinds = int(m.actuator_gaintype[i]), int(m.actuator_biastype[i])
        if kinds != (FIXED, AFFINE) or m.actuator_dyntype[i] != NO_DYNAMICS:
            return 0.0, (0.0, 0.0, 0.0)
        constant, stiff, damp = (float(value) for value in m.actuator_biasprm[i, :3])
        return float(m.actuator_gainprm[i, 0]), (constant, stiff, damp)

    def _scale(self, i: int) -> tuple[float, bool]:
        """Return the force per unit of input, and whether the input is a force of a servo."""
        m = self._m
        gain, bias = int(m.actuator_gaintype[i]), int(m.actuator_biastype[i])
        first, *more = (float(value) for value in m.actuator_gainprm[i])
        fixed = gain == FIXED or (gain == AFFINE and not any(more))
        unbiased = bias == 0 or (bias == AFFINE and not np.any(m.actuator_biasprm[i]))
        if fixed and unbiased and m.actuator_dyntype[i] == NO_DYNAMICS:
            return first, False
        if gain == AFFINE and not first and unbiased:
            return 0.0, False
        return 1.0, True

    def _limit(self, i: int, scale: float, servo: bool, force: bool = True) -> Limit | None:
        """Return the lowest and the highest input that control and force allow."""
        m, bounds = self._m, [WIDE]
        control = m.actuator_ctrladr[i]
        if m.actuator_ctrllimited[control] and self._on.clamp and not servo:
            bounds.append(_scaled_limit(m.actuator_ctrlrange[control], 1.0))
        if m.actuator_forcelimited[i] and force:
            bounds.append(_scaled_limit(m.actuator_forcerange[i], scale))
        return _intersect_limits(bounds)

    def _transmitted(
        self, i: int, name: str, target: int, scale: float, limit: Limit | None
    ) -> AnyActuator | None:
        m = self._m
        gear, kind = scale * np.array(m.actuator_gear[i]), int(m.actuator_trntype[i])
        if not gear.any():
            self._report(name, "pushes nothing")
            return None
        if self._plain(i):
            return self._at_joint(name, target, float(gear[0]), limit)
        if kind in (TO_JOINT, IN_PARENT):
            return self._at_ball(name, target, gear, kind == IN_PARENT, limit)
        if kind == TO_SITE and m.actuator_trnid[i, 1] < 0:
            frame = self._names.sites[target]
            if not self._structure.site(frame).support.any():
                self._report(name, "pushes nothing that moves")
                return None
            a, b, c, d, e, f = map(float, gear)
            return Wrench(name=name, frame=frame, force=(a, b, c), torque=(d, e, f), limit=limit)
        if kind == TO_TENDON and (pulled := tendon_ratios(m, target)) is not None:
            blocks, ratio = self._structure.blocks, float(gear[0])
            ratios = {blocks[j].dofs[0]: ratio * coefficient for j, coefficient in pulled.items()}
            if not ratios or not ratio:
                self._report(name, "pushes nothing")
                return None
            return Transmission(name=name, ratios=ratios, limit=limit)
        transmission = (
            "a path of a tendon" if kind == TO_TENDON else TRANSMISSIONS.get(kind, "nothing")
        )
        self._report(name, f"pushes by way of {transmission}, which is not read")
        return None

    def _at_joint(
        self, name: str, joint: int, gear: float, limit: Limit | None
    ) -> AnyActuator | None:
        m = self._m
        if gear == 0.0:
            self._report(name, "pushes nothing")
            return None
        if m.jnt_actfrclimited[joint]:
            if joint in self._shared:
                self._shared_limits.add(joint)
            limit = _intersect_limits(
                [limit or WIDE, _scaled_limit(m.jnt_actfrcrange[joint], gear)]
            )
        dof = self._structure.dofs[m.jnt_dofadr[joint]]
        return JointMotor(joint=dof, name=name, gear=gear, limit=limit)

    def _at_ball(
        self, name: str, joint: int, gear: Vector, in_parent: bool, limit: Limit | None
    ) -> AnyActuator:
        """Return a push on a ball or a free joint: its force is along the world's axes, its torque
        along the body's, or the parent's.
        """
        block = self._structure.blocks[joint]
        x, y, z, w = block.coordinates[-4:]
        xx, yy, zz = (f"{a}*{a}" for a in (x, y, z))
        xy, xz, yz = (f"{a}*{b}" for a, b in ((x, y), (x, z), (y, z)))
        xw, yw, zw = (f"{a}*{w}" for a in (x, y, z))
        rows = [
            [f"(1 - 2*({yy} + {zz}))", f"(2*({xy} + {zw}))", f"(2*({xz} - {yw}))"],
            [f"(2*({xy} - {zw}))", f"(1 - 2*({xx} + {zz}))", f"(2*({yz} + {xw}))"],
            [f"(2*({xz} + {yw}))", f"(2*({yz} - {xw}))", f"(1 - 2*({xx} + {yy}))"],
        ]
        vectors = (gear[:3], gear[3:]) if block.shape == "free" else (gear[:3],)
        column: dict[str, str] = {}
        for number, vector in enumerate(vectors):
            turned = in_parent or number < len(vectors) - 1
            for k, dof in enumerate(block.dofs[3 * number : 3 * number + 3]):
                if turned and vector.any():
                    column[dof] = " + ".join(
                        f"({float(g)!r})*{entry}" for g, entry in zip(vector, rows[k], strict=True)
                    )
                elif not turned and vector[k]:
                    column[dof] = repr(float(vector[k]))
        return FormulaInput(name=name, column=column, limit=limit)

    def _report(self, name: str, reason: str) -> None:
        self._lost.setdefault(reason, []).append(name)

    def unsupported(self) -> Iterator[UnsupportedFeature]:
        """Name what of the actuators is not in the robot."""
        yield from report(
            UnsupportedElements("servo_told", self._servos, SERVO_MESSAGE),
            UnsupportedElements("servo_limit_told", self._strong, SERVO_LIMIT_MESSAGE),
            *(
                UnsupportedElements(
                    "actuator_told", names, ACTUATOR_MESSAGE.format(reason, "{names}")
                )
                for reason, names in self._lost.items()
            ),
        )
        if self._idle:
            listed = listed_names(self._idle)
            yield remark("actuation_off", self._idle[0], f"the file switches {listed} off.")
        called = [self._m.actuator(i).name or f"actuator{i}" for i in self._passive]
        losses = UnsupportedElements("rotor_told", called, ROTOR_MESSAGE, self._remove_losses)
        yield from report(losses)
        for joint in sorted(self._shared_limits):
            low, high = self._m.jnt_actfrcrange[joint]
            yield unsupported(
                "joint_effort_told",
                self._names.joints[joint],
                f"the motors at joint '{self._names.joints[joint]}' may together give "
                f"{low:g} to {high:g}; read as the limit of each alone, which allows more.",
            )

    def _remove_losses(self, model: Any) -> None:
        for name in ("armature", "damping", "dampingpoly"):
            getattr(model, f"actuator_{name}")[self._passive] = 0.0


def _scaled_limit(bounds: Any, scale: float) -> Limit:
    low, high = sorted((float(bounds[0]) / scale, float(bounds[1]) / scale))
    return low, high


def _intersect_limits(bounds: Sequence[Any]) -> Limit | None:
    """Return what all bounds allow; None without any, or where they leave nothing."""
    low, high = max(float(b[0]) for b in bounds), min(float(b[1]) for b in bounds)
    if not low < high or not np.isfinite((low, high)).any():
        return None
    return low, high
