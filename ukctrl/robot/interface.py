"""What a snapshot, and all that makes one, need of a robot.

`Robot` is made of what stands below it, so that these parts cannot name its class: they name
these protocols. Types that themselves need a `Snapshot` are ``Any`` here.
"""

from __future__ import annotations

from typing import Any, Protocol

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.site import Site


class Inputs(Protocol):
    """How the inputs push on a robot: `ukctrl.robot.actuators.Actuation`."""

    @property
    def constant(self) -> Matrix:
        """``B`` without the columns that depend on the configuration, shape ``(nv, nu)``."""

    @property
    def varies(self) -> bool:
        """Whether ``B`` depends on the configuration."""

    def evaluate(self, snapshot: Any) -> None:
        """Write the columns that depend on the configuration into ``snapshot.B``."""


class Applied(Protocol):
    """The applied forces on a robot: `ukctrl.robot.forces.Forces`."""

    @property
    def any(self) -> bool:
        """Whether there is any force."""

    def evaluate(self, snapshot: Any) -> None:
        """Write the sum into ``snapshot.f``."""

    def potential(self, snapshot: Any) -> float:
        """Return the potential energy of the springs [J]."""

    def potential_rate(self, snapshot: Any) -> float:
        """Return the time derivative of `potential` along the velocity [W]."""


class RobotInterface(Protocol):
    """A robot as its parts see it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def structure(self) -> Any:
        """What it is made of, a `ukctrl.robot.structure.Structure`."""

    @property
    def actuation(self) -> Inputs:
        """Its inputs."""

    @property
    def forces(self) -> Applied:
        """Its applied forces."""

    @property
    def elastic(self) -> Any:
        """Its `ukctrl.robot.elastic.ElasticJoints`, or None."""

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
