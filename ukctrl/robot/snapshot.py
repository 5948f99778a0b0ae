"""The robot at one state: matrices of the dynamics and motion of the frames.

Owning a `Snapshot` proves that kinematics and dynamics were evaluated.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arguments import labels_of
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.core.message_text import one_line
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.robot import applied_force_kernels
from ukctrl.robot.frame_site import JointKinematics, Site

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase

MAX_QUOTED = 120
"""Characters of what is no state that a message repeats."""


class FrameMotion(NamedTuple):
    """Motion of one frame, in world axes at the frame's origin (linear part first)."""

    position: Vector
    """Origin in the world, shape ``(3,)`` [m]."""
    rotation: Matrix
    """World orientation ``R_world_frame``, shape ``(3, 3)``."""
    J: Matrix
    """Jacobian, shape ``(6, nv)``: ``velocity = J v``."""
    velocity: Vector
    """Linear and angular velocity, shape ``(6,)`` [m/s, rad/s]."""
    drift: Vector
    """Classical acceleration at ``a = 0``, shape ``(6,)``: ``acceleration = J a + drift``."""


class PointMotion(NamedTuple):
    """Motion of one point, in world axes."""

    position: Vector
    """Shape ``(3,)`` [m]."""
    J: Matrix
    """Jacobian, shape ``(3, nv)``."""
    velocity: Vector
    """Shape ``(3,)`` [m/s]."""
    drift: Vector
    """Acceleration at ``a = 0``, shape ``(3,)`` [m/s^2]."""

    @staticmethod
    def zeros(nv: int) -> PointMotion:
        """Return one to write into."""
        return PointMotion(np.zeros(3), np.zeros((3, nv)), np.zeros(3), np.zeros(3))


class Energy(NamedTuple):
    """Mechanical energy [J]."""

    kinetic: float
    potential: float
    """Gravity and springs; of a Lagrangian plant, its potential and springs."""


class Snapshot(abc.ABC):
    r"""The robot at one state ``(q, v, t)``.

    The plant without passive constraints is $M a + \mathrm{nle} = B u + f$. Arrays are
    views that `move` overwrites; keep a `copy` of what must outlive the next `move`.

    Attributes:
        robot: The robot.
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        t: Time [s]; kernels read it from ``clock``, shape ``(1,)``.
        M: Mass matrix, shape ``(nv, nv)``, symmetric, C-contiguous.
        nle: Coriolis, centrifugal and gravity force, shape ``(nv,)``.
        f: Applied forces (springs, dampers, friction, given), shape ``(nv,)``.
        stored: Energy that they store, and its rate along the velocity, shape ``(2,)`` [J, W];
            where a Lagrangian depends on time, the power -dL/dt that feeds it counts as a rate.
        B: Actuation, shape ``(nv, nu)``.
        Jt: Joint Jacobian transposed, shape ``(nv, 6)``, world axes at the world origin,
            linear part first.
        dJt: Time derivative of ``Jt``.
        rotations: ``R_world_joint`` of every joint, shape ``(njoints, 3, 3)``; 0 is the world.
        translations: Origin of every joint in the world, shape ``(njoints, 3)`` [m].
        steps: What evaluates all of it at ``q``, ``v`` and ``clock``.
        joints: ``Jt``, ``dJt``, ``v``, ``rotations`` and ``translations``, as one tuple.
    """

    # Subclasses allocate these in their constructor; the memory may be that of a library.
    q: Vector
    v: Vector
    M: Matrix
    nle: Vector
    Jt: Matrix
    dJt: Matrix
    rotations: NDArray[np.float64]
    translations: Matrix

    __slots__ = (
        "B",
        "Jt",
        "M",
        "_com",
        "_potential",
        "clock",
        "dJt",
        "f",
        "joints",
        "nle",
        "q",
        "robot",
        "rotations",
        "steps",
        "stored",
        "translations",
        "v",
    )

    def __init__(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> None:
        """Evaluate the robot at ``(q, v, t)``; `Robot.snapshot` checks the shapes first."""
        self.robot = robot
        self.clock = np.zeros(1)
        self.f: Vector = np.zeros(robot.nv)
        self.stored: Vector = np.zeros(2)
        self._com: tuple[PointMotion, KernelSequence] | None = None
        self._potential: tuple[Vector, KernelSequence] | None = None
        constant: Matrix = robot.actuation.constant
        still = not robot.actuation.varies
        self.B = np.ascontiguousarray(constant) if still else constant.copy()
        self.q, self.v = np.empty(robot.nq), np.empty(robot.nv)
        self.joints = JointKinematics(self.Jt, self.dJt, self.v, self.rotations, self.translations)
        pushes = [*robot.forces.steps(self), *robot.actuation.steps(self)]
        self.steps = KernelSequence([*self.terms(), *pushes])
        self.move(q, v, t)

    @property
    def t(self) -> float:
        return float(self.clock[0])

    @abc.abstractmethod
    def terms(self) -> Sequence[KernelStep]:
        """Return what writes all but ``f``, ``stored`` and ``B`` at ``q``, ``v`` and ``clock``."""

    def inertia_steps(self) -> Sequence[KernelStep]:
        """Return what writes ``M``, ``nle``, ``f`` and ``B`` at least."""
        return self.steps.items

    def move(self, q: Vector, v: Vector, t: float = 0.0) -> None:
        """Evaluate the robot at another state, in place.

        The hot path: the arguments must be float64 arrays of shapes ``(nq,)`` and ``(nv,)``
        and are not checked further.
        """
        self.q[:] = q
        self.v[:] = v
        self.clock[0] = t
        self.steps()

    def forget(self) -> None:
        """Know of no state, so that the next one is evaluated whatever it is."""
        self.clock[0] = np.nan

    def copy(self) -> Snapshot:
        """Return an independent snapshot of the same state."""
        return type(self)(self.robot, self.q, self.v, self.t)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.robot, self.q, self.v, self.t)

    def __repr__(self) -> str:
        return f"Snapshot({self.robot.name!r}, q={self.q}, v={self.v}, t={self.t})"

    @property
    def gravity(self) -> Vector:
        """Return ``nle`` at rest, shape ``(nv,)``: the gravity part of it."""
        force: Vector = np.zeros(len(self.v))
        KernelSequence(self.gravity_steps(force))()
        return force

    def gravity_steps(self, out: Vector) -> Sequence[KernelStep]:
        """Return what writes `gravity`, after ``steps``."""
        standstill, copy_steps = self.at_rest()
        return *copy_steps, *standstill.terms(), BoundKernel(copy_into, standstill.nle, out)

    def at_rest(self) -> tuple[Snapshot, tuple[KernelStep, ...]]:
        """Return the robot at rest, and what puts it where this one is; evaluate it then."""
        standstill = type(self)(self.robot, self.q, np.zeros(len(self.v)), self.t)
        copy_steps = (
            BoundKernel(copy_into, self.q, standstill.q),
            BoundKernel(copy_into, self.clock, standstill.clock),
        )
        return standstill, copy_steps

    def force_derivatives(self, a: Vector) -> tuple[Matrix, Matrix]:
        r"""Return how $M a + \mathrm{nle}$ changes with ``q`` and with ``v``, at a fixed ``a``.

        ``q`` moves along its tangent. Exact for rigid bodies (Carpentier & Mansard, "Analytical
        derivatives of rigid body dynamics algorithms", RSS 2018), else by differences.

        Returns:
            Two matrices of shape ``(nv, nv)``.
        """
        by_q, by_v = np.zeros((2, len(self.v), len(self.v)))
        KernelSequence(self.force_derivative_steps(np.array(a), by_q, by_v))()
        return by_q, by_v

    @abc.abstractmethod
    def force_derivative_steps(self, a: Vector, by_q: Matrix, by_v: Matrix) -> Sequence[KernelStep]:
        """Return what writes `force_derivatives` into zeros, after ``steps``."""

    @abc.abstractmethod
    def coriolis(self) -> Matrix:
        r"""Return a $C(q, v)$ that makes $\dot M - 2 C$ skew-symmetric, shape ``(nv, nv)``.

        For joints of one freedom it is that of Christoffel's symbols, and $\mathrm{nle} = C v + g$
        with the `gravity` $g$. A plant of formulas or functions may have more in ``nle``: friction,
        or half of $\partial M/\partial t\, v$ where its mass matrix contains the time. A
        Lagrangian's is exact, that of functions of differences of ``M``.
        """

    def coriolis_steps(self, w: Vector, out: Vector) -> Sequence[KernelStep]:
        """Return what writes ``C(q, v) w`` with the `coriolis` of this state."""
        return (lambda: copy_into(self.coriolis() @ w, out),)

    @abc.abstractmethod
    def momentum_drift_steps(self, out: Vector) -> Sequence[KernelStep]:
        r"""Return what writes $\dot M v$ at this state, by which $M v$ changes beside $M a$."""

    @abc.abstractmethod
    def regressor_steps(self, w: Vector, a: Vector, Y: Matrix) -> Sequence[KernelStep]:
        r"""Return what writes the $Y$ of $Y \pi = M a + C(q, v)\, w + g(q)$ into zeros.

        $\pi$ are the `inertial_parameters`; the inertia of motors has no part in it. For joints
        of one freedom. ``Y`` has the shape ``(nv, 10 k)``.

        Raises:
            ModelError: The plant has no bodies.
        """

    def regressor(self, w: Vector, a: Vector) -> Matrix:
        """Return ``Y`` of `regressor_steps`."""
        Y: Matrix = np.zeros((len(self.v), self.inertial_parameters().size))
        KernelSequence(self.regressor_steps(w, a, Y))()
        return Y

    @abc.abstractmethod
    def inertial_parameters(self) -> Matrix:
        """Return mass, first moments and inertia of every moving body, shape ``(k, 10)``.

        Each row is ``m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz`` about the
        origin of the joint and along its axes [kg, kg m, kg m^2].

        Raises:
            ModelError: The plant has no bodies.
        """

    def frame(self, name: str) -> FrameMotion:
        r"""Return the motion of a frame.

        With the world Jacobian $[v_O; \omega]$ at the world origin, the origin $p$ of the
        frame moves with $v_p = v_O + \omega \times p$, and at $a = 0$ accelerates with
        $a_O + \dot\omega \times p + \omega \times v_p$.

        Raises:
            UnknownName: The robot has no frame of this name.
        """
        site = self.robot.site(name)
        rotation, position = self.rotations[site.joint], self.point(site)
        J = np.zeros((6, len(self.v)))
        columns = site.columns
        if columns.size == 0:
            zero = np.zeros(6)
            return FrameMotion(position, rotation @ site.rotation, J, zero, zero.copy())
        at_origin, v = self.Jt[columns], self.v[columns]
        J[:3, columns] = (at_origin[:, :3] + _cross(at_origin[:, 3:], position)).T
        J[3:, columns] = at_origin[:, 3:].T
        velocity = J[:, columns] @ v
        drift = v @ self.dJt[columns]
        drift[:3] += _cross(drift[3:], position) + _cross(velocity[3:], velocity[:3])
        return FrameMotion(position, rotation @ site.rotation, J, velocity, drift)

    def point(self, site: Site) -> Vector:
        """Return the origin of a frame in the world, shape ``(3,)`` [m]."""
        position: Vector = self.rotations[site.joint] @ site.translation
        position += self.translations[site.joint]
        return position

    def pushed(self, site: Site, force: Vector, torque: Vector | None = None) -> Vector:
        r"""Return the generalised force of a push at the origin of a frame.

        $$ J^\top \begin{bmatrix} F \\ T \end{bmatrix}, $$
        the virtual power of the push per unit of each velocity.

        Args:
            site: The frame, from `Robot.site`.
            force: In world axes, shape ``(3,)`` [N].
            torque: In world axes, shape ``(3,)`` [N m]; absent: none.

        Returns:
            Shape ``(nv,)`` [N m or N].
        """
        moment = _cross(self.point(site), force)
        if torque is not None:
            moment += torque
        whole: Vector = self.Jt[:, :3] @ force
        whole += self.Jt[:, 3:] @ moment
        return np.where(site.support, whole, 0.0)

    def com(self) -> PointMotion:
        """Return the motion of the centre of mass of all moving bodies.

        Raises:
            ModelError: The plant does not know of bodies.
        """
        if self._com is None:
            buffer = PointMotion.zeros(len(self.v))
            self._com = buffer, KernelSequence(self.com_steps(buffer))
        com, steps = self._com
        steps()
        return PointMotion(*(array.copy() for array in com))

    @abc.abstractmethod
    def com_steps(self, com: PointMotion) -> Sequence[KernelStep]:
        """Return what writes `com`, after ``steps``.

        Raises:
            ModelError: The plant does not know of bodies.
        """

    def energy(self) -> Energy:
        """Return the kinetic energy and the potential energy of gravity and springs [J]."""
        return Energy(0.5 * float(self.v @ self.M @ self.v), self.potential_energy())

    def potential_energy(self) -> float:
        """Return the potential energy of gravity and springs [J]."""
        if self._potential is None:
            buffer = np.zeros(1)
            self._potential = buffer, KernelSequence(self.potential_steps(buffer))
        potential, steps = self._potential
        steps()
        return float(potential[0])

    def potential_steps(self, potential: Vector) -> Sequence[KernelStep]:
        """Return what writes `potential_energy`, after ``steps``, shape ``(1,)`` [J]."""
        plant_energy, springs = np.zeros(1), self.stored[: applied_force_kernels.POWER]
        return *self._own_potential(plant_energy), BoundKernel(
            applied_force_kernels.add_into, plant_energy, springs, potential
        )

    @abc.abstractmethod
    def _own_potential(self, potential: Vector) -> Sequence[KernelStep]:
        """Return what writes the potential energy of the plant without its springs [J]."""


def _cross(a: NDArray[np.float64], b: Vector) -> NDArray[np.float64]:
    """Return ``a x b`` for rows ``a`` (several times faster than `numpy.cross`)."""
    out = np.empty_like(a)
    out[..., 0] = a[..., 1] * b[2] - a[..., 2] * b[1]
    out[..., 1] = a[..., 2] * b[0] - a[..., 0] * b[2]
    out[..., 2] = a[..., 0] * b[1] - a[..., 1] * b[0]
    return out


def state_vector(name: str, value: Any, names: Sequence[str]) -> Vector:
    """Return a state vector as a float64 array, in the order of names where it is labelled.

    Args:
        name: What it is called in messages.
        value: Its numbers; a table, or a pandas Series or an xarray array whose labels are names,
            is taken by these.
        names: What its entries are called.

    Raises:
        ShapeError: It has another shape than ``(len(names),)``.
        InputError: It is not numbers, not finite, or labelled by other names.
    """
    size = len(names)
    ready = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (size,)
    if ready and math.isfinite(np.dot(value, value)):  # one call where all is well
        return np.asarray(value)
    labels = labels_of(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):  # the last of an array that computes gradients
        shown = one_line(repr(value), MAX_QUOTED)
        raise InputError(f"{name} must be {size} real numbers; got {shown}.") from None
    if labels is not None and sorted(labels) != sorted(names):
        raise InputError(
            f"{name} is labelled {', '.join(labels)}; the robot has {', '.join(names)}."
        )
    if array.shape != (size,):
        raise ShapeError(f"{name} must have shape {(size,)}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; got {array}.")
    if labels is None or labels == list(names):
        return array
    return array[[labels.index(label) for label in names]]
