"""Every quantity that a run records: its axes, its meaning and its units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ukctrl.simulation.result.samples.derived_units import (
    common_unit,
    per_second,
    power_conjugate,
    reaction_unit,
)
from ukctrl.simulation.result.samples.labels import Labels


class Field(NamedTuple):
    """One recorded quantity: its axes after time, its meaning and its units."""

    dims: tuple[str, ...]
    long_name: str
    units: Callable[[Labels], tuple[str, ...]]
    """Unit of each entry along the first axis after time; one alone where all share it."""
    always: bool = True
    """Present in every result; the others only when the run recorded them."""


def _one(unit: str) -> Callable[[Labels], tuple[str, ...]]:
    return lambda labels: (unit,)


def _row_acceleration(labels: Labels) -> tuple[str, ...]:
    return (common_unit(per_second(per_second(unit)) for unit in labels.row_units),)


def _grip(labels: Labels) -> tuple[str, ...]:
    rows, inputs = _row_acceleration(labels)[0], common_unit(labels.actuator_units)
    return (f"({rows})/({inputs})",)


FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "q": Field(("coordinate",), "configuration", lambda x: x.coordinate_units),
        "v": Field(("dof",), "velocity", lambda x: x.dof_units),
        "a": Field(("dof",), "acceleration", lambda x: tuple(map(per_second, x.dof_units))),
        "u": Field(("actuator",), "input", lambda x: x.actuator_units),
        "phi": Field(("row",), "servo constraint error at position level", lambda x: x.row_units),
        "beta": Field(
            ("row",),
            "servo constraint error at velocity level, A v - c",
            lambda x: tuple(map(per_second, x.row_units)),
        ),
        "passive_phi": Field(
            ("passive_row",),
            "passive constraint error at position level",
            lambda x: x.passive_row_units,
        ),
        "passive_beta": Field(
            ("passive_row",),
            "passive constraint error at velocity level",
            lambda x: tuple(map(per_second, x.passive_row_units)),
        ),
        "passive_force": Field(
            ("dof",),
            "generalised force of the passive constraints",
            lambda x: tuple(map(power_conjugate, x.dof_units)),
        ),
        "energy": Field((), "kinetic plus potential energy", _one("J")),
        "frame_position": Field(("frame", "axis"), "position of a frame in the world", _one("m")),
        "frame_reference": Field(
            ("frame", "axis"), "where a servo constraint wants the frame", _one("m"), always=False
        ),
        "actuator_rate": Field(
            ("actuator",),
            "rate on which an input does work, B' v",
            lambda x: tuple(map(power_conjugate, x.actuator_units)),
            always=False,
        ),
        "kinetic_energy": Field((), "kinetic energy", _one("J"), always=False),
        "power": Field((), "power fed to the robot", _one("W"), always=False),
        "supplied_energy": Field((), "energy fed to the robot since the start", _one("J"), False),
        "reach": Field(
            (), "row acceleration out of reach, |(I - H H+) d|", _row_acceleration, False
        ),
        "rank": Field((), "rank of H = A G", _one("1"), always=False),
        "reaction": Field(
            ("passive_row",),
            "multiplier of the passive row: what it transmits; of a closure, force and torque "
            "on its first frame in the axes of its second",
            lambda x: tuple(map(reaction_unit, x.passive_row_units)),
            always=False,
        ),
        "reaction_residual": Field(
            (),
            "passive force that the rows cannot transmit, |F - A_p' lam|",
            lambda x: (common_unit(map(power_conjugate, x.dof_units)),),
            always=False,
        ),
        "reaction_power": Field((), "power of the reactions on drift, lam' beta", _one("W"), False),
        "nonideal_force": Field(
            ("dof",),
            "generalised force of passive constraints beside their reactions, such as friction",
            lambda x: tuple(map(power_conjugate, x.dof_units)),
            always=False,
        ),
        "passive_rank": Field((), "directions that the passive rows constrain", _one("1"), False),
        "passive_sigma_min": Field(
            (), "smallest singular value of the passive rows that counts", _one("1"), False
        ),
        "passive_sigma_dropped": Field(
            (), "largest singular value of the passive rows that does not count", _one("1"), False
        ),
        "sigma_min": Field((), "smallest singular value of H that was kept", _grip, always=False),
        "q_measured": Field(
            ("coordinate",),
            "configuration that the law measured",
            lambda x: x.coordinate_units,
            False,
        ),
        "v_measured": Field(
            ("dof",), "velocity that the law measured", lambda x: x.dof_units, False
        ),
        "u_commanded": Field(
            ("actuator",), "input that the law commanded", lambda x: x.actuator_units, False
        ),
        "u_lower": Field(
            ("actuator",), "least input that the drive gives", lambda x: x.actuator_units, False
        ),
        "u_upper": Field(
            ("actuator",), "largest input that the drive gives", lambda x: x.actuator_units, False
        ),
    }
)
"""Every quantity that a run records, by its name in the file."""
