"""A true robot whose parameters are not quite those of its file, drawn at random."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, final

import numpy as np
from pydantic import Field, model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import InputFolder, JointEffort, Quantity, spec
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Perturbation, Robot
from ukctrl.simulation.effects.effect import PlantEffect
from ukctrl.simulation.effects.encoder_settings import refuse_zeros

Share = Annotated[float, Quantity("1", minimum=0.0, maximum=0.99)]
"""Largest relative deviation, below 1."""
SHARES = ("mass", "inertia", "com", "friction", "parameters")


def _identification() -> Any:
    """Return what draws identified robots: a package beside this one, loaded where it is asked for.

    It knows the file that its fits write; here nothing else needs to.
    """
    return importlib.import_module("ukctrl_identification.drawn_robot")


@final
@spec
class Mismatch(PlantEffect):
    r"""Every body's mass, inertia and centre of mass is off by a random amount.

    Factors are uniform in $1 \pm$ the share, shifts uniform within $\pm$ the length along each
    axis; or the robot is drawn from what a fit to logs does not know. The law goes on believing the
    file, or what ``believed`` says. What was drawn stands in the provenance; another scenario
    ``seed`` draws another robot.
    """

    kind: Literal["mismatch"] = "mismatch"
    mass: Share = 0.0
    """Of the masses, and of the rotational inertias with them, as if the density were another."""
    inertia: Share = 0.0
    """Further, of the rotational inertias about the centres of mass."""
    com: Annotated[float, Quantity("m", minimum=0.0)] = 0.0
    """Shift of the centres of mass along each axis [m]."""
    friction: JointEffort = 0.0
    """Dry friction that each joint with one freedom may have, uniform from zero [N m or N]."""
    parameters: Share = 0.0
    """Of the parameters of a plant of formulas or functions."""
    identified: InputFolder | None = Field(default=None, alias="from")
    """Instead of the above, in a file ``from``: folder of an identified robot, whose numbers are
    drawn with their covariance, physically consistent."""

    @model_validator(mode="after")
    def _some_share(self) -> Mismatch:
        shares = [name for name in SHARES if getattr(self, name)]
        if self.identified is None:
            refuse_zeros(self, *SHARES)
        elif shares:
            raise InputError(
                f"from and {shares[0]} contradict each other: a fit says how much its numbers may "
                "be off; remove one of them."
            )
        return self

    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        if self.identified is None:
            return self._drawn(robot, rng).apply(robot)
        with error_context("from"):
            drawn: Robot = _identification().drawn_robot(robot, self.identified, rng)
        return drawn

    def _drawn(self, robot: Robot, rng: np.random.Generator) -> Perturbation:
        blocks = [block for block in robot.blocks if not block.rotor]
        joints = [block.name for block in blocks]
        # All are drawn whatever is asked for, so that one more setting leaves the others alone.
        draws = rng.uniform(-1.0, 1.0, (len(joints), 6))
        values = rng.uniform(-1.0, 1.0, len(robot.parameters))
        changes: dict[str, Any] = {}
        if self.mass:
            changes["mass_scale"] = dict(zip(joints, 1.0 + self.mass * draws[:, 0], strict=True))
        if self.inertia:
            factors = 1.0 + self.inertia * draws[:, 1]
            changes["inertia_scale"] = dict(zip(joints, factors, strict=True))
        if self.com:
            shifts = [tuple(shift.tolist()) for shift in self.com * draws[:, 2:5]]
            changes["com_shift"] = dict(zip(joints, shifts, strict=True))
        if self.friction:
            changes["friction"] = {
                # friction has no sign: the draw is moved to [0, 1]
                block.name: self.friction * 0.5 * (1.0 + draw)
                for block, draw in zip(blocks, draws[:, 5], strict=True)
                if block.nv == 1
            }
            if not changes["friction"]:
                raise InputError(
                    f"friction: there is nothing to rub; robot '{robot.name}' has no joint with "
                    "one freedom. Remove it."
                )
        if self.parameters:
            if not robot.parameters:
                raise InputError(
                    f"parameters: robot '{robot.name}' has no parameters but bodies; give mass, "
                    "inertia or com instead."
                )
            changes["parameters"] = {
                name: value * (1.0 + self.parameters * draw)
                for (name, value), draw in zip(robot.parameters.items(), values, strict=True)
            }
        return Perturbation(**changes)

    def facts(self, robot: Robot, rng: np.random.Generator) -> Mapping[str, Any]:
        if self.identified is not None:
            numbers: Mapping[str, Any] = _identification().drawn_numbers(self.identified, rng)
            return numbers
        drawn = self._drawn(robot, rng)
        return {
            name: getattr(drawn, name)
            for name in ("mass_scale", "inertia_scale", "com_shift", "friction", "parameters")
            if isinstance(getattr(drawn, name), dict) and getattr(drawn, name)
        }
