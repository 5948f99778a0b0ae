"""The survey behind the page: robots, troubles, laws, how quick they are, and on which plants."""

from __future__ import annotations

import copy
import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ukctrl import Scenario

Changes = Mapping[str, object]
Table = dict[str, Any]

TWO_POLES = ("servo-baumgarte", "computed-torque", "pd-gravity", "slotine-li", "tvlqr")
ROBUST = ("servo-sliding", "servo-chen-robust", "servo-adaptive-robust")
INTEGRAL = (
    "servo-pid", "pid", "lqi", "servo-momentum-observer", "servo-acceleration-observer",
    "servo-integral-sliding", "time-delay",
)  # fmt: skip
LEARNING = ("slotine-li-adaptive",)
PREDICTING = ("mpc-along",)
ELASTIC = (
    "elastic-cascade", "elastic-singular-perturbation",
    "elastic-integral-manifold", "elastic-linearisation",
)  # fmt: skip
PID: Table = {"kind": "pid", "kp": 100.0, "ki": 100.0, "kd": 20.0}
"""Its gains are designed like all others."""
CHANGED: dict[str, Table] = {
    f"{law}-pid": {"use": law, "feedback": PID}
    for law in ("elastic-cascade", "elastic-integral-manifold")
}
"""Laws that are a card with another feedback."""
RIGID = (*TWO_POLES, *ROBUST, *INTEGRAL, *LEARNING, *PREDICTING)
OPEN_ONLY = ("slotine-li", "slotine-li-adaptive")
"""Laws whose virtual velocity a closed chain cannot have."""

SPEEDS = 9
"""How many bandwidths every law is tried at, evenly in the logarithm."""
TRAINING = (1, 2, 3)
"""Seeds of the plants that gains are chosen on; each is one search."""
JUDGING = (101, 102, 103, 104, 105, 106, 107, 108)
"""Seeds of the plants that they are judged on."""

PERIOD = 1e-3
HELD: Changes = {
    "timing.control": PERIOD,
    "timing.duration": 1.5,
    "integrator": {"method": "RK4", "step": PERIOD},
}
NOISE: Table = {"kind": "noise", "std": 2e-5, "v_std": 2e-3}
"""Of positions [rad, m] and of velocities [rad/s, m/s]; every trouble comes on top of it."""


@dc.dataclass(frozen=True, kw_only=True)
class Robot:
    """One robot on its path, and the sizes of its troubles."""

    title: str
    scenario: str
    laws: Sequence[str]
    bandwidth: tuple[float, float]
    """Between which all laws are tried [rad/s]."""
    price: float
    """How much error one N m/s of moving the inputs is worth [(m, rad)/(N m/s)]."""
    elsewhere: Changes
    """The path on which gains are judged."""
    tool: str
    """The frame that carries and is pushed."""
    carries: tuple[float, float]
    """Payload of the plants for choosing, and for judging [kg]."""
    force: tuple[float, ...]
    """A push from 0.5 s on [N]."""
    friction: Mapping[str, float]
    """Coulomb friction by joint [N m, N]; stiction is 1.3 times as much."""
    limit: Mapping[str, float]
    """What the motors can do [N m, N]."""
    changes: Changes = dc.field(default_factory=dict)
    sample: float = PERIOD
    """Between samples, over which errors and travel are taken [s]; at every tick where nobody says.
    """

    def base(self, trouble: str, *, judging: bool) -> Scenario:
        """Return the scenario that a sweep varies."""
        of_trouble = TROUBLES[trouble](self, judging)
        path = self.elsewhere if judging else {}
        base = Scenario.load(self.scenario, {**HELD, **self.changes, **of_trouble, **path})
        assert base.timing.control is not None  # all are held
        return base.replace({"timing.sample": max(self.sample, base.timing.control)})

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """At which every law is tried [rad/s]."""
        return tuple(float(f"{w:.4g}") for w in np.geomspace(*self.bandwidth, SPEEDS))


def card_of(law: str, robot: str) -> Table:
    """Return a law as a scenario has it, with its own gains, and the limits that it keeps."""
    card = copy.deepcopy(CHANGED.get(law, {"use": law}))
    return card | ({"limit": dict(ROBOTS[robot].limit)} if law in PREDICTING else {})


def _exact(robot: Robot, judging: bool) -> Changes:
    return {"effect": [NOISE]}


def _noisy(robot: Robot, judging: bool) -> Changes:
    return {"effect": [{**NOISE, "std": 2e-4, "v_std": 2e-2}]}


def _mass(robot: Robot, judging: bool) -> Changes:
    return {"effect": [NOISE, {"kind": "mismatch", "mass": 0.3}]}


def _payload(robot: Robot, judging: bool) -> Changes:
    mass = robot.carries[judging]
    return {"effect": [NOISE, {"kind": "payload", "frame": robot.tool, "mass": mass}]}


def _push(robot: Robot, judging: bool) -> Changes:
    push = {
        "kind": "push",
        "frame": robot.tool,
        "force": list(robot.force),
        "start": 0.5,
        "duration": 0.5,
    }
    return {"effect": [NOISE, push]}


def _friction(robot: Robot, judging: bool) -> Changes:
    rubs = {
        "kind": "friction",
        "coulomb": dict(robot.friction),
        "static": {joint: 1.3 * size for joint, size in robot.friction.items()},
        "stribeck_velocity": 0.02,
        "velocity_scale": 2e-3,
    }
    return {"effect": [NOISE, rubs]}


def _slow(robot: Robot, judging: bool) -> Changes:
    late = {"kind": "input_delay", "ticks": 1}
    return {"timing.control": 4.0 * PERIOD, "effect": [NOISE, late]}


def _bench(robot: Robot, judging: bool) -> Changes:
    effects = [
        {"kind": "noise", "std": 2e-6},
        {"kind": "quantisation", "step": "2*pi/2**18"},
        {"kind": "differentiation", "cutoff": 60.0},
        {"kind": "input_delay", "ticks": 1},
        {"kind": "saturation", "limit": dict(robot.limit)},
        {"kind": "mismatch", "mass": 0.15},
        *_friction(robot, judging)["effect"][1:],  # type: ignore[index]
        {**_payload(robot, judging)["effect"][1], "start": 0.5},  # type: ignore[index]
    ]
    return {"effect": effects}


TROUBLES = {
    "a right model": _exact,
    "ten times the noise": _noisy,
    "masses off by 30 %": _mass,
    "an untold payload": _payload,
    "a push": _push,
    "friction": _friction,
    "250 Hz and late": _slow,
    "the bench": _bench,
}
"""What is wrong, beside noise."""

POINTING = {"kind": "constant", "rpy": ["180*deg", 0.0, 0.0]}
PANDA_ELSEWHERE: Changes = {
    "servo.tool.path": {
        "kind": "lemniscate",
        "center": [0.45, 0.0, 0.45],
        "half_width": 0.12,
        "period": 2.5,
        "first_axis": "y",
    }
}
PANDA_JOINTS = tuple(f"joint{i}" for i in range(1, 8))
PANDA_FRICTION = dict(zip(PANDA_JOINTS, (2.0, 2.0, 2.0, 2.0, 0.3, 0.3, 0.1), strict=True))
PANDA_LIMIT = dict(zip(PANDA_JOINTS, (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0), strict=True))
PANDA = Robot(
    title="Panda",
    scenario="panda-elastic",
    changes={"robot": "panda", "start": {"q": {"joint4": "-130*deg"}, "solve": True}},
    laws=RIGID,
    bandwidth=(8.0, 1024.0),
    price=1e-6,
    elsewhere=PANDA_ELSEWHERE,
    tool="tool",
    carries=(1.5, 1.0),
    force=(0.0, 15.0, 0.0),
    friction=PANDA_FRICTION,
    limit=PANDA_LIMIT,
)
ROBOTS: dict[str, Robot] = {
    "scara": Robot(
        title="SCARA",
        scenario="scara-helix",
        laws=RIGID,
        bandwidth=(8.0, 1024.0),
        price=1e-6,
        elsewhere={
            "start": {
                "q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg", "q4": 0.05},
                "solve": True,
            },
            "servo.tool.path": {
                "kind": "expression",
                "x": "0.06*sin(0.6*pi*t)",
                "y": "0.34 + 0.04*cos(0.6*pi*t)",
                "z": "0.05 - 0.03*t",
            },
        },
        tool="tool",
        carries=(0.5, 0.3),
        force=(10.0, 0.0, 0.0),
        friction={"q1": 0.3, "q2": 0.2, "q3": 0.02, "q4": 0.5},
        limit={"u1": 20.0, "u2": 10.0, "u3": 2.0, "u4": 40.0},
    ),
    "ur5": Robot(
        title="UR5",
        scenario="ur5-pose",
        laws=RIGID,
        bandwidth=(8.0, 1024.0),
        price=1e-6,
        elsewhere={
            "servo.tool.path": {
                "kind": "circle",
                "center": [0.42, -0.1, 0.42],
                "radius": 0.12,
                "period": 2.5,
                "normal": "x",
            },
            "servo.tool.orientation": {"kind": "constant", "rpy": ["180*deg", 0.0, "-90*deg"]},
        },
        tool="tool",
        carries=(2.0, 1.2),
        force=(0.0, 20.0, 0.0),
        friction={
            "shoulder_pan": 3.0,
            "shoulder_lift": 3.0,
            "elbow": 2.0,
            "wrist_1": 0.3,
            "wrist_2": 0.2,
            "wrist_3": 0.05,
        },
        limit={
            "shoulder_pan": 150.0,
            "shoulder_lift": 150.0,
            "elbow": 150.0,
            "wrist_1": 28.0,
            "wrist_2": 28.0,
            "wrist_3": 28.0,
        },
    ),
    "panda": PANDA,
    "panda-elastic": dc.replace(
        PANDA,
        title="Panda with elastic joints",
        changes={},
        laws=(*ELASTIC, *CHANGED),
        bandwidth=(4.0, 256.0),
        sample=0.02,
        friction={f"{joint}_motor": size for joint, size in PANDA_FRICTION.items()},
    ),
    "three-rrr": Robot(
        title="3RRR, a closed chain",
        scenario="three-rrr",
        changes={"timing.duration": 1.0},
        laws=tuple(law for law in RIGID if law not in OPEN_ONLY),
        bandwidth=(8.0, 1024.0),
        price=1e-7,
        elsewhere={
            "servo.platform.path": {
                "kind": "expression",
                "components": ["0.04*cos(2.5*t) - 0.04", "0.05*sin(2*t)", "0.15*sin(2*t)"],
            }
        },
        tool="platform",
        carries=(2.0, 1.2),
        force=(5.0, 0.0, 0.0),
        friction={"upper0_angle": 0.1, "upper1_angle": 0.1, "upper2_angle": 0.1},
        limit={"foot0": 2.0, "foot1": 2.0, "foot2": 2.0},
    ),
}
