"""Small robots whose linear systems are in the textbooks, and scenarios with them."""

from types import SimpleNamespace

import pytest
from cart_pole import CART, GRAVITY, LENGTH, POLE, cart_pole

from ukctrl import Robot, Scenario
from ukctrl.robot import Lagrangian


def mass(value=1.0):
    """A mass on a line, pushed by a force: a double integrator."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m"},
            kinetic="m/2*v.x**2",
            potential="0",
            parameters={"m": value},
            inputs={"F": {"x": 1.0}},
        )
    )


def scenario(robot, **more):
    """A scenario that holds ``x`` at zero."""
    given = {
        "title": "Held at zero",
        "robot": robot,
        "servo": [{"kind": "expression", "phi": "x", "name": "place"}],
        "controller": {"kind": "lqr"},
        "timing": {"duration": 1.0},
    }
    return Scenario(**{**given, **more})


def held_mass(alpha, beta, **more):
    """A mass under servo control with the error dynamics ``alpha``, ``beta``."""
    feedback = {"kind": "baumgarte", "alpha": alpha, "beta": beta}
    return scenario(mass(), controller={"kind": "servo", "feedback": feedback}, **more)


@pytest.fixture(scope="session")
def plants():
    """Give these plants and scenarios to tests."""
    return SimpleNamespace(
        mass=mass,
        cart_pole=cart_pole,
        scenario=scenario,
        held_mass=held_mass,
        length=LENGTH,
        masses=(CART, POLE),
        gravity=GRAVITY,
    )
