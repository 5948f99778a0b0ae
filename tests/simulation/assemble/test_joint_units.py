"""Units of numbers by name, where each joint and motor decides over its own."""

import copy
import pickle

import pytest

from ukctrl import Scenario
from ukctrl.core.errors import InputError
from ukctrl.core.field_checks import WrittenNumber
from ukctrl.simulation.assemble import Loop

TABLES = {
    "range": (
        {"keep": [{"kind": "joint_limits", "upper": {"q4": "20*deg"}}]},
        r"keep\[0\]\.upper\.q4: must be a length \[m\]; got an angle",
    ),
    "speed": (
        {"keep": [{"kind": "joint_limits", "speed": {"q1": "2*m/s"}}]},
        r"keep\[0\]\.speed\.q1: must be an angular velocity \[rad/s\]; got a velocity",
    ),
    "noise": (
        {"timing.control": 1e-3, "effect": [{"kind": "noise", "std": {"q4": "0.1*deg"}}]},
        r"effect\[0\]\.std\.q4: must be a length",
    ),
    "friction": (
        {"effect": [{"kind": "friction", "coulomb": {"q1": "1*N"}}]},
        r"effect\[0\]\.coulomb\.q1: must be a torque \[N m\]; got a force",
    ),
    "motor": (
        {"effect": [{"kind": "saturation", "limit": {"u4": "20*N*m"}}]},
        r"effect\[0\]\.limit\.u4: must be a force \[N\]; got a torque",
    ),
    "belief": (
        {"believed": {"friction": {"q4": "1*N*m"}}},
        r"believed\.friction\.q4: must be a force",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_number_has_the_unit_of_the_joint_that_it_is_for(name):
    changes, says = TABLES[name]
    with pytest.raises(InputError, match=says):
        Loop(Scenario.load("scara-helix", changes))


def test_each_entry_of_a_table_has_a_unit_of_its_own():
    upper = {"q1": "100*deg", "q4": "20*cm", "q2": 1.0}
    keep = {"keep": [{"kind": "joint_limits", "upper": upper, "deceleration": 5.0}]}
    Loop(Scenario.load("scara-helix", keep))


def test_a_number_with_its_text_is_a_number():
    number = WrittenNumber(0.2, "20*cm", "rad or m")
    assert (number, repr(number), number + 1.0) == (0.2, "0.2", 1.2)
    for again in (pickle.loads(pickle.dumps(number)), copy.deepcopy(number)):
        again.check(linear=True)
        with pytest.raises(InputError, match="must be an angle"):
            again.check(linear=False)
