"""A part of one's own with a built-in's formula gets the built-in's verdict, word for word."""

import itertools

import pytest
from command import ended

from tests.shared.slow import slow_but

HEAD = """
from ukctrl import control, uk
from ukctrl.core.fields import spec

"""
ALLOCATION = """
@spec
class Mine(control.Allocation):
    def attach(self, task, rows):
        return control.{built}.attach(task, rows)
"""
FEEDBACK = """
@spec
class Mine(control.Feedback):
    def attach(self, stack):
        return control.{built}.attach(stack)
"""
FORMULA = """
@spec
class Mine(control.Allocation):
    def attach(self, task, rows):
        return Bound(rows)


class Bound(control.Allocator):
    def __init__(self, rows):
        self._rows = rows

    def input(self, rows, demand, dynamics):
        return uk.servo_input(rows.A, demand, dynamics.a_free, dynamics.G, rows=self._rows)
"""

ALLOCATIONS = {
    'kind="least_norm"': "LeastNorm()",
    'kind="least_norm", on_infeasible="least_squares"': 'LeastNorm(on_infeasible="least_squares")',
    'kind="least_norm", null_space={kind="damping", gain=1.0}': (
        "LeastNorm(null_space=control.Damping(gain=1.0))"
    ),
    'kind="chen"': "Chen()",
    'kind="damped"': "Damped()",
    'kind="bounded"': "Bounded()",
    'kind="prioritized"': "Prioritized()",
}
FEEDBACKS = {
    'kind="exact"': "Exact()",
    'kind="baumgarte", alpha=20.0, beta=100.0': "Baumgarte(alpha=20.0, beta=100.0)",
    'kind="pid", kp=75.0, ki=125.0, kd=15.0': "Pid(kp=75.0, ki=125.0, kd=15.0)",
    'kind="first_order", kappa=9.0': "FirstOrder(kappa=9.0)",
    'kind="sliding", alpha=20.0, beta=100.0, rate=20.0, box=1e-3, uncertainty=0.1': (
        "Sliding(alpha=20.0, beta=100.0, rate=20.0, box=1e-3, uncertainty=0.1)"
    ),
    'kind="chen_robust", kappa=10.0, rate=10.0, rho=1.0, epsilon=0.01': (
        "ChenRobust(kappa=10.0, rate=10.0, rho=(1.0, 0.0, 0.0), epsilon=0.01)"
    ),
    'kind="adaptive_robust", kappa=10.0, rate=10.0, growth=1.0, leak=1.0, epsilon=0.01': (
        "AdaptiveRobust(kappa=10.0, rate=10.0, growth=1.0, leak=1.0, epsilon=0.01)"
    ),
    'kind="lyapunov", kappa=10.0, rate=10.0, tube=1e-3': (
        "Lyapunov(kappa=10.0, rate=10.0, tube=1e-3)"
    ),
}
STIFF = 'kind="baumgarte", alpha=20.0, beta=100.0'
BEYOND = ("stretched-arm", "scara-weak-motors")
"""A singular position, and motors too weak for the task: what allocations differ in."""
NUMBER = itertools.count()


@pytest.fixture
def checked(tmp_path, monkeypatch, capfd):
    """Return what `ukctrl check` prints, for a feedback and an allocation as a card says them."""
    monkeypatch.chdir(tmp_path)

    def run(scenario, feedback, allocation, code="", *changes):
        mine = f"mine_{next(NUMBER)}.py"
        (tmp_path / mine).write_text(HEAD + code)
        card = f'kind = "servo"\nfeedback = {{ {feedback} }}\nallocation = {{ {allocation} }}\n'
        (tmp_path / "card.toml").write_text(card.replace("MINE", f"./{mine}:Mine"))
        return ended(capfd, "check", scenario, "-c", "card.toml", "--trust", *changes)

    return run


MINE = 'kind="MINE"'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("built", "scenario"),
    slow_but(list(zip(ALLOCATIONS, itertools.cycle(BEYOND))),
             list(itertools.product(ALLOCATIONS, BEYOND))),
)  # fmt: skip
def test_an_allocation_under_another_name_is_checked_the_same(checked, built, scenario):
    copy = ALLOCATION.format(built=ALLOCATIONS[built])
    assert checked(scenario, STIFF, MINE, copy) == checked(scenario, STIFF, built)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", BEYOND)
def test_a_formula_written_anew_is_checked_as_the_built_in_one(checked, scenario):
    ours = checked(scenario, STIFF, MINE, FORMULA)
    assert ours == checked(scenario, STIFF, 'kind="least_norm"')


@pytest.mark.slow
@pytest.mark.parametrize("built", slow_but(list(FEEDBACKS)[1::2], FEEDBACKS))
def test_a_feedback_under_another_name_is_checked_the_same(checked, built):
    copy, least = FEEDBACK.format(built=FEEDBACKS[built]), 'kind="least_norm"'
    held = ("--set", "timing.control=0.05", "--set", "timing.duration=1.0")
    ours = checked("scara-weak-motors", MINE, least, copy, *held)
    assert ours == checked("scara-weak-motors", built, least, "", *held)
