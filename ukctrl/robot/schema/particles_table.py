"""Swarms: any number of particles, each free to move along two or three axes."""

from __future__ import annotations

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Positive, spec

MAX_PARTICLES = 1000
"""More particles than this are a typing error; the mass matrix alone would fill the memory."""

MAX_COORDINATES = 1000
"""More than a model may have joints."""

_AXES = (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1"))


@spec
class Particles:
    """``[particles]`` of a ``robot.toml``: coordinates ``x1 y1 x2 y2 ...``, one motor on each.

    The frame of particle 3 is called ``p3``.
    """

    count: Count
    """How many."""
    mass: Positive | tuple[Positive, ...] = 1.0
    """Mass of each [kg]: one number for all, or one each."""
    dimension: Count = 2
    """Whether they move in the xy plane or in space."""

    @model_validator(mode="after")
    def _sensible(self) -> Particles:
        if self.count > MAX_PARTICLES:
            raise InputError(f"count must be at most {MAX_PARTICLES}; got {self.count}.")
        if self.dimension not in (2, 3):
            raise InputError(f"dimension must be 2 or 3; got {self.dimension}.")
        if self.count * self.dimension > MAX_COORDINATES:
            raise InputError(
                f"count must be at most {MAX_COORDINATES // self.dimension} in {self.dimension} "
                f"dimensions; got {self.count}."
            )
        if isinstance(self.mass, tuple) and len(self.mass) != self.count:
            raise InputError(
                f"mass must be one number, or one for each of the {self.count} particles; "
                f"got {len(self.mass)}."
            )
        return self

    def urdf(self) -> str:
        """Return the model: every particle at the end of a chain of massless slides."""
        masses = self.mass if isinstance(self.mass, tuple) else (self.mass,) * self.count
        parts = ['<link name="ground"/>']
        for number, mass in enumerate(masses, start=1):
            parent = "ground"
            for at, (axis, direction) in enumerate(_AXES[: self.dimension], start=1):
                last = at == self.dimension
                link = f"p{number}" if last else f"p{number}_{axis}"
                parts.append(_body(link, mass) if last else f'<link name="{link}"/>')
                parts.append(_slide(f"{axis}{number}", parent, link, direction))
                parent = link
        return f'<robot name="particles">{"".join(parts)}</robot>'


def _body(link: str, mass: float) -> str:
    inertia = 'ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"'  # it never turns
    return (
        f'<link name="{link}"><inertial><mass value="{mass!r}"/><inertia {inertia}/>'
        "</inertial></link>"
    )


def _slide(joint: str, parent: str, child: str, direction: str) -> str:
    free = 'lower="-1e30" upper="1e30" effort="1e30" velocity="1e30"'  # URDF requires limits
    return (
        f'<joint name="{joint}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{direction}"/><limit {free}/></joint>'
    )
