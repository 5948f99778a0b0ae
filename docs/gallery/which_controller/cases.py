"""Every comparison behind the page: one `compare` each."""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Mapping, Sequence

from ukctrl import Budget, Comparison, Controller, Entry, ErrorSpec, Scenario, compare

Changes = Mapping[str, object]


@dc.dataclass(frozen=True, kw_only=True)
class Case:
    """One comparison, as it is asked for."""

    scenario: str
    entries: Sequence[str | Entry]
    """Cards, with names and changes where they are wanted."""
    changes: Changes = dc.field(default_factory=dict)
    """Of the scenario, the same for all."""
    repeats: int | None = None
    tuning: Budget | None = None
    equal: ErrorSpec | None = None
    """What the loops of all are designed for."""
    quick: bool = False
    """Whether it takes no more than a second or two: the quick tests run it again."""

    def run(self, jobs: int = 1) -> Comparison:
        """Compare."""
        return compare(
            Scenario.load(self.scenario, dict(self.changes)),
            list(self.entries),
            repeats=self.repeats,
            tuning=self.tuning,
            equal=self.equal,
            jobs=jobs,
        )

    def command(self) -> str:
        """Return the same comparison for a terminal."""
        words = [f"ukctrl compare {self.scenario}"]
        words += [f"-c {_quoted(_text(entry))}" for entry in self.entries]
        words += [f"--set {_quoted(f'{k}={_toml(v)}')}" for k, v in self.changes.items()]
        if self.repeats:
            words.append(f"--repeats {self.repeats}")
        if self.tuning:
            words.append(f"--tune {self.tuning.simulations} --cost {_quoted(self.tuning.cost)}")
            words += ["--over gains"] if not self.tuning.in_terms else []
            words += [
                f"--over {path}={low:g}:{high:g}" for path, (low, high) in self.tuning.over.items()
            ]
        if self.equal:
            words.append(f"--equal bandwidth={self.equal.bandwidth:g}")
        return " ".join(words)


def _text(entry: str | Entry) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry.controller, Controller):
        raise TypeError(f"'{entry.name}' is no card, and has no text.")
    changes = ", ".join(f"{path}={_toml(value)}" for path, value in entry.changes.items())
    return f"{entry.name}={entry.controller}" + (f"{{{changes}}}" if changes else "")


def _quoted(text: str) -> str:
    return f'"{text}"' if any(mark in text for mark in " {}[]*'") else text


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}={_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


# Ticks and steps of 1 ms: under a held input the motion between ticks is simple.
TICKS = {
    "timing.control": 1e-3,
    "timing.sample": 1e-3,
    "integrator": {"method": "RK4", "step": 1e-3},
}
NOISE = {"kind": "noise", "std": 2e-5, "v_std": 2e-3}
"""Of positions [rad, m] and of velocities [rad/s, m/s]."""
PAYLOAD = {"kind": "payload", "frame": "tool", "mass": 0.5}
"""As heavy as the body that carries it [kg]."""
HELIX = {"timing.duration": 2.0, **TICKS}
OFF = {"start.q.q1": "-28*deg", "start.q.q4": 0.01}
"""A SCARA that starts beside its helix: 19 mm to the side, turned by 2.75°, and 10 mm too high."""

NOMINAL = ("servo-exact", "servo-baumgarte", "servo-pid")
ROBUST = ("servo-sliding", "servo-chen-robust", "servo-adaptive-robust")
TASK = ("servo-gauss", "operational-space", "resolved-acceleration")
JOINT = ("computed-torque", "slotine-li", "tvlqr", "lqr", "pd-gravity", "pid")
BEAR = ("servo-baumgarte", "servo-pid", *ROBUST, "slotine-li", "slotine-li-adaptive", "lqi")
UNTUNED = (*BEAR, "computed-torque", "pd-gravity", "pid")
ALIKE = (
    "servo-baumgarte", "computed-torque", "slotine-li", "pd-gravity", "servo-chen-robust",
    "servo-pid", "pid", "servo-momentum-observer", "servo-integral-sliding",
    "slotine-li-adaptive", "servo-adaptive-robust",
)  # fmt: skip
"""Laws whose gains follow from a bandwidth: of two poles a row, then of three, then learning."""
STIFFLY = ErrorSpec(bandwidth=300.0)
BOX = {"bandwidth": (3.0, 1000.0), "damping": (1.0, 3.0)}
"""Where all laws are searched for, in the same terms [rad/s], [1]."""
INERTIA = (0.75, 1.8, 0.7, 0.018, 0.004, 0.00013)
"""What each motor of the UR5 feels at home: the diagonal of its mass matrix, rounded [kg m^2]."""
COST = "rms_phi.tool + 1e-6*input_travel"
"""A micrometre is worth 1 N m/s of moving the motors."""


def _helix(quick: bool = True, **more: object) -> Case:
    """Return all laws on the SCARA's helix, with the cards as they are."""
    return Case(scenario="scara-helix", entries=UNTUNED, changes={**HELIX, **more}, quick=quick)


def _elastic(factor: float) -> Case:
    large, wrist = 1e4 * factor, 4000.0 * factor
    stiffness = {f"joint{k}": large if k < 5 else wrist for k in range(1, 8)}
    return Case(
        scenario="panda-elastic",
        entries=(
            "as if rigid=elastic-singular-perturbation{controller.zeta=1e-9}",
            "elastic-tracking",
            "elastic-cascade",
            "elastic-singular-perturbation",
            "elastic-integral-manifold",
            "elastic-linearisation",
        ),
        changes={"timing.duration": 1.0, "robot.elastic.stiffness": stiffness},
    )


POSTURE = "{controller.allocation.null_space={kind='posture', kp=50.0, kd=10.0}}"
FIRST = "servo-prioritized{controller.allocation.metric='gauss', controller.allocation.order="
RELAX = (
    "servo-bounded, relaxed=servo-bounded{controller.allocation.on_limit='relax', "
    "controller.allocation.order=['tool', 'orientation']}"
)
SQUEEZE = (
    "servo-baumgarte, pressing=servo-baumgarte{controller.allocation.null_space="
    "{kind='internal_force', rows='grip.y', value=20.0}}"
)
BALANCE: Changes = {
    "controller.Q": {"cart": 10.0, "pole": 10.0, "v.cart": 1.0, "v.pole": 1.0},
    "controller.R": 0.1,
    "controller.follow": "equilibrium",
}
SWING = Scenario.load("cart-pole-swing-up")


def _by_joint(card: str, **times: float) -> Entry:
    """Return a card whose gains are so many times each joint's inertia."""
    changes: dict[str, object] = {
        f"controller.{gain}": [float(f"{k * inertia:.3g}") for inertia in INERTIA]
        for gain, k in times.items()
    }
    return Entry(controller=card, name=f"{card}, by joint", changes=changes)


BY_JOINT = (
    _by_joint("pd-gravity", kp=4000.0, kd=200.0),
    _by_joint("pid", kp=4000.0, ki=20000.0, kd=200.0),
    _by_joint("slotine-li", kd=200.0),
    _by_joint("slotine-li-adaptive", kd=200.0),
)
"""Gains as they suit each joint: in units of its inertia all are alike [1/s^2], [1/s]."""

CASES: dict[str, Case] = {
    # 1. The model is right
    "exact-helix": Case(
        scenario="scara-helix",
        entries=("servo-baumgarte", *TASK, "servo-exact", "servo-pid", *JOINT, *ROBUST),
        changes={**HELIX, **OFF},
        quick=True,
    ),
    "exact-arm": Case(
        scenario="ur5-pose",
        entries=("servo-baumgarte", *TASK, "servo-exact", "servo-pid", *JOINT, *ROBUST),
        changes={**TICKS, "timing.duration": 2.0},
        quick=True,
    ),
    # 2. The model is wrong
    "mass": _helix(**{"believed.mass_scale": 0.7}),
    "arm-payload": Case(
        scenario="ur5-pose",
        entries=(
            "servo-baumgarte", "servo-pid", *ROBUST, "computed-torque", "tvlqr", "pd-gravity",
            *BY_JOINT,
        ),
        changes={**TICKS, "timing.duration": 2.0, "effect": [{**PAYLOAD, "mass": 2.0}]},
        quick=True,
    ),
    "noise-given": Case(
        scenario="scara-helix",
        entries=BEAR,
        changes={**HELIX, "believed.mass_scale": 0.7, "effect": [NOISE]},
        repeats=10,
    ),
    "noise-tuned": Case(
        scenario="scara-helix",
        entries=(*BEAR, "pd-gravity", "pid"),
        changes={**HELIX, "believed.mass_scale": 0.7, "effect": [NOISE]},
        repeats=10,
        tuning=Budget(simulations=40, cost=COST, in_terms=False),
    ),
    # The same, all loops equally stiff
    "alike-mass": Case(
        scenario="scara-helix",
        entries=ALIKE,
        changes={**HELIX, "believed.mass_scale": 0.7},
        equal=STIFFLY,
        quick=True,
    ),
    "alike-noise": Case(
        scenario="scara-helix",
        entries=ALIKE,
        changes={**HELIX, "believed.mass_scale": 0.7, "effect": [NOISE]},
        repeats=10,
        equal=STIFFLY,
    ),
    "alike-arm": Case(
        scenario="ur5-pose",
        entries=ALIKE,
        changes={**TICKS, "timing.duration": 2.0, "effect": [{**PAYLOAD, "mass": 2.0}]},
        equal=ErrorSpec(bandwidth=150.0),
        quick=True,
    ),
    "alike-tuned": Case(
        scenario="scara-helix",
        entries=ALIKE,
        changes={**HELIX, "believed.mass_scale": 0.7, "effect": [NOISE]},
        repeats=10,
        tuning=Budget(simulations=40, cost=COST, over=BOX),
    ),
    # 3. Limits, singular poses, redundancy
    "weak": Case(
        scenario="scara-weak-motors",
        entries=("servo-baumgarte", "computed-torque", "servo-weighted", "servo-bounded", RELAX),
        changes={"effect": [{"kind": "saturation"}]},
        quick=True,
    ),
    "singular": Case(
        scenario="stretched-arm",
        entries=(
            "servo-baumgarte",
            "operational-space",
            "servo-damped",
            "servo-damped, wider=servo-damped{controller.allocation.near=0.1}",
        ),
        changes={"timing.sample": 0.001},
    ),
    "redundant": Case(
        scenario="panda-pose",
        entries=(
            "servo-baumgarte",
            "servo-gauss",
            f"servo-gauss, posture=servo-gauss{POSTURE}",
            "operational-space",
            "resolved-acceleration",
            "computed-torque",
        ),
    ),
    "priorities": Case(
        scenario="panda-priorities",
        entries=(
            "servo-baumgarte",
            "servo-damped",
            f"place first={FIRST}['place', 'direction', 'posture']}}",
            f"posture second={FIRST}['place', 'posture', 'direction']}}",
            f"posture first={FIRST}['posture', 'place', 'direction']}}",
        ),
        quick=True,
    ),
    # 4. Elastic joints
    **{f"elastic-{factor:g}": _elastic(factor) for factor in (0.3, 1.0, 3.0, 10.0)},
    # 5. Fewer motors than freedoms
    "hanging": Case(
        scenario="cart-pole-swing-up",
        entries=(
            Entry(controller=SWING.controller, name="swing-up, then lqr"),
            Entry(controller="lqr", name="lqr alone", changes=BALANCE),
            "servo-baumgarte",
        ),
    ),
    "leaning": Case(
        scenario="cart-pole-swing-up",
        entries=(
            Entry(controller=SWING.controller, name="swing-up, then lqr"),
            Entry(controller="lqr", name="lqr alone", changes=BALANCE),
        ),
        changes={"start.q.pole": "170*deg"},
    ),
    "far": Case(scenario="two-mass-spring-far", entries=("servo-baumgarte",), quick=True),
    "quadrotor": Case(
        scenario="quadrotor-lemniscate",
        entries=("thrust-vectoring", "servo-baumgarte"),
        changes={"timing.duration": 6.0},
    ),
    "quadruped": Case(
        scenario="a1-squat",
        entries=("servo-baumgarte", "servo-weighted", "servo-gauss", "servo-chen"),
        changes={"timing.duration": 2.0},
        quick=True,
    ),
    # 6. Closed chains
    "carry": Case(
        scenario="two-arms-carry",
        entries=(
            "servo-baumgarte",
            SQUEEZE,
            "servo-weighted",
            "servo-gauss",
            "servo-chen",
            "servo-stacked",
            "servo-frozen",
            "computed-torque",
        ),
        quick=True,
    ),
    "parallel": Case(
        scenario="three-rrr-redundant",
        entries=("servo-baumgarte", "servo-gauss", "resolved-acceleration", "servo-chen",
                 "servo-stacked", "servo-frozen", "computed-torque"),
    ),
}  # fmt: skip
"""By name."""
