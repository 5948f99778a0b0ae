"""Each clause for robots is broken by one made for it, which is told so, and bears its border."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.analysis import conformance
from ukctrl.robot import Functions

TWO_LINK = Robot.load("two_link")


class Altered:
    """A robot of which something is another one; what is given are functions of the true answer."""

    def __init__(self, **given):
        self._given = given

    def __getattr__(self, name):
        value = getattr(TWO_LINK, name)
        return self._given[name](value) if name in self._given else value


def named(**given):
    """Return a robot of names and units alone."""
    plain = {
        "coordinates": ("a", "b"), "coordinate_units": ("m", "m"), "dofs": ("a", "b"),
        "dof_units": ("m/s", "m/s"), "actuators": ("u",), "actuator_units": ("N",),
    }  # fmt: skip
    return SimpleNamespace(**plain | given)


def shown(**given):
    """Return a robot whose snapshots show these, functions of the true answer, instead."""

    def snapshot(true):
        def snapshot(q, v, t=0.0):
            s = true(q, v, t)
            arrays = {"M": s.M, "nle": s.nle, "v": s.v, "frame": s.frame}
            return SimpleNamespace(
                **{name: given.get(name, lambda x: x)(x) for name, x in arrays.items()}
            )

        return snapshot

    return Altered(snapshot=snapshot)


def moved(**by):
    """Return what makes a frame's velocity another one."""
    ((name, off),) = by.items()

    def frame(true):
        def frame(asked):
            given = true(asked)
            velocity = given.velocity + off * (asked == name) * np.eye(6)[0]
            return SimpleNamespace(position=given.position, velocity=velocity)

        return frame

    return frame


def slope(robot_slope, potential_slope, mass=2.0):
    """Return a robot pushed by one force, and whose energy tells of another one [N]."""
    return Robot.build(
        Functions(
            coordinates={"x": "m"},
            M=lambda q: np.array([[mass]]),
            nle=lambda q, v: np.array([robot_slope]),
            potential=lambda q: potential_slope * q[0],
        )
    )


class Pickled:
    """A point whose pickle has another mass or weight."""

    nv, neutral, home = 1, np.zeros(1), None
    M, nle = np.eye(1), np.zeros(1)

    def __init__(self, again=None):
        self.again = again or {}

    def integrate(self, q, dv):
        return q + dv

    def snapshot(self, q, v):
        return SimpleNamespace(M=self.M, nle=self.nle)

    def __reduce__(self):
        return pickled, (self.again,)


def pickled(changes):
    point = Pickled()
    vars(point).update(changes)
    return point


FAR = 1.2e-9  # of what rounding may leave, 1e-9
NEAR = 0.8e-9
UPPER = np.array([[0.0, 1.0], [0.0, 0.0]])
AGREE = "must agree to 1e-09; they differ by"
OWN = "must have names of their own"
FRAME = TWO_LINK.frames[-1]
BROKEN = {
    "names": [
        (named(coordinates=("a", "a")), f"coordinates {OWN}; 'a' repeat."),
        (named(dofs=("a", "b", "b", "b", "a"), dof_units=5 * ("m",)),
         f"velocities {OWN}; 'a', 'b' repeat."),
        (named(actuators=("u", "u"), actuator_units=("N", "N")), f"motors {OWN}; 'u' repeat."),
        (named(coordinate_units=("m",)), "coordinates must have a unit each; got ('m',)."),
        (named(dof_units=()), "velocities must have a unit each; got ()."),
        (named(actuator_units=("N", "N")), "motors must have a unit each; got ('N', 'N')."),
    ],
    "mass_matrix": [
        (shown(M=lambda M: M + 0.1 * UPPER), f"the mass matrix and its transpose {AGREE} …."),
        (shown(M=lambda M: np.ones((2, 2)) + FAR * UPPER * 2.0),
         f"the mass matrix and its transpose {AGREE} 1.2e-09."),
        (shown(M=lambda M: np.diag([0.0, 1.0])),
         "the mass matrix must be positive definite; got 0.0e+00."),
        (shown(M=lambda M: np.diag([3.0, -2.0])),
         "the mass matrix must be positive definite; got -2.0e+00."),
    ],
    "configurations": [
        (Altered(normalize=lambda true: lambda q: q + FAR), f"neutral and its normal form {AGREE} "
                                                            "1.2e-09."),
        (Altered(difference=lambda true: lambda a, b: true(a, b) + 1.0),
         f"a step and the difference that it makes {AGREE} …."),
    ],
    "energy_balance": [
        (slope(0.0, 1e-4), "energy must change by the power; it is off by … W."),
        (slope(1e-4, 0.0), "energy must change by the power; it is off by … W."),
    ],
    "frames_move_as_their_jacobians_say": [
        (shown(frame=moved(**{FRAME: 1e-3})),
         f"the velocity of frame '{FRAME}' must agree to 1e-06; they differ by …."),
    ],
    "pickles": [
        (Pickled({"M": 1.5 * np.eye(1)}), "M after pickling must agree to 0e+00; they differ by "
                                          "2.5e-01."),
        (Pickled({"nle": np.ones(1)}), "nle after pickling must agree to 0e+00; they differ by "
                                       "1.0e+00."),
    ],
}  # fmt: skip
ALLOWED = {
    "names": [named(), named(actuators=(), actuator_units=()), named(coordinates=("A", "a"))],
    "mass_matrix": [
        TWO_LINK,
        shown(M=lambda M: np.ones((2, 2)) + np.eye(2) + NEAR * UPPER),
        shown(M=lambda M: np.diag([1e-12, 1.0])),
    ],
    "configurations": [
        Altered(normalize=lambda true: lambda q: q + NEAR),
        Altered(difference=lambda true: lambda a, b: true(a, b) + 0.5 * NEAR),
    ],
    "energy_balance": [TWO_LINK, slope(1.0, 1.0), slope(0.0, 1e-7)],
    "frames_move_as_their_jacobians_say": [TWO_LINK, shown(frame=moved(**{FRAME: 1e-7}))],
    "pickles": [TWO_LINK, Pickled()],
}


def test_every_clause_has_a_robot_that_breaks_it_and_one_that_it_allows():
    names = [clause.name for clause in conformance.ROBOT]
    assert (list(BROKEN), list(ALLOWED)) == (names, names)
    assert all((*BROKEN.values(), *ALLOWED.values()))


@pytest.mark.parametrize(
    ("clause", "robot", "sentence"),
    [(clause, *case) for clause in conformance.ROBOT for case in BROKEN[clause.name]],
)
def test_what_breaks_a_clause_is_told_so(clause, robot, sentence, told):
    told(clause, robot, sentence)


@pytest.mark.parametrize(
    ("clause", "robot"),
    [(clause, robot) for clause in conformance.ROBOT for robot in ALLOWED[clause.name]],
)
def test_what_a_clause_just_allows(clause, robot):
    clause(robot)


def test_a_robot_with_closures_is_asked_at_rest_alone():
    """Any other velocity would break its loops."""
    five_bar = Robot.load("five_bar")
    next(clause for clause in conformance.ROBOT if clause.name == "energy_balance")(five_bar)


def test_what_an_energy_is_off_is_its_force_times_the_velocity():
    """F = 3 N that no force tells of, at the first velocity that the clause draws."""
    clause = next(clause for clause in conformance.ROBOT if clause.name == "energy_balance")
    rng = np.random.default_rng(4)
    _, v = rng.uniform(-0.3, 0.3, 1), rng.uniform(-1.0, 1.0, 1)
    with pytest.raises(conformance.ClauseViolation, match=f" off by {3.0 * abs(v[0]):.1e} W"):
        clause(slope(0.0, 3.0))
