"""Differences as an observer, and the force that no model explains beside any estimate."""

import numpy as np
import pinocchio as pin
import pytest
import tomli_w

from ukctrl import Entry, InputError, Loop, Scenario, compare, simulate
from ukctrl.analysis.conformance.examine_file import examine_file
from ukctrl.analysis.linear.linear_loop import linear_loop

T = 1e-3
NOISE = {"kind": "noise", "std": 1e-5}
TORQUE = [3.0, -1.5, 0.4, 5.0]
PUSHED = [
    {"kind": "push", "name": f"push {k}", "joint": f"q{k}", "effort": effort, "start": 0.0,
     "duration": 10.0} for k, effort in enumerate(TORQUE, 1)
]  # fmt: skip


def scenario(name="scara-helix", duration=0.2, **changes):
    table = Scenario.load(name).to_table()
    table |= {
        "timing": {"duration": duration, "control": T, "sample": T},
        "integrator": {"method": "RK4", "step": T},
        "effect": [NOISE],
    }
    table = {key: part for key, part in (table | changes).items() if part is not None}
    return Scenario.from_toml(tomli_w.dumps(table))


def run(*given, **changes):
    result = simulate(scenario(*given, **changes))
    assert result.status == "completed", result.message
    return result


@pytest.mark.slow(only=["three-rrr-bare"])
@pytest.mark.parametrize("cutoff", [{}, {"cutoff": 80.0}], ids=["bare", "low-pass"])
@pytest.mark.parametrize("name", ["scara-helix", "three-rrr", "quadrotor-hover"])
def test_differences_are_those_of_the_effect(name, cutoff):
    """Bit for bit: one kernel is behind both."""
    given = {"duration": 0.05, "monitor": {"max_passive_phi": 1.0, "max_passive_beta": 10.0}}
    observed = run(name, observer={"kind": "differences"} | cutoff, **given)
    effect = run(name, effect=[NOISE, {"kind": "differentiation"} | cutoff], **given)
    for key in ("q", "v", "u"):
        np.testing.assert_array_equal(observed[key], effect[key])
    np.testing.assert_array_equal(observed["v_estimated"], effect["v_measured"])
    assert "nees" not in observed.samples


@pytest.mark.parametrize("cutoff", [{}, {"cutoff": 80.0}], ids=["bare", "low-pass"])
def test_an_analysis_takes_differences_as_it_takes_the_effect(cutoff):
    path = {"kind": "constant", "value": [0.3, 0.4, 0.1, 0.0]}
    held = {"servo": [{"kind": "joint_follows", "joints": ["q1", "q2", "q3", "q4"], "path": path}],
            "start": {"q": {"q1": 0.3, "q2": 0.4, "q3": 0.1}}}  # fmt: skip
    observed = linear_loop(scenario(observer={"kind": "differences"} | cutoff, **held))
    effect = linear_loop(scenario(effect=[NOISE, {"kind": "differentiation"} | cutoff], **held))
    ours, wanted = observed.poles(), effect.poles()
    # The last estimate and input are states of an observer, with poles at zero where unread.
    powers = np.arange(1, 7)
    sums = [np.sum(poles[:, None] ** powers, axis=0).real for poles in (ours, wanted)]
    np.testing.assert_allclose(*sums, rtol=0.0, atol=1e-6)


MOMENTUM = {"kind": "momentum_observer", "bandwidth": 100.0}
OBSERVERS = {
    "differences": {"kind": "differences"},
    "luenberger": {"kind": "luenberger", "bandwidth": 300.0},
    "ekf": {"kind": "ekf", "acceleration_std": 50.0},
}


@pytest.mark.parametrize("disturbance", [MOMENTUM, MOMENTUM | {"kind": "acceleration_observer"}],
                         ids=["momentum", "acceleration"])  # fmt: skip
@pytest.mark.parametrize("observer", OBSERVERS.values(), ids=OBSERVERS)
def test_a_constant_torque_is_found_beside_any_estimate(observer, disturbance):
    given = observer | {"disturbance": disturbance}
    result = run(effect=[*PUSHED, {"kind": "noise", "std": 1e-9}], observer=given)
    true = result["disturbance_estimated"] + result["disturbance_error"]
    # At the first tick nothing has acted yet but gravity and the torque; the last is no tick.
    np.testing.assert_allclose(true[:-1], np.tile(TORQUE, (200, 1)), rtol=0.0, atol=1e-8)
    late = np.abs(result["disturbance_error"][150:-1])
    assert late.max() < 0.05 * np.abs(TORQUE).max()
    assert np.abs(result["disturbance_error"][0]).max() > 2.0
    assert result.metric("rms_disturbance") > 0.0


def test_it_is_the_momentum_observer_of_the_book():
    """The recursion by Pinocchio and NumPy, from recorded estimates and the inputs that acted."""
    given = OBSERVERS["ekf"] | {"disturbance": MOMENTUM}
    result = run(effect=[*PUSHED, NOISE], observer=given, duration=0.1)
    robot = Loop(scenario(observer=given)).robot
    model, rate = robot.model, 100.0
    data, z, found = model.createData(), None, []
    for k, (q, v) in enumerate(zip(result["q_estimated"], result["v_estimated"], strict=True)):
        M = pin.crba(model, data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        z = M @ v if z is None else z
        d = rate * (M @ v - z)
        found.append(d)
        C = pin.computeCoriolisMatrix(model, data, q, v).copy()
        g = pin.computeGeneralizedGravity(model, data, q).copy()
        s = robot.snapshot(q, v)
        # With dM/dt = C + C' the momentum goes at the rate B u + f + C' v - g.
        z = z + T * (s.B @ result["u"][k] + s.f + C.T @ v - g + d)
    np.testing.assert_allclose(
        result["disturbance_estimated"][:-1], found[:-1], rtol=0.0, atol=1e-9
    )
    assert np.abs(found).max() > 1.0


@pytest.mark.slow
def test_a_wrong_mass_is_a_disturbance_on_a_closed_chain_too():
    """The reactions are left out of it: what remains moves the robot along its freedoms."""
    given = {"kind": "ekf", "acceleration_std": 20.0, "disturbance": MOMENTUM}
    given = {"believed": {"mass_scale": 0.8}, "observer": given, "duration": 0.1}
    result = run("three-rrr", effect=[{"kind": "noise", "std": 1e-9}], **given)
    true = result["disturbance_estimated"] + result["disturbance_error"]
    assert np.abs(true[10:-1]).max() > 1e-3
    share = np.linalg.norm(result["disturbance_error"][60:-1]) / np.linalg.norm(true[60:-1])
    assert share < 0.5


REFUSED = {
    "a speed sensor": ({"sensing": {"speeds": True}}, {"kind": "differences"}, "speeds too"),
    "a missing encoder": (
        {"sensing": {"joints": ["q1"]}}, {"kind": "differences"}, "not that of 'q2', 'q3', 'q4'"
    ),
    "no cutoff": ({}, {"kind": "differences", "cutoff": 0.0}, "cutoff"),
    "too fast": (
        {}, {"kind": "differences", "disturbance": MOMENTUM | {"bandwidth": 2000.0}},
        "observer: disturbance: bandwidth must be at most one over the control period"
    ),
    "no such kind": ({}, {"kind": "differences", "disturbance": {"kind": "momentum"}}, "momentum_"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "observer", "said"), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused_by_name(changes, observer, said):
    with pytest.raises(InputError, match=said):
        Loop(scenario(observer=observer, **changes))


OWN = '''
import numpy as np
from ukctrl import fields, observers, spec


@spec
class AlphaBeta(observers.Observer):
    """The same part of every innovation for all joints, and no model."""

    share: fields.Fraction

    def attach(self, motion, joints, start, period):
        return Bound(motion, self.share, period)


class Bound(observers.Filter):
    def __init__(self, motion, share, period):
        self.motion, self.share, self.period = motion, share, period

    def first(self, at):
        return observers.StateEstimate(at, np.zeros((0, 0)))

    def predicted(self, before, t, u):
        q, v, memory = before.at.state
        q = self.motion.robot.integrate(q, (t - before.at.t) * v)
        return before._replace(at=observers.TimedState(t, before.at.state._replace(q=q), u))

    def corrected(self, predicted, measurement, y):
        at = predicted.at
        off = measurement.innovation(at, y)
        q = self.motion.robot.integrate(at.state.q, self.share * off)
        v = at.state.v + 0.5 * self.share**2 / self.period * off
        estimate = predicted._replace(at=at._replace(state=at.state._replace(q=q, v=v)))
        return observers.MeasurementUpdate(estimate, off, np.zeros((0, 0)))

    def gain_at(self, at, period, joints):
        one = np.eye(len(self.motion.chart.A) // 2)
        return np.vstack([self.share * one, 0.5 * self.share**2 / period * one])
'''


def test_an_observer_of_ones_own_file_runs_where_it_is_trusted(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "inner.py").write_text(OWN.replace("AlphaBeta", "Other"))
    table = scenario().to_table()
    table["observer"] = {"kind": "./mine.py:AlphaBeta", "share": 0.5, "disturbance": MOMENTUM}
    table.pop("name")
    text = tomli_w.dumps(table)
    with pytest.raises(InputError, match=r"observer.kind: './mine.py:AlphaBeta' is Python code"):
        Scenario.from_toml(text, base=tmp_path)
    given = Scenario.from_toml(text, base=tmp_path, trust=True)
    result = simulate(given)
    assert result.status == "completed", result.message
    assert 0.0 < result.metric("rms_estimate_v") < 0.1
    assert result["disturbance_estimated"].shape == (201, 4)
    again = simulate(Scenario.from_toml(given.to_toml(), trust=True))
    np.testing.assert_array_equal(again["q"], result["q"])
    (found,) = examine_file(tmp_path / "mine.py", {}, given, trust=True)
    found.confirm()
    with pytest.raises(InputError, match="observer: share: must be at most 1|share"):
        Scenario.from_toml(text.replace("share = 0.5", "share = 1.5"), base=tmp_path, trust=True)


def test_every_comparison_is_on_equal_sensors():
    """An entry cannot have sensors or an observer of its own, and the conditions say so."""
    given = scenario(observer=OBSERVERS["ekf"], duration=0.02)
    own = {"sensing.joints": ["q1"], "observer.kind": "differences"}
    for key, value in own.items():
        with pytest.raises(InputError, match=f"may change what is below .*got '{key}'"):
            compare(given, [Entry(controller="servo-pid", changes={key: value})])
    compared = compare(given, ["servo-baumgarte", "servo-pid"])
    (fact,) = (each for each in compared.facts if each.subject == "observer")
    assert fact.equal
    assert fact.text == "ekf (steps: 1, acceleration_std: 50.0)"
