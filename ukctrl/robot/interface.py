"""What a snapshot, and all that makes one, need of a robot, and where its frames are fixed.

`Robot` is made of what stands below it, so that these parts cannot name its class: they name
this protocol. Types that themselves need a `Snapshot` are ``Any`` here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector


class Place(NamedTuple):
    """What the motion of a frame takes from its `Site`."""

    joint: int
    rotation: Matrix
    translation: Vector
    columns: Indices


class Site(NamedTuple):
    """Where a frame is fixed on the robot."""

    joint: int
    """Index of the joint that carries it; 0 is the world."""
    rotation: Matrix
    """Orientation in the joint's frame, shape ``(3, 3)``."""
    translation: Vector
    """Position in the joint's frame, shape ``(3,)`` [m]."""
    support: Flags
    """Which velocities move it, shape ``(nv,)``."""
    columns: Indices
    """The indices of those velocities."""

    @property
    def place(self) -> Place:
        """All but ``support``."""
        return Place(self.joint, self.rotation, self.translation, self.columns)


class RobotInterface(Protocol):
    """A robot as its parts see it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def structure(self) -> Any:
        """What it is made of, a `ukctrl.robot.structure.Structure`."""

    @property
    def actuation(self) -> Any:
        """Its inputs, a `ukctrl.robot.actuators.Actuation`."""

    @property
    def forces(self) -> Any:
        """Its applied forces, `ukctrl.robot.forces.Forces`."""

    @property
    def elastic(self) -> Any:
        """Its `ukctrl.robot.elastic.ElasticJoints`, or None."""

    @property
    def passive(self) -> Any:
        """Its ``[[passive]]`` tables, unread."""

    @property
    def appearance(self) -> Any:
        """What its files say of its looks, an `ukctrl.robot.appearance.Appearance`."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""

    @property
    def nv(self) -> int:
        """Number of velocities."""

    @property
    def dofs(self) -> tuple[str, ...]:
        """Names of the entries of ``v``."""

    @property
    def dof_units(self) -> tuple[str, ...]:
        """Units of the entries of ``v``."""

    def site(self, name: str) -> Site:
        """Return where a frame is fixed."""

    def integrate(self, q: Vector, dv: Vector) -> Vector:
        """Return the configuration reached from ``q`` by the tangent step ``dv``."""
