"""The robot at one state: matrices of the dynamics and motion of the frames.

Owning a `Snapshot` proves that kinematics and dynamics were evaluated. Its arrays are views
on Pinocchio's own memory, so that `Snapshot.move` costs three calls and no allocation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from ukctrl.errors import InputError, ShapeError

if TYPE_CHECKING:
    from ukctrl.robot.robot import Robot
    from ukctrl.robot.structure import Site

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_crba = pin.crba
_bias = pin.nonLinearEffects
_jacobians = pin.computeJointJacobiansTimeVariation


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


class Energy(NamedTuple):
    """Mechanical energy [J]."""

    kinetic: float
    potential: float
    """Gravity and springs."""


class Snapshot:
    r"""The robot at one state ``(q, v, t)``.

    The plant without passive constraints is $M a + \mathrm{nle} = B u + f$. Arrays are
    views that `move` overwrites; keep a `copy` of what must outlive the next `move`.

    Attributes:
        robot: The robot.
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        t: Time [s].
        M: Mass matrix, shape ``(nv, nv)``, symmetric, C-contiguous.
        nle: Coriolis, centrifugal and gravity force, shape ``(nv,)``.
        f: Applied forces (springs, dampers, friction, given), shape ``(nv,)``.
        B: Actuation, shape ``(nv, nu)``.
        Jt: Joint Jacobian transposed, shape ``(nv, 6)``, world axes at the world origin,
            linear part first.
        dJt: Time derivative of ``Jt``.
        rotations: ``R_world_joint`` of every joint, shape ``(njoints, 3, 3)``; 0 is the world.
        translations: Origin of every joint in the world, shape ``(njoints, 3)`` [m].
    """

    __slots__ = (
        "B", "Jt", "M", "_aux", "_data", "_forces", "_model", "_moving_B", "dJt", "f", "nle",
        "q", "robot", "rotations", "t", "translations", "v",
    )  # fmt: skip

    def __init__(self, robot: Robot, q: Vector, v: Vector, t: float = 0.0) -> None:
        """Evaluate the robot at ``(q, v, t)``; `Robot.snapshot` checks the shapes first."""
        model = robot.model
        data = model.createData()
        self.robot = robot
        self._model, self._data, self._aux = model, data, None
        self.q, self.v, self.t = np.empty(robot.nq), np.empty(robot.nv), 0.0
        nv = robot.nv
        # The transpose of Eigen's column-major memory is C-contiguous.
        self.M: Matrix = _view(data.M, (nv, nv), data)
        self.nle: Vector = _view(data.nle, (nv,), data)
        self.Jt: Matrix = _view(data.J, (nv, 6), data)
        self.dJt: Matrix = _view(data.dJ, (nv, 6), data)
        self.rotations, self.translations = _placements(data, model.njoints)
        self.f: Vector = np.zeros(robot.nv)
        self.B: Matrix = robot.actuation.constant.copy()
        self._forces = robot.forces if robot.forces.any else None
        self._moving_B = robot.actuation if robot.actuation.varies else None
        self.move(q, v, t)

    def move(self, q: Vector, v: Vector, t: float = 0.0) -> None:
        """Evaluate the robot at another state, in place.

        The hot path: the arguments must be float64 arrays of shapes ``(nq,)`` and ``(nv,)``
        and are not checked further.
        """
        self.q[:] = q
        self.v[:] = v
        self.t = t
        model, data = self._model, self._data
        _crba(model, data, q)
        _bias(model, data, q, v)
        _jacobians(model, data, q, v)
        if self._forces is not None:
            self._forces.evaluate(self)
        if self._moving_B is not None:
            self._moving_B.evaluate(self)

    def copy(self) -> Snapshot:
        """Return an independent snapshot of the same state."""
        return Snapshot(self.robot, self.q, self.v, self.t)

    def __reduce__(self) -> tuple[type[Snapshot], tuple[Robot, Vector, Vector, float]]:
        return Snapshot, (self.robot, self.q, self.v, self.t)

    def __repr__(self) -> str:
        return f"Snapshot({self.robot.name!r}, q={self.q}, v={self.v}, t={self.t})"

    @property
    def gravity(self) -> Vector:
        """Return the gravity part of ``nle``, shape ``(nv,)``."""
        return np.array(pin.computeGeneralizedGravity(self._model, self._scratch(), self.q))

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
        """Return the motion of the centre of mass of all moving bodies."""
        model, data = self._model, self._scratch()
        J = np.array(pin.jacobianCenterOfMass(model, data, self.q, False)).reshape(3, -1)
        pin.centerOfMass(model, data, self.q, self.v, np.zeros(model.nv), False)
        return PointMotion(np.array(data.com[0]), J, J @ self.v, np.array(data.acom[0]))

    def energy(self) -> Energy:
        """Return the kinetic energy and the potential energy of gravity and springs [J]."""
        return Energy(0.5 * float(self.v @ self.M @ self.v), self.potential_energy())

    def potential_energy(self) -> float:
        """Return the potential energy of gravity and springs [J]."""
        height = float(pin.computePotentialEnergy(self._model, self._scratch(), self.q))
        return height + self.robot.forces.potential(self)

    def _scratch(self) -> Any:
        """Return a second Pinocchio data, so that rare questions never disturb the views."""
        if self._aux is None:
            self._aux = self._model.createData()
        return self._aux


class _Lender:
    """Lends memory to NumPy and keeps its owner alive.

    Pinocchio's own views do not, and would dangle in ``robot.snapshot(q, v).M``.
    """

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, owner: Any
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "typestr": "<f8", "data": (address, False),
            "shape": shape, "strides": strides,
        }  # fmt: skip


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _view(array: Any, shape: tuple[int, ...], owner: Any) -> NDArray[np.float64]:
    """Return the memory of an Eigen matrix as a C-contiguous array of a shape.

    Given explicitly, the shape is right for one velocity too, where Pinocchio's binding makes
    a vector of a matrix.
    """
    if array.size != np.prod(shape) or array.dtype != np.float64:
        raise RuntimeError("this version of Pinocchio stores its matrices differently.")
    return np.asarray(_Lender(_address(array), shape, None, owner))


def _placements(data: Any, count: int) -> tuple[Matrix, Matrix]:
    """Return all joint placements as two stacked views.

    ``data.oMi`` is one block of memory, each entry nine numbers of rotation (by columns) and
    three of translation; the addresses are compared, so a change in Pinocchio cannot pass.
    """
    first, step, translation = _address(data.oMi[0].rotation), 96, 72
    for j in range(count):
        place, start = data.oMi[j], first + step * j
        if (_address(place.rotation), _address(place.translation)) != (start, start + translation):
            raise RuntimeError("this version of Pinocchio stores joint placements differently.")
    rotations = _Lender(first, (count, 3, 3), (step, 8, 24), data)
    translations = _Lender(first + translation, (count, 3), (step, 8), data)
    return np.asarray(rotations), np.asarray(translations)


def _cross(a: NDArray[np.float64], b: Vector) -> NDArray[np.float64]:
    """Return ``a x b`` for rows ``a`` (several times faster than `numpy.cross`)."""
    out = np.empty_like(a)
    out[..., 0] = a[..., 1] * b[2] - a[..., 2] * b[1]
    out[..., 1] = a[..., 2] * b[0] - a[..., 0] * b[2]
    out[..., 2] = a[..., 0] * b[1] - a[..., 1] * b[0]
    return out


def checked(name: str, value: ArrayLike, size: int) -> Vector:
    """Return a state vector as a float64 array.

    Raises:
        ShapeError: It has another shape than ``(size,)``.
        InputError: It is not numbers, or not finite.
    """
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be {size} numbers; got {value!r}.") from None
    if array.shape != (size,):
        raise ShapeError(f"{name} must have shape {(size,)}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; got {array}.")
    return array
