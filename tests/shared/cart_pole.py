"""The cart with a pole of the textbooks."""

from ukctrl.robot import Lagrangian, Options, Robot

CART, POLE, LENGTH, GRAVITY = 2.0, 0.5, 0.7, 9.81


def cart_pole(**more):
    """A pole of 0.5 kg, 0.7 m above its hinge on a cart of 2 kg."""
    plant = Lagrangian(
        coordinates={"x": "m", "angle": "rad"},
        kinetic="M/2*v.x**2 + m/2*(v.x**2 + 2*l*cos(angle)*v.x*v.angle + l**2*v.angle**2)",
        potential="m*g*l*cos(angle)",
        parameters={"M": CART, "m": POLE, "l": LENGTH, "g": GRAVITY},
        inputs={"F": {"x": 1.0}},
    )
    return Robot.build(plant, Options(**more), name="cart_pole")
