"""`check` finds what is wrong with scenarios that were broken on purpose, and names it.

Every case changes one thing of a scenario of the catalogue. When, by how much and which row, motor
or joint follows from the comment beside it; what the run itself then does is tried out, slowly.
"""

import dataclasses as dc
import re

import pytest

from ukctrl import Scenario, check, simulate

HELIX = {
    "kind": "point_follows",
    "frame": "tool",
    "path": {
        "kind": "expression",
        "x": "0.05*sin(0.4*pi*t)",
        "y": "0.35 + 0.05*cos(0.4*pi*t)",
        "z": "0.02*t",
    },
}
UPRIGHT = {"kind": "expression", "name": "orientation", "phi": "q1 + q2 + q3", "unit": "rad"}
NEAR_HELIX = {"q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg"}, "solve": True}
SHORT = {"timing.duration": 4.0}
PLAIN = {"controller": {"use": "servo-baumgarte"}}


def tool(x, y, z="0.02*t"):
    return {**HELIX, "path": {"kind": "expression", "x": x, "y": y, "z": z}}


def joint(name, motion):
    path = {"kind": "expression", "components": [motion]}
    return {"kind": "joint_follows", "name": name, "joints": [name], "path": path}


def swelling(by):
    """A path of the two-link arm whose radius swells from 0.85 m by so much at t = 1.5 s."""
    radius = f"(0.85 + {by}*cos(pi*(t - 1.5)/3)**8)"
    angle = "0.6*(t - 1.5)"
    path = {"kind": "expression", "components": [f"{radius}*{f}({angle})" for f in ("cos", "sin")]}
    return {"kind": "point_follows", "frame": "tool", "axes": "xz", "path": path}


def scara(*motors, **more):
    return {"use": "scara", "actuator": list(motors), **more}


def motor(name, **limits):
    return {"kind": "joint", "joint": f"q{name[1:]}", "name": name, **limits}


def trunk(path):
    level = {"kind": "constant", "rpy": [0.0, 0.0, 0.0]}
    return {"kind": "pose_follows", "frame": "trunk", "path": path, "orientation": level}


@dc.dataclass(frozen=True)
class Broken:
    base: str
    changes: dict
    level: str
    """Where the finding stands: problems, warnings or notes."""
    says: str
    """What it must match: the row, motor or joint, and where the number is known, when."""
    run: str | None = "infeasible|diverged|drifted"
    """Status of the run where it cannot hold; None where it completes, beyond what is real."""


CASES = {
    # The arm of 0.2 + 0.25 m reaches 0.45 m: 0.35 + 0.05 t does so at t = 2 s.
    "a path that leaves the workspace": Broken(
        "scara-helix",
        {"servo": [tool("0.0", "0.35 + 0.05*t"), UPRIGHT], "start": NEAR_HELIX, **SHORT},
        "problems", r"row 'tool\.y' is out of reach from t = 2 s",
    ),
    # And no nearer than 0.25 - 0.2 m: 0.35 - 0.1 t is there at t = 3 s.
    "a path into the hole of the workspace": Broken(
        "scara-helix",
        {"servo": [tool("0.0", "0.35 - 0.1*t"), UPRIGHT], "start": NEAR_HELIX, **SHORT},
        "problems", r"row 'tool\.y' is out of reach from t = 3 s",
    ),
    # cos(pi (t - 1.5)/3)^8 = 0.15/0.16 where 0.85 + 0.16 cos^8 = 1 m, at t = 1.3789 s.
    "a stretched arm under an exact law": Broken(
        "stretched-arm", PLAIN, "problems", r"row 'tool\.x' is out of reach from t = 1\.379 s"
    ),
    "a path that touches the stretched pose": Broken(
        "stretched-arm", {**PLAIN, "servo": [swelling(0.15)]},
        "problems", r"singular position at t = 1\.5 s.*'tool\.x'",
    ),
    # Within 1e-5 m of it the run goes on, with torques of 4e4 N m that no motor has.
    "a path that nearly touches it": Broken(
        "stretched-arm", {**PLAIN, "servo": [swelling(0.14999999)]},
        "warnings", r"motor 'shoulder' needs -3\d{3} N m at t = 1\.5 s", None,
    ),
    # The Panda reaches some 0.85 m from its shoulder at (0, 0, 0.333).
    "a line out of a Panda's reach": Broken(
        "panda-pose",
        {
            "servo": [
                {
                    "kind": "point_follows",
                    "frame": "tool",
                    "path": {
                        "kind": "line",
                        "start": [0.45, 0.0, 0.4],
                        "end": [1.2, 0.0, 0.4],
                        "duration": 6.0,
                    },
                }
            ],
            "start": {"solve": True},
        },
        "problems", r"'tool\.x'.* out of reach from t = 3\.52\d s",
    ),
    "a platform led out of its legs' reach": Broken(
        "three-rrr",
        {
            "servo": [
                {
                    "kind": "joint_follows",
                    "name": "platform",
                    "joints": ["platform_x", "platform_y", "platform_angle"],
                    "path": {"kind": "expression", "components": ["0.5*sin(t)", "0.0", "0.0"]},
                }
            ]
        },
        "problems", r"'platform\.platform_x'.* out of reach from t = 0\.847 s",
    ),
    # The exact law asks u2 for 19.55 N m; it has 18.
    "a torque limit that is too low": Broken(
        "scara-weak-motors", PLAIN,
        "warnings", r"motor 'u2' needs -19\.5\d N m at t = 0\.65 s, 1\.5\d beyond its limit", None,
    ),
    # At 2.5 rad/s a motor of 60 N m that is empty at 3 rad/s has 60 (3 - 2.5)/2.5 = 12 left.
    "a motor that loses its torque with speed": Broken(
        "scara-weak-motors",
        {
            **PLAIN,
            "robot": scara(
                motor("u1", limit=60.0, corner_speed=0.5, no_load_speed=3.0),
                motor("u2"), motor("u3"), motor("u4"),
            ),
        },
        "warnings", r"motor 'u1' needs .* beyond its limit of 8\.", None,
    ),
    "a motor that changes too slowly": Broken(
        "scara-weak-motors",
        {
            **PLAIN,
            "robot": scara(
                motor("u1", rate_limit=100.0), motor("u2"), motor("u3"), motor("u4")
            ),
        },
        "warnings", r"motor 'u1' must change by 3\d\d\.?\d* N m/s", None,
    ),
    # It lifts (0.5 + 6) kg against gravity, at rest 6.5 * 9.81 = 63.8 N, with 60 N.
    "a payload that is too heavy": Broken(
        "scara-pick-and-place",
        {
            "effect": [
                {"kind": "payload", "frame": "tool", "mass": 6.0, "start": 0.7, "stop": 3.1},
                {"kind": "saturation"},
            ]
        },
        "warnings", r"motor 'u4' needs 76\.\d+ N .* beyond its limit of 60, first at t = 0\.7 s",
        None,
    ),
    # Hovering alone takes 0.5 * 9.81/4 = 1.226 N of each propeller.
    "propellers that cannot carry the body": Broken(
        "quadrotor-attitude", {"effect": [{"kind": "saturation", "limit": 1.15}]},
        "warnings", r"motor 'thrust2' needs 1\.4\d+ N .* limit of 1\.15, first at t = 0 s",
        None,  # it tumbles down with its motors at their limits
    ),
    "a bench that gives less than the motors": Broken(
        "three-rrr", {"effect": [{"kind": "saturation", "limit": 0.3}]},
        "warnings", r"motor 'foot1' needs 0\.349\d N m at t = 0\.9\d+ s", None,
    ),
    # Squeezing with 200 N takes ten times the torques that squeezing with 20 N adds.
    "a squeeze beyond the motors": Broken(
        "coordinated-arms-squeeze",
        {
            "controller.allocation.null_space.value": 200.0,
            "effect": [{"kind": "saturation", "limit": 60.0}],
        },
        "warnings", r"motor 'u1' is asked by the law for -130", None,
    ),
    "the smallest input beyond a limit, another one within": Broken(
        "three-rrr-redundant", {"effect": [{"kind": "saturation", "limit": 0.18}]},
        "notes", r"beyond the limits of 'foot0', but another input serves the task", None,
    ),
    # q1 starts at -0.05 pi = -0.157 rad/s.
    "a joint that is too slow": Broken(
        "scara-helix",
        {"robot": {"use": "scara", "limit": [{"joint": "q1", "velocity": 0.1}]}, **SHORT},
        "warnings", r"joint 'q1' must move at -0\.33\d+ rad/s .* limit of -0\.1, first at t = 0 s",
        None,
    ),
    # On the helix the elbow opens to acos((0.3^2 - 0.2^2 - 0.25^2)/0.1) = 97.2 deg = 1.696 rad.
    "a joint limit in the way": Broken(
        "scara-helix",
        {
            "robot": {
                "use": "scara", "limit": [{"joint": "q2", "position": ["0*deg", "60*deg"]}],
            },
            **SHORT,
        },
        "warnings", r"joint 'q2' must go to 1\.69\d rad at t = 2\.[45]\d* s", None,
    ),
    # The lift is at 0.02 t: at 0.05 m after 2.5 s.
    "a lift that is too short": Broken(
        "scara-helix",
        {
            "robot": {"use": "scara", "limit": [{"joint": "q4", "position": [0.0, 0.05]}]},
            **SHORT,
        },
        "warnings", r"joint 'q4' must go to 0\.08 m at t = 4 s, 0\.03 beyond .* t = 2\.5", None,
    ),
    # Joints that must be faster than their URDF says.
    "a figure of eight that is too fast": Broken(
        "ur5-pose",
        {
            "servo": [
                {
                    "kind": "pose_follows",
                    "frame": "tool",
                    "path": {
                        "kind": "lemniscate",
                        "center": [0.45, -0.1, 0.4],
                        "half_width": 0.2,
                        "period": 0.8,
                        "first_axis": "y",
                        "phase": "90*deg",
                    },
                    "orientation": {"kind": "constant", "rpy": ["180*deg", 0.0, "-90*deg"]},
                }
            ],
            "timing.duration": 0.8,
        },
        "warnings", r"joint 'shoulder_lift' must move at 3\.8\d+ rad/s", None,
    ),
    # The pole at 170 deg pushes the cart ever faster, off a track that ends at 0.4 m.
    "a cart that drifts off its track": Broken(
        "cart-pole-swing-up",
        {
            **PLAIN,
            "servo": [joint("pole", "170*deg")],
            "start.q": {"pole": "170*deg"},
            "timing.duration": 3.0,
        },
        "warnings", r"joint 'cart' must go to 7\.\d+ m .* limit of 0\.4, first at t = 0\.6", None,
    ),
    "two rows that want different things": Broken(
        "scara-helix", {"servo": [HELIX, UPRIGHT, joint("q1", "0.5")], **SHORT},
        "problems", r"'q1\.q1'.* contradict each other from t = 0 s",
    ),
    # q4 is the tool's height: 0.02 t and 0.02 t + 0.01 t^4 part company.
    "two rows that come to want different things": Broken(
        "scara-helix", {"servo": [HELIX, UPRIGHT, joint("q4", "0.02*t + 0.01*t**4")], **SHORT},
        "problems", r"rows 'tool\.z', 'q4\.q4' contradict each other",
    ),
    "a row that is there twice": Broken(
        "scara-helix", {"servo": [HELIX, UPRIGHT, joint("q4", "0.02*t")], **SHORT},
        "notes", r"servo rows 'q4\.q4' depend on the others", None,
    ),
    # Thirteen rows for seven joints, under a law that gives none of them up.
    "rows of three levels under a law with one": Broken(
        "panda-priorities", PLAIN, "problems", r"'place\.\w'.*'posture\.joint3'.* contradict"
    ),
    "a row on a frame that does not move": Broken(
        "scara-helix",
        {
            "servo": [
                HELIX,
                UPRIGHT,
                {
                    "kind": "point_follows",
                    "name": "base",
                    "frame": "world",
                    "path": {"kind": "constant", "value": [0.1, 0.0, 0.0]},
                },
            ],
            **SHORT,
        },
        "problems", r"row 'base\.x' is out of reach from t = 0 s on, by up to 0\.1 m",
    ),
    "a tilt that the arm cannot make": Broken(
        "scara-pick-and-place",
        {
            "start": {"q": {"q1": "-80*deg", "q2": "75*deg"}},
            "servo": [
                {
                    "kind": "pose_follows",
                    "frame": "tool",
                    "path": {"kind": "constant", "value": [0.25, 0.25, 0.1]},
                    "orientation": {"kind": "constant", "rpy": [0.1, 0.0, 0.0]},
                }
            ],
            "effect": [],
        },
        "problems", r"row 'tool\.rx' is out of reach from t = 0 s on, by up to 0\.1 rad",
    ),
    "a motor that is missing": Broken(
        "scara-helix", {"robot": scara(motor("u1"), motor("u3"), motor("u4")), **SHORT},
        "problems", r"the motors hold 3 of 4 independent servo rows",
    ),
    "an arm that nothing turns": Broken(
        "pendubot-swing-up", PLAIN, "problems", r"servo rows 'joints\.elbow' are out of the"
    ),
    "a force on the wrong mass": Broken(
        "two-mass-spring-far", {}, "problems", r"row 'far\.x2': its relative degree is 4"
    ),
    "links behind springs under a law for rigid joints": Broken(
        "panda-elastic", PLAIN, "problems",
        r"rows 'tool\.x', .* their relative degree is 4.*use kind = \"elastic_linearisation\"",
    ),
    "sideways, where propellers have no grip": Broken(
        "quadrotor-lemniscate", PLAIN, "problems", r"no motor accelerates rows 'body\.x', 'body\.y'"
    ),
    "a start with its closure broken": Broken(
        "coordinated-arms",
        {
            "start.q": {
                "theta1": "60*deg",
                "theta2": "-60*deg",
                "theta3": 0.0,
                "theta4": "60*deg",
                "theta5": "-50*deg",
            }
        },
        "problems", r"breaks the passive constraints, most in row 'hinge_x'",
    ),
    # cos(60 deg) - cos(50 deg) = -0.143, and the tool starts 10 deg off: 0.175 rad.
    "a start off the task": Broken(
        "scara-helix",
        {"start.q": {"q1": "-20*deg", "q2": "55*deg", "q3": "-25*deg"}, **SHORT},
        "notes", r"off the constraints, most on row 'orientation': phi = 0\.175 rad", None,
    ),
    "a start without the path's speed": Broken(
        "scara-helix", {"start.v": {"q1": 0.0}, **SHORT},
        "notes", r"off the constraints, most on row 'tool\.x': .* beta = -0\.0628 m/s", None,
    ),
    # min(2/alpha, 2 alpha/beta) = min(2/20, 40/100) = 0.1 s
    "a period that is too long for the damping": Broken(
        "scara-helix",
        {"timing.control": 0.12, "timing.duration": 12.0, "timing.sample": 0.12},
        "problems", r"grows from 0\.1 s on",
    ),
    # min(2/0.5, 1/200) = 0.005 s; the error grows by 5 % a second, slow enough to be overlooked.
    "a period that is too long for the stiffness": Broken(
        "scara-helix-baumgarte", {"timing.control": 0.006, "timing.duration": 5.0},
        "problems", r"'tool\.x' grows from 0\.005 s on", None,
    ),
    # alpha - beta h/2 = 0.1 1/s of damping is left, of 0.5: half of that is the rate.
    "a period that leaves little damping": Broken(
        "scara-helix-baumgarte", {"timing.control": 0.004, "timing.duration": 5.0},
        "warnings", r"decays at 0\.05\d* 1/s instead of 0\.25", None,
    ),
    "inputs that come too late": Broken(
        "scara-helix",
        {
            "timing.control": 0.02,
            "timing.duration": 5.0,
            "effect": [{"kind": "input_delay", "ticks": 4}],
        },
        "problems", r"a control period of 0\.02 s and a delay of 0\.08 s is too long",
    ),
    # Three roots at -20 1/s; 2/60 = 0.0333 s.
    "a period that is too long for an integral": Broken(
        "scara-helix-bench", {"timing.control": 0.04, "effect": []},
        "problems", r"grows from 0\.0333 s on",
    ),
    "a period too long for computed torque": Broken(
        "scara-helix",
        {
            "controller": {"use": "computed-torque"},
            "timing.control": 0.15,
            "timing.duration": 9.0,
            "timing.sample": 0.15,
        },
        "problems", r"row 'joints\.q1' grows from 0\.1 s on",
    ),
    # 2/kappa = 2/3 s.
    "a period too long for velocities": Broken(
        "swarm-decay", {"timing.control": 0.7, "timing.sample": 0.7},
        "problems", r"row 'aggregation\.x1' grows from 0\.667 s on",
    ),
}  # fmt: skip
SLOW = {
    # Rolling wheels let no point of their axle go sideways.
    "wheels that shall go sideways": Broken(
        "mobile-manipulator",
        {
            "servo": [
                {
                    "kind": "point_follows",
                    "name": "axle",
                    "frame": "chassis",
                    "axes": "xy",
                    "path": {
                        "kind": "line", "start": [0.0, 0.0], "end": [1.0, 1.0], "duration": 6.0,
                    },
                }
            ]
        },
        "problems", r"no motor accelerates row 'axle\.y'",
    ),
    # 0.04 m at 3 Hz asks for 0.04 (6 pi)^2 = 14.2 m/s^2 downwards, more than gravity.
    "feet that would have to pull": Broken(
        "a1-squat",
        {
            "servo": [
                trunk(
                    {
                        "kind": "harmonic",
                        "offset": [0.0, 0.0, 0.24],
                        "terms": [
                            {"amplitude": [0.0, 0.0, 0.04], "frequency": 3.0, "phase": "90*deg"}
                        ],
                    }
                )
            ],
            "timing.duration": 1.0,
        },
        "warnings", r"contact 'RL_foot_contact' would lift off at t = 0 s", None,
    ),
    # It leans towards the foot in the air, and the one across must hold it down.
    "a lean to the wrong side": Broken(
        "a1-three-feet",
        {
            "servo": [
                trunk(
                    {
                        "kind": "min_jerk",
                        "points": [[0.0, 0.0, 0.28], [0.05, 0.05, 0.27]],
                        "duration": 2.0,
                    }
                ),
                {
                    "kind": "point_follows",
                    "frame": "FL_foot",
                    "path": {"kind": "constant", "value": [0.1805, 0.1308, 0.0]},
                },
            ]
        },
        "warnings", r"contact 'RR_foot_contact' would lift off at t = 0\.5", None,
    ),
}  # fmt: skip


def found(case):
    scenario = Scenario.load(case.base, case.changes)
    return scenario, check(scenario)


def quick():
    """Return one case of each kind as quick tests, and the others as slow ones."""
    seen = set()
    for name, case in CASES.items():
        kind = case.base, case.level
        yield pytest.param(name, marks=[pytest.mark.slow] if kind in seen else [])
        seen.add(kind)


@pytest.mark.slow(only=["a period too long for velocities"])
@pytest.mark.parametrize("name", list(quick()))
def test_what_is_broken_is_found_and_named(name):
    case = CASES[name]
    _, seen = found(case)
    said = getattr(seen, case.level)
    assert any(re.search(case.says, text) for text in said), "\n".join(said)
    assert seen.ok == (case.level != "problems")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_what_is_broken_on_feet_and_wheels_is_found_too(name):
    case = SLOW[name]
    _, seen = found(case)
    said = getattr(seen, case.level)
    assert any(re.search(case.says, text) for text in said), "\n".join(said)
    assert seen.ok == (case.level != "problems")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *SLOW])
def test_the_run_does_what_check_has_said(name):
    case = {**CASES, **SLOW}[name]
    result = simulate(Scenario.load(case.base, case.changes))
    assert re.fullmatch(case.run or "completed", result.status), result.message


def test_more_than_thirty_scenarios_are_broken():
    assert len(CASES) + len(SLOW) > 40
