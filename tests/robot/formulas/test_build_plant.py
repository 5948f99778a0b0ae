"""Plants without a model file: what they offer, what they refuse, and how they change."""

import pickle

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError, ModelError, UnknownName
from ukctrl.core.fields import Positive, spec
from ukctrl.core.files import catalog
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import (
    FormulaInput,
    Functions,
    GivenForce,
    JointDamper,
    JointMotor,
    JointSpring,
    Lagrangian,
    Options,
    Perturbation,
    PlantFunctions,
    Robot,
    Transmission,
)
from ukctrl.robot.formulas.build_plant import PROBES

EXACT = {"rtol": 0.0, "atol": 1e-12}  # a handful of operations on numbers of size one
CART = {
    "coordinates": {"x": "m", "th": "rad"},
    "kinetic": "(mc+mp)/2*v.x**2 + mp*l*cos(th)*v.x*v.th + mp*l**2/2*v.th**2",
    "potential": "-mp*g*l*cos(th)",
    "parameters": {"mc": 2.0, "mp": 0.5, "l": 0.8, "g": 9.81},
}
CLOSED = [{"kind": "expression", "phi": "x + l*sin(th)"}]
TWO_LINK = catalog.root() / "robots" / "two_link" / "two_link.urdf"
STATE = ([0.1, 0.3], [1.0, -2.0], 0.5)


def cart(options=None, name=None, **changes):
    return Robot.build(Lagrangian(**{**CART, **changes}), options, name=name)


def test_a_lagrangian_has_the_names_and_units_that_were_given():
    robot = cart(name="cart")
    assert (robot.name, robot.nq, robot.nv, robot.nu) == ("cart", 2, 2, 2)
    assert robot.coordinates == robot.dofs == robot.actuators == ("x", "th")
    assert robot.coordinate_units == ("m", "rad")
    assert robot.actuator_units == ("N", "N m")
    assert robot.rates == ("v.x", "v.th")
    assert robot.parameters == CART["parameters"]
    assert robot.is_euclidean


def test_matrices_are_those_of_the_textbook():
    s = cart().snapshot(*STATE)
    c, sn = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(s.M, [[2.5, 0.4 * c], [0.4 * c, 0.32]], **EXACT)
    np.testing.assert_allclose(s.nle, [-0.4 * sn * 4.0, 0.4 * 9.81 * sn], **EXACT)
    np.testing.assert_allclose(s.gravity, [0.0, 0.4 * 9.81 * sn], **EXACT)
    np.testing.assert_allclose(s.energy().potential, -0.4 * 9.81 * c, **EXACT)


def test_texts_in_a_list_are_added():
    parts = ["(mc+mp)/2*v.x**2", "mp*l*cos(th)*v.x*v.th", "mp*l**2/2*v.th**2"]
    one, other = cart().snapshot(*STATE), cart(kinetic=parts).snapshot(*STATE)
    np.testing.assert_allclose(other.M, one.M, **EXACT)


def test_a_constant_mass_matrix_is_written_too():
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.x*v.y + v.y**2")
    )
    np.testing.assert_array_equal(robot.snapshot([0.0, 0.0]).M, [[2.0, 1.0], [1.0, 2.0]])


def test_a_snapshot_moves_and_copies():
    robot = cart()
    s = robot.snapshot([0.0, 0.0])
    old = s.copy()
    s.move(*map(np.array, STATE[:2]), STATE[2])
    fresh = robot.snapshot(*STATE)
    np.testing.assert_array_equal(s.M, fresh.M)
    np.testing.assert_array_equal(s.nle, fresh.nle)
    np.testing.assert_array_equal(old.M, robot.snapshot([0.0, 0.0]).M)


def test_robots_and_snapshots_of_formulas_pickle():
    drive = Options(force=[GivenForce(joint="x", force="sin(mp*t)")])
    robot = cart(drive, dissipation="v.x**2", inputs={"F": {"x": "cos(th)"}})
    before = robot.snapshot(*STATE)
    for after in (
        pickle.loads(pickle.dumps(robot)).snapshot(*STATE),
        pickle.loads(pickle.dumps(before)),
    ):
        for name in ("M", "nle", "f", "B"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_inputs_are_columns_that_may_turn_with_the_plant():
    robot = cart(inputs={"F": {"x": 1.0}, "fan": {"x": "cos(th)", "th": "l"}})
    assert robot.actuators == ("F", "fan")
    assert robot.actuator_units == ("N", "1")
    np.testing.assert_allclose(robot.snapshot(*STATE).B, [[1.0, np.cos(0.3)], [0.0, 0.8]], **EXACT)


def test_a_column_that_does_not_turn_is_constant():
    robot = cart(inputs={"F": {"x": "mp + 1", "th": "sin(th)**2 + cos(th)**2"}})
    assert not robot.actuation.varies
    np.testing.assert_allclose(robot.actuation.constant, [[1.5], [1.0]], **EXACT)


def test_actuators_of_a_file_work_on_a_lagrangian():
    motors = [
        JointMotor(joint="x", name="F", gear=2.0, limit=5.0),
        Transmission(name="belt", ratios={"x": 1.0, "th": -0.5}),
        FormulaInput(name="rope", column={"th": "2*l"}, unit="N", limit=3.0),
    ]
    robot = cart(Options(actuator=motors))
    np.testing.assert_allclose(robot.snapshot(*STATE).B, [[2.0, 1.0, 0.0], [0.0, -0.5, 1.6]])
    np.testing.assert_array_equal(robot.effort_limit, [5.0, np.inf, 3.0])
    assert robot.actuator_units == ("N", "N m", "N")


def test_a_formula_pushes_a_rigid_body_too():
    column = {"shoulder": "cos(elbow)"}
    robot = Robot.build(TWO_LINK, Options(actuator=[FormulaInput(name="u", column=column)]))
    np.testing.assert_allclose(robot.snapshot([0.0, 0.4]).B, [[np.cos(0.4)], [0.0]], **EXACT)


def test_passive_constraints_can_be_given_in_python():
    tables = [{"kind": "expression", "phi": "shoulder + elbow"}]
    robot = Robot.build(TWO_LINK, Options(passive=tables))
    assert len(Dynamics(robot).passive) == len(Dynamics(cart(Options(passive=CLOSED))).passive) == 1


def test_forces_of_a_file_work_on_a_lagrangian():
    forces = [
        JointSpring(joint="th", stiffness=3.0, rest=0.1),
        JointDamper(joint="x", damping=0.2),
        GivenForce(joint="x", force="mp*t"),
    ]
    robot = cart(Options(force=forces), dissipation="th**2*v.th**2/2")
    s = robot.snapshot(*STATE)
    expected = [0.5 * 0.5 - 0.2 * 1.0, -3.0 * 0.2 + 0.09 * 2.0]
    np.testing.assert_allclose(s.f, expected, **EXACT)
    np.testing.assert_allclose(
        s.energy().potential - cart().snapshot(*STATE).energy().potential, 1.5 * 0.2**2, **EXACT
    )


def test_constraints_in_text_know_the_parameters():
    robot = cart(Options(passive=CLOSED))
    constraint = Expression(phi="x + l*sin(th) - mp*t")
    rows = Stack([constraint], robot).write(robot.snapshot(*STATE))
    np.testing.assert_allclose(rows.A, [[1.0, 0.8 * np.cos(0.3)]], **EXACT)
    np.testing.assert_allclose(rows.phi, [0.1 + 0.8 * np.sin(0.3) - 0.25], **EXACT)


def test_limits_and_neutral_configuration_are_the_tables():
    robot = cart(limits={"x": [0.5, "1*m"]}, neutral={"x": 0.6, "th": "30*deg"})
    np.testing.assert_allclose(robot.neutral, [0.6, np.pi / 6], **EXACT)
    np.testing.assert_array_equal(robot.q_lower, [0.5, -np.inf])
    drawn = robot.random(np.random.default_rng(0))
    assert 0.5 <= drawn[0] <= 1.0


def test_a_plant_need_not_be_defined_everywhere():
    robot = Robot.build(
        Lagrangian(
            coordinates={"r": "m", "th": "rad"},
            kinetic="(v.r**2 + r**2*v.th**2)/2",
            potential="-1/r",
            neutral={"r": 1.0},
        )
    )
    np.testing.assert_allclose(robot.snapshot([2.0, 0.0], [0.0, 1.0]).nle, [0.25 - 2.0, 0.0])


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda r: r.gravity, "make it a parameter"),
        (lambda r: r.site("tool"), "no frame named 'tool'.*kind = \"expression\" in them \\(x, th"),
    ],
)
def test_what_needs_bodies_is_refused_with_what_to_do(ask, answer):
    with pytest.raises(ModelError, match=answer):
        ask(cart())


def test_the_world_is_a_frame_even_there():
    motion = cart().snapshot(*STATE).frame("world")
    np.testing.assert_array_equal(motion.position, np.zeros(3))
    np.testing.assert_array_equal(motion.J, np.zeros((6, 2)))


def test_other_parameters_make_another_plant_everywhere():
    inputs = {"F": {"x": "mp", "th": "mp*cos(th)"}}
    forces = [GivenForce(joint="x", force="mp*t")]
    robot = cart(Options(force=forces), inputs=inputs)
    heavy = robot.perturbed(Perturbation(damping=0.1)).perturbed(
        Perturbation(parameters={"mp": 1.5})
    )
    wanted = cart(
        Options(force=forces), inputs=inputs, parameters={**CART["parameters"], "mp": 1.5}
    )
    one, other = (
        heavy.snapshot(*STATE),
        wanted.perturbed(Perturbation(damping=0.1)).snapshot(*STATE),
    )
    for name in ("M", "nle", "f", "B"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert robot.parameters["mp"] == 0.5


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"payload": {"frame": "x", "mass": 1.0}}, "payload: .* has no bodies"),
        ({"gravity": [0.0, 0.0, -1.0]}, "gravity: .* Known: mc, mp, l, g"),
        ({"parameters": {"mq": 1.0}}, "parameters: no parameter named 'mq'. Known: g, l, mc, mp"),
        (
            {"parameters": {"mp": 0.0}},
            "kinetic: must contain every velocity; 'v.th' vanishes with these",
        ),
    ],
)
def test_perturbations_without_meaning_are_refused(changes, answer):
    with pytest.raises(InputError, match=answer):
        cart(name="cart").perturbed(Perturbation(**changes))


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"kinetic": "v.x**2 + v.th**3"}, "degree two in the velocities; .*'v.th' and 'v.th'"),
        (
            {"kinetic": "v.x**2"},
            r": kinetic: must contain every velocity; 'v\.th' is missing, so that moving 'th' "
            r"would move no inertia\. Add its term, or make it a parameter\.$",
        ),
        (
            {"kinetic": "v.x**2 + 0*v.th**2"},
            r": kinetic: must contain every velocity; 'v\.th' vanishes with these parameters, so "
            r"that moving 'th' would move no inertia\. Give it an inertia, or make it a "
            r"parameter\.$",
        ),
        ({"kinetic": "v.x**2 + v.y**2"}, "kinetic: .*no velocity named 'v.y'"),
        ({"kinetic": "(v.x + v.th)**2"}, "kinetic: the mass matrix is not positive definite: mov"),
        ({"kinetic": "v.x**2 + 4*v.x*v.th + v.th**2"}, "the mass matrix is not positive definite"),
        ({"kinetic": "v.x**2 - v.th**2"}, "must be positive definite; .* moving 'th' has the iner"),
        ({"kinetic": "abs(v.x) + v.th**2"}, "kinetic.*'abs' is not in the language"),
        ({"kinetic": "__import__('os')"}, "kinetic.*is not in the language"),
        ({"potential": "v.x"}, "potential: .*'v.x' is a velocity; none may stand here"),
        ({"potential": "mq*x"}, "potential: .*no variable named 'mq'. Known: deg, g"),
        ({"potential": "9**9**9"}, "potential: .*a constant exponent must be at most 100"),
        ({"dissipation": "x"}, "dissipation: .*must contain a velocity"),
        ({"inputs": {"F": {"y": 1.0}}}, "inputs.F: y: no joint named 'y'"),
        ({"inputs": {"F": {}}}, "inputs.F: must name at least one velocity"),
        ({"inputs": {"F": {"x": "v.x"}}}, "inputs.F: x: .*'v.x' is a velocity"),
        ({"coordinates": ["x", "x"]}, "coordinates: must name every coordinate once"),
        ({"coordinates": ["t", "th"]}, "coordinates: 't' must be a name that formulas can use"),
        ({"coordinates": {"x": "mm", "th": "rad"}}, "coordinates.x: must be one of rad, m"),
        ({"coordinates": []}, "coordinates must name at least one"),
        ({"parameters": {"x": 1.0}}, "parameters: 'x' is the name of a coordinate already"),
        ({"parameters": {"mc": "nan"}}, "parameters.mc"),
        ({"limits": {"x": [1.0, 0.0]}}, "limits.x must be a lower and a higher number"),
        ({"limits": {"x": [1.0, 2.0]}}, "neutral.x must be within limits.x"),
        ({"neutral": {"z": 1.0}}, "no coordinate .in neutral. named 'z'"),
    ],
)
def test_a_bad_lagrangian_is_refused_in_one_line(changes, answer):
    with pytest.raises(InputError, match=answer) as caught:
        cart(**changes)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(("robot 'lagrangian': lagrangian", "LagrangianTable: "))


# Functions


def pendulum(options=None, **changes):
    functions = {"M": lambda q: [[2.0]], "nle": lambda q, v: 9.81 * np.sin(q)}
    return Robot.build(Functions(coordinates=["q"], **{**functions, **changes}), options)


def test_functions_make_a_robot():
    robot = pendulum(
        Options(force=[JointSpring(joint="q", stiffness=2.0)]),
        B=lambda q: [[1.0, np.cos(q[0])]],
        potential=lambda q: -9.81 * np.cos(q[0]),
        inputs={"u": "N m", "w": "N"},
    )
    s = robot.snapshot([0.3], [1.0])
    np.testing.assert_allclose(s.nle, [9.81 * np.sin(0.3)], **EXACT)
    np.testing.assert_allclose(s.B, [[1.0, np.cos(0.3)]], **EXACT)
    np.testing.assert_allclose(s.energy(), [1.0, -9.81 * np.cos(0.3) + 0.09], **EXACT)
    assert robot.actuators == ("u", "w")
    assert robot.actuator_units == ("N m", "N")
    assert pendulum().actuators == ("q",)
    assert np.isnan(pendulum().snapshot([0.3]).energy().potential)


@pytest.mark.parametrize("asked", ["M", "nle"])
def test_functions_are_tried_where_the_coordinates_may_be(asked):
    """Within limits, else half a turn or a metre around the neutral place."""
    places, neutral = [], np.array([5.0, -3.0, 7.0, -7.0])
    answers = {"M": np.eye(4), "nle": np.zeros(4)}

    def given(name):
        def answer(q, v=None):
            if name == asked:
                places.append(np.array(q))
            return answers[name]

        return answer

    Robot.build(
        Functions(
            coordinates={"a": "rad", "b": "m", "c": "m", "e": "m"},
            M=given("M"),
            nle=given("nle"),
            neutral={"a": 5.0, "b": -3.0, "c": 7.0, "e": -7.0},
            limits={"c": (6.8, 7.1), "e": (-7.2, -6.9)},
        )
    )
    off = np.array(places) - neutral
    low, high = np.array([[-np.pi, -1.0, -0.2, -0.2], [np.pi, 1.0, 0.1, 0.1]])
    assert (low <= off.min(axis=0)).all()
    assert (off.max(axis=0) <= high).all()
    assert [len(np.unique(each)) for each in off.T] == [PROBES + 1] * 4


def test_a_column_of_functions_turns_where_any_of_its_entries_does():
    robot = Robot.build(
        Functions(
            coordinates=["a", "b"], M=lambda q: np.eye(2), nle=lambda q, v: 0.0 * v,
            B=lambda q: [[1.0, 2.0], [np.cos(q[0]), 3.0]],
        )
    )  # fmt: skip
    assert robot.actuation.varies
    for a in (0.0, 1.3):
        np.testing.assert_allclose(
            robot.snapshot([a, 0.7]).B, [[1.0, 2.0], [np.cos(a), 3.0]], **EXACT
        )
    np.testing.assert_array_equal(robot.actuation.constant[:, 1], [2.0, 3.0])


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"M": lambda q: [[1.0, 0.0]]}, r"M\(q\) must have shape \(1, 1\); got \(1, 2\)"),
        ({"M": lambda q: [["a"]]}, r"M\(q\) must be an array of numbers"),
        ({"M": lambda q: [[0.0]]}, "M: the mass matrix is not positive definite: moving 'q'"),
        ({"M": lambda q: [[-1.0]]}, "M must be positive definite; at q = 0 moving 'q'"),
        ({"M": lambda q: 1 / 0}, "it fails at q = 0: ZeroDivisionError"),
        ({"M": lambda q: {}["m"]}, "it fails at q = 0: KeyError: 'm'"),
        ({"nle": lambda q, v: 3.0}, r"nle\(q, v\) must have shape \(1,\); got \(\)"),
        ({"nle": lambda q, v: [np.nan]}, r"nle\(q, v\) must be finite"),
        ({"B": lambda q: [1.0]}, r"B\(q\) must have shape \(1, 1\); got \(1,\)"),
        ({"B": lambda q: [[1.0, 0.0]], "inputs": {"u": "N"}}, "one entry for each of the 2 col"),
        ({"inputs": {"u": "N"}}, r"inputs needs a method B\(q\)"),
        ({"potential": lambda q: 1 / 0}, "it fails at q = 0: ZeroDivisionError: division by zero"),
        ({"potential": lambda q: "a"}, "it fails at q = 0: ValueError: could not convert"),
    ],
)
def test_bad_functions_are_refused_in_one_line(changes, answer):
    with pytest.raises(ModelError if "inputs" not in changes else InputError, match=answer):
        pendulum(**changes)


@pytest.mark.parametrize("off", [0.5e-9, -0.5e-9, 2e-9, -2e-9])
def test_a_mass_matrix_may_be_as_symmetric_as_rounding_makes_it(off):
    """Entries are compared with the root of the product of the two masses, 20."""
    given = Functions(
        coordinates=["a", "b"], M=lambda q: [[4.0, 1.0 + 20.0 * off], [1.0, 100.0]],
        nle=lambda q, v: 0.0 * v,
    )  # fmt: skip
    if abs(off) < 1e-9:
        assert Robot.build(given).nv == 2
    else:
        with pytest.raises(ModelError, match="must be symmetric"):
            Robot.build(given)


def test_a_mass_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ModelError, match=r"M\(q\) must be symmetric; got M\[0, 1\] = 0.5 and"):
        Robot.build(
            Functions(
                coordinates=["a", "b"], M=lambda q: [[1.0, 0.5], [0.4, 1.0]], nle=lambda q, v: v
            )
        )


PLANT = """
import numpy as np
from ukctrl import Positive, spec
from ukctrl.robot import PlantFunctions

@spec
class Pendulum(PlantFunctions):
    m: Positive = 1.0

    def M(self, q):
        return [[self.m]]

    def nle(self, q, v):
        return [9.81*self.m*np.sin(q[0])]

class Bare(PlantFunctions):
    def M(self, q):
        return [[1.0]]

    def nle(self, q, v):
        return [0.0]

class Half(PlantFunctions):
    def M(self, q):
        return [[1.0]]
"""
FILE = """
title = "A pendulum in Python"
[functions]
file        = "./plant.py:{name}"
coordinates = ["th"]
parameters  = {parameters}
"""


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "robots" / "pendulum"
    home.mkdir(parents=True)
    (home / "plant.py").write_text(PLANT)

    def write(name="Pendulum", parameters="{ m = 2.0 }"):
        (home / "robot.toml").write_text(FILE.format(name=name, parameters=parameters))
        return home / "robot.toml"

    return write


def test_code_beside_a_robot_runs_only_when_trusted(folder):
    path = folder()
    with pytest.raises(
        InputError, match="functions.file: './plant.py:Pendulum' is Python code, .*"
    ):
        Robot.load(path)
    robot = Robot.load(path, trust=True)
    assert robot.parameters == {"m": 2.0}
    assert robot.perturbed(Perturbation(parameters={"m": 3.0})).snapshot([0.0]).M == 3.0


@pytest.mark.parametrize(
    ("name", "parameters", "answer"),
    [
        ("Pendulm", "{}", "no class in 'plant.py' named 'Pendulm'; did you mean 'Pendulum'"),
        ("Half", "{}", "'Half' in 'plant.py' must define nle"),
        (
            "Bare",
            "{ m = 1.0 }",
            r"robot\.toml: functions\.parameters: 'Bare' has no fields; decorate it with "
            r"ukctrl\.spec and give it some\.$",
        ),
        ("Pendulum", "{ m = -1.0 }", "functions.parameters.m: must be positive"),
        ("Pendulum", "{ n = 1.0 }", "functions.parameters.n: unknown key. Known: m"),
    ],
)
def test_bad_code_beside_a_robot_is_refused(folder, name, parameters, answer):
    with pytest.raises(InputError, match=answer):
        Robot.load(folder(name, parameters), trust=True)


def test_a_class_without_fields_needs_no_parameters(folder):
    assert Robot.load(folder("Bare", "{}"), trust=True).snapshot([0.0]).M == 1.0


def test_parameters_of_functions_must_exist():
    @spec
    class Body(PlantFunctions):
        m: Positive = 1.0

        def M(self, q):
            return [[self.m]]

        def nle(self, q, v):
            return [0.0]

    body = Body(m=2.0)
    robot = Robot.build(Functions(coordinates=["x"], M=body.M, nle=body.nle))
    with pytest.raises(UnknownName, match="no parameter named 'm'. Known: none"):
        robot.perturbed(Perturbation(parameters={"m": 1.0}))


# In the loop

TASK = """
title = "The cart follows a line while its load swings"
robot = "{robot}"
start.q = {{ x = 0.1, th = 0.4 }}
[[servo]]
kind = "joint_follows"
joints = ["x"]
path = {{ kind = "constant", value = [0.0] }}
[controller]
use = "servo-baumgarte"
[timing]
duration = 2.0
[integrator]
rtol = 1e-11
atol = 1e-12
"""
CARD = """
title = "cart"
[lagrangian]
coordinates = { x = "m", th = "rad" }
kinetic = "(mc+mp)/2*v.x**2 + mp*l*cos(th)*v.x*v.th + mp*l**2/2*v.th**2 + mp*v.x*sin(3*t)"
potential = "-mp*g*l*cos(th)*(1 + 0.1*sin(t))"
dissipation = "c/2*v.th**2"
parameters = { mc = 2.0, mp = 0.5, l = 0.8, g = 9.81, c = 0.1 }
inputs = { F = { x = 1 } }
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots" / "cart").mkdir(parents=True)
    (tmp_path / "robots" / "cart" / "robot.toml").write_text(CARD)
    (tmp_path / "task.toml").write_text(TASK.format(robot="cart"))
    return tmp_path


def test_the_energy_balance_of_a_driven_damped_plant_closes(workspace):
    """Under a hold the fed energy is integrated with the motion, not summed from samples."""
    run = simulate(Scenario.load("task.toml", {"timing.control": 0.01}))
    assert run.status == "completed", run.message
    assert np.ptp(run["energy"]) > 0.1
    assert run.metric("energy_drift") < 1e-7


def test_belief_can_be_wrong_about_a_parameter(workspace):
    right = simulate(Scenario.load("task.toml"))
    wrong = simulate(Scenario.load("task.toml", {"believed.parameters.mp": 1.0}))
    assert right.status == wrong.status == "completed"
    assert wrong.metric("final_phi") > 10 * right.metric("final_phi")


def test_a_scenario_runs_code_only_when_trusted(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder()
    text = TASK.format(robot="pendulum").replace('"x"', '"th"')
    (tmp_path / "task.toml").write_text(text.replace("x = 0.1, ", ""))
    with pytest.raises(InputError, match="is Python code"):
        simulate(Scenario.load("task.toml"))
    scenario = Scenario.load("task.toml", trust=True)
    run = simulate(scenario)
    assert run.status == "completed", run.message
    assert "robots/pendulum/robot.toml" in scenario.to_table()["robot"].replace("\\", "/")
