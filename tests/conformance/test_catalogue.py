"""Everything of the catalogue satisfies the clauses of its kind."""

from __future__ import annotations

import dataclasses as dc
import typing

import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis import conformance
from ukctrl.control import (
    Allocation,
    AnyAllocation,
    AnyFeedback,
    Controller,
    Damping,
    DisturbanceObserver,
    Feedback,
    LeastNorm,
    Posture,
)
from ukctrl.core.files import catalog
from ukctrl.core.kind_registry import classes_by_kind
from ukctrl.simulation.effects import AnyEffect, Effect

USUAL = "scara-helix"


def card(name: str, on: str = USUAL) -> Controller:
    """Return the controller of a card."""
    return Scenario.load(on).replace({"controller": {"use": name}}).controller


SERVO_CARDS = [name for name in catalog.names("controllers") if name.startswith("servo-")]
FEEDBACKS = {name: card(name).feedback for name in SERVO_CARDS}
OBSERVERS = {name: seen for name in SERVO_CARDS if (seen := card(name).disturbance) is not None}
ALLOCATIONS = {name: card(name).allocation for name in SERVO_CARDS} | {
    "damping": LeastNorm(null_space=Damping(gain=2.0)),
    "posture": LeastNorm(null_space=Posture(kp=5.0, kd=2.0)),
}
EFFECTS = {
    "payload": {"frame": "tool", "mass": 0.5, "start": 0.01},
    "friction": {"coulomb": 0.1, "static": 0.2, "viscous": 0.05},
    "mismatch": {"mass": 0.2, "inertia": 0.1},
    "push": {"frame": "tool", "force": (5.0, 0.0, 0.0), "start": 0.01, "duration": 0.01},
    "disturbance": {"joint": "q1", "effort": 0.5, "frequency": 3.0},
    "noise": {"std": 1e-4, "v_std": 1e-3},
    "bias": {"offset": 1e-3},
    "quantisation": {"step": 1e-4},
    "encoder_play": {"gap": 1e-3},
    "differentiation": {},
    "measurement_delay": {"ticks": 1},
    "saturation": {"limit": 50.0},
    "dead_zone": {"width": 0.1},
    "rate_limit": {"rate": 1e4},
    "input_delay": {"ticks": 1},
    "jitter": {"bound": 1e-3},
    "missed_ticks": {"probability": 0.3},
}
"""Every effect, with settings that the SCARA survives for some ticks."""
ELASTIC_EFFECTS = {"backlash": {"gap": 1e-3}}
"""Those that need springs."""


def example(part: type) -> dict[str, object]:
    """Return settings of a part that nothing here names: 1 where one must be given."""
    return {
        f.name: 1.0
        for f in dc.fields(part)
        if f.default is dc.MISSING and f.default_factory is dc.MISSING
    }


for _parts, _package, _base in (
    (FEEDBACKS, "ukctrl.control.feedback", Feedback),
    (ALLOCATIONS, "ukctrl.control.allocation", Allocation),
    (OBSERVERS, "ukctrl.control.disturbance", DisturbanceObserver),
):
    _named = {part.kind for part in _parts.values()}
    _others = {k: made for k, made in classes_by_kind(_package, _base).items() if k not in _named}
    _parts.update({kind: made(**example(made)) for kind, made in _others.items()})
for _kind, _made in classes_by_kind("ukctrl.simulation.effects", Effect).items():
    if _kind not in ELASTIC_EFFECTS:
        EFFECTS.setdefault(_kind, example(_made))
SERVED = {
    "elastic-cascade": "panda-elastic",
    "elastic-integral-manifold": "panda-elastic",
    "elastic-linearisation": "panda-elastic",
    "elastic-singular-perturbation": "panda-elastic",
    "elastic-tracking": "flexible-joint-arm-motor",
    "mpc": "panda-pose-sampled",
    "mpc-along": "panda-pose-sampled",
    "servo-bounded": "ur5-pose",
    "servo-weighted": "ur5-pose",
    "swing-up": "cart-pole-swing-up",
    "thrust-vectoring": "quadrotor-lemniscate",
    "time-delay": "scara-helix-bench",
}
"""On which scenario a card is tried that does not serve the usual one."""
REFUSED = {"two-mass-spring-far": "infeasible"}
"""Scenarios that show a refusal, and its status."""
SMALLER = {"swarm-many": {"robot.particles.count": 12}}
"""Changes that make a large scenario quick."""


@pytest.mark.parametrize("feedback", FEEDBACKS.values(), ids=FEEDBACKS)
def test_every_feedback_conforms(feedback):
    conformance.FEEDBACK.examine(feedback, feedback.kind).confirm()


@pytest.mark.slow(only=["servo-momentum-observer"])
@pytest.mark.parametrize("observer", OBSERVERS.values(), ids=OBSERVERS)
def test_every_disturbance_observer_conforms(observer):
    conformance.DISTURBANCE.examine(observer, observer.kind).confirm()


def test_the_frozen_coupling_is_found_to_miss_its_rows():
    found = conformance.ALLOCATION.examine(ALLOCATIONS["servo-frozen"], "frozen")
    assert [f.clause for f in found.findings if not f.ok] == ["meets_the_rows"]


@pytest.mark.parametrize("name", sorted(set(ALLOCATIONS) - {"servo-frozen"}))
def test_every_allocation_conforms(name):
    conformance.ALLOCATION.examine(ALLOCATIONS[name], name).confirm()


def read_effect(kind: str, settings: dict[str, object], on: str) -> conformance.EffectCase:
    scenario = Scenario.load(on)
    effect = scenario.replace({"effect": [{"kind": kind, **settings}], "timing.control": 0.005})
    return conformance.EffectCase(effect.effect[0], scenario)


@pytest.mark.parametrize(("kind", "settings"), EFFECTS.items(), ids=EFFECTS)
def test_every_effect_conforms(kind, settings):
    conformance.EFFECT.examine(read_effect(kind, settings, USUAL), kind).confirm()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "settings"), ELASTIC_EFFECTS.items(), ids=ELASTIC_EFFECTS)
def test_every_effect_on_springs_conforms(kind, settings):
    exposed = read_effect(kind, settings, "flexible-joint-arm-motor")
    conformance.EFFECT.examine(exposed, kind).confirm()


def test_no_effect_of_the_catalogue_is_left_out():
    kinds = {typing.get_args(typing.get_type_hints(each)["kind"])[0] for each in members(AnyEffect)}
    assert kinds == {*EFFECTS, *ELASTIC_EFFECTS}


def test_no_feedback_or_allocation_of_the_catalogue_is_left_out():
    for union, tried in ((AnyFeedback, FEEDBACKS), (AnyAllocation, ALLOCATIONS)):
        kinds = {typing.get_args(typing.get_type_hints(each)["kind"])[0] for each in members(union)}
        assert kinds == {part.kind for part in tried.values()}


def members(union: object) -> tuple[type, ...]:
    """Return the classes of an annotated union."""
    return typing.get_args(typing.get_args(union)[0])


@pytest.mark.slow(
    only=[
        "mpc-along",
        "pole-placement",
        "lqi",
        "mpc",
        "servo-acceleration-observer",
        "swing-up",
        "tvlqr",
        "tvlqr-flat",
    ]
)
@pytest.mark.parametrize("name", catalog.names("controllers"))
def test_every_controller_conforms(name):
    on = SERVED.get(name, USUAL)
    trial = conformance.ControllerCase(card(name, on), Scenario.load(on))
    conformance.CONTROLLER.examine(trial, name).confirm()


@pytest.mark.parametrize("name", catalog.names("robots"))
def test_every_robot_conforms(name):
    conformance.ROBOT.examine(Robot.load(name), name).confirm()


@pytest.mark.slow(
    only=[
        "three-rrr-fastest",
        "a1-push",
        "a1-three-feet",
        "acrobot-swing-up",
        "cart-pole-swing-up",
        "crane-spatial",
        "elastic-arm-tip",
        "elastic-two-link",
        "pendubot-swing-up",
        "quadrotor-upside-down",
    ]
)
@pytest.mark.parametrize("name", [n for n in catalog.names("scenarios") if n not in REFUSED])
def test_every_scenario_conforms(name):
    conformance.SCENARIO.examine(Scenario.load(name, SMALLER.get(name, {})), name).confirm()


@pytest.mark.parametrize(("name", "status"), REFUSED.items())
def test_a_scenario_that_shows_a_refusal_is_refused(name, status):
    found = conformance.SCENARIO.examine(Scenario.load(name), name)
    assert not found.ok
    assert any(f"a short run {status}" in finding.detail for finding in found.findings)


@pytest.mark.parametrize("name", catalog.names("scenarios"))
def test_every_constraint_of_the_scenarios_conforms(name):
    scenario = Scenario.load(name, SMALLER.get(name, {}))
    from ukctrl.simulation.assemble.retimed_rows import servo_constraints
    from ukctrl.simulation.assemble.scenario_robots import true_robot

    robot = true_robot(scenario.robot)
    for constraint in servo_constraints(scenario, robot):
        placed = conformance.ConstraintCase(constraint, robot)
        conformance.CONSTRAINT.examine(placed, constraint.name or constraint.kind).confirm()
