"""``ukctrl check`` on files of one's own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import ended

from ukctrl import Scenario, simulate

PARTS = """
import numpy as np
from ukctrl import Command, Controller, Law
from ukctrl.control import BoundFeedback, Feedback
from ukctrl import Positive, spec

@spec
class Braking(Controller):
    rate: Positive
    def start(self, task):
        return BrakingLaw(self, task)

class BrakingLaw(Law):
    def __init__(self, gains, task):
        super().__init__(task)
        self.rate = gains.rate
    def step(self, dynamics, memory):
        s = dynamics.snapshot
        return Command(s.nle - self.rate * s.M @ s.v, memory)

@spec
class Biased(Feedback):
    def attach(self, stack):
        return BiasedBound()

class BiasedBound(BoundFeedback):
    memory = np.zeros(0)
    def demand(self, rows, memory):
        return rows.b + 1.0
    def memory_rate(self, rows, memory):
        return self.memory
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capfd):
    """Run ``ukctrl check`` in an empty folder that holds the parts; return code and texts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "parts.py").write_text(PARTS, encoding="utf-8")
    return lambda *arguments: ended(capfd, "check", *arguments)


def test_every_part_of_a_file_is_tried_and_the_fault_is_told(check):
    code, out, err = check("parts.py", "--trust", "--set", "Braking.rate=10")
    assert (code, err) == (1, "")
    assert "Braking (controller): conforms" in out
    assert "Biased (feedback): does not conform" in out
    assert "the demand on the path and b must agree" in out
    code, out, _ = check("parts.py", "--trust", "--json")
    assert code == 1
    found = {part["name"]: part["ok"] for part in json.loads(out)}
    assert found == {"Braking": True, "Biased": False}


def test_a_card_is_tried_with_its_gains(check, tmp_path):
    card = tmp_path / "braking.toml"
    card.write_text('title = "Brakes"\nkind = "./parts.py:Braking"\nrate = 4.0\n', encoding="utf-8")
    code, out, err = check("braking.toml", "--trust", "--on", "scara-helix")
    assert (code, err) == (0, "")
    assert "braking (controller): conforms" in out


REFUSED = {
    "not trusted": (("parts.py",), "Python code"),
    "unknown setting": (("parts.py", "--trust", "--set", "rat=1"), "did you mean 'rate'"),
    "wrong setting": (("parts.py", "--trust", "--set", "rate=-1"), "Give settings with --set"),
    "no such file": (("other.py", "--trust"), "no file 'other.py'"),
    "a scenario with --on": (("scara-helix", "--on", "scara-helix"), "--on goes with"),
    "a part with -c": (("parts.py", "-c", "servo-pid"), "use --on SCENARIO"),
    "nothing to try": (("empty.py", "--trust"), "must define a class derived from"),
    "a fault in it": (("fault.py", "--trust"), "failed to run: ZeroDivisionError"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_tried_is_refused_in_one_line(check, tmp_path, arguments, words):
    (tmp_path / "empty.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "fault.py").write_text("x = 1 / 0\n", encoding="utf-8")
    code, out, err = check(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


SCENARIO = """
title = "Hold with a feedback of one's own"
robot = "scara"
[[servo]]
kind = "joint_follows"
joints = ["q1", "q2", "q3", "q4"]
path = { kind = "constant", value = [0.0, 0.0, 0.0, 0.0] }
[controller]
use = "servo-baumgarte"
feedback = { kind = "./parts.py:Biased" }
[timing]
duration = 0.1
"""


def test_a_card_may_name_a_feedback_of_ones_own(check, tmp_path, capfd):
    (tmp_path / "own.toml").write_text(SCENARIO, encoding="utf-8")
    code, _, err = check("own.toml")
    assert code == 2
    assert "controller.feedback.kind: './parts.py:Biased' is Python code" in err
    scenario = Scenario.load("own.toml", trust=True)
    again = Scenario.from_toml(scenario.to_toml(), trust=True)
    first, second = simulate(scenario), simulate(again)
    assert first.status == "completed"
    np.testing.assert_array_equal(first["u"], second["u"])
    np.testing.assert_allclose(first["a"][0], 1.0)  # at rest on the task, it asks for b + 1
