"""Random scenarios out of the parts of the catalogue: robot, task, law, bench, integrator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tomli_w
from families import FAMILIES, RNG, Family, Given, Table, given
from paths import path, turn

OFTEN = 0.4
"""Share of draws with effects, with a wrong belief, and the like."""


def draw(seed: int, number: int) -> Table:
    """Return a scenario as TOML, and the files beside it; the same for the same numbers."""
    rng = np.random.default_rng((seed, number))
    name = list(FAMILIES)[number % len(FAMILIES)]
    family = FAMILIES[name]
    here = given(rng, family)
    law = str(rng.choice(family.laws))
    table: Table = {"title": f"random {name}", "robot": here.table, "start": here.start}
    table["servo"] = task(rng, family, here, law)
    if law == "servo" and here.robot.passive == () and rng.random() < 0.5:
        here.start["solve"] = True
    if law != "none":
        table["controller"] = LAWS[law](rng, here)
    period = 1e-3 if rng.random() < 0.5 or "elastic" in law else None
    _timing(rng, table, family, period)
    table["effect"] = effects(rng, family, here, period)
    if rng.random() < OFTEN and law != "none" and name not in ("lagrangian", "plane"):
        table["believed"] = {"mass_scale": round(float(rng.uniform(0.8, 1.2)), 3)}
    if rng.random() < 0.1:
        table["monitor"] = {"max_phi": 1e-3}
    if law not in ("none", "swarm") and rng.random() < OFTEN:
        table["keep"] = [keep(rng, family, here)]
    if period and law not in ("none", "swarm") and rng.random() < OFTEN:
        table["observer"] = observer(rng)
    if here.robot.passive and rng.random() < OFTEN and table["integrator"]["method"] != "LSODA":
        kinds = [{"kind": "projection"}, {"kind": "baumgarte", "rate": 20.0}]
        table["stabilisation"] = kinds[int(rng.integers(2))]
    table["seed"] = int(rng.integers(1000))
    return {"toml": tomli_w.dumps(table), "files": here.files}


def _timing(rng: RNG, table: Table, family: Family, period: float | None) -> None:
    methods = ["RK4", "semi_implicit_euler", "RK45", "DOP853"]
    if not family.heavy:
        methods += [*methods, *methods, "Radau", "LSODA"]
    method = str(rng.choice(methods))
    duration = 5e-3 if family.heavy else 2e-2
    table["timing"] = {"duration": duration, "sample": duration / 5}
    if period:
        table["timing"]["control"] = period if family.heavy else 2.0 * period
    table["integrator"] = {"method": method}
    if method in ("RK4", "semi_implicit_euler"):
        table["integrator"]["step"] = 1e-3 if family.heavy else 2e-3
    else:
        table["integrator"] |= {"rtol": 1e-6, "atol": 1e-8}


# The task.


def task(rng: RNG, family: Family, here: Given, law: str) -> list[Table]:
    """Draw servo constraints that the law understands."""
    if law == "none":
        return []
    if law == "swarm":
        return [{"kind": "aggregation", "attraction": 0.5, "repulsion": 0.3}]
    if law == "thrust_vectoring":
        return [_point(rng, family, here, "xyz")]
    names = list(here.angles)
    if law == "inversion":
        joint = list(here.angles)[-1]
        return [{"kind": "joint_follows", "joints": [joint], "path": path(rng, [0.0])}]
    if law in ("joint_space", "switching", "regulator", "planned"):
        resting = here.robot.nu < here.robot.nv
        at = path(rng, list(here.angles.values()))
        upright = {"cart": [0.0, "pi"], "arm": [0.0, "pi"]}.get(names[0], ["pi", 0.0])
        still = {"kind": "constant", "value": upright}
        return [{"kind": "joint_follows", "joints": names, "path": still if resting else at}]
    if law in ("task_space", "elastic") and family.frame:
        return [_point(rng, family, here, family.axes)]
    blocks = [_block(rng, family, here)]
    if rng.random() < 0.3:
        blocks.append({**_joint_row(rng, here), "name": "second"})
    return blocks


def _block(rng: RNG, family: Family, here: Given) -> Table:
    """Draw one servo constraint."""
    if not family.frame:
        return _joint_row(rng, here)
    kinds = ["point", "point", "rows", "com", "distance", "surface"]
    kinds += ["pose", "turn", "relative"] if family.turns else []
    kind, frame = str(rng.choice(kinds)), family.frame
    at = here.place(frame)
    if kind == "point":
        return _point(rng, family, here, family.axes)
    if kind == "rows":
        return _joint_row(rng, here)
    if kind == "com":
        com = np.round(here.snapshot().com().position, 4).tolist()
        chosen = family.axes[:2]
        return {
            "kind": "com_follows", "axes": chosen,
            "path": path(rng, [com["xyz".index(axis)] for axis in chosen]),
        }  # fmt: skip
    if kind == "distance":
        far = round(float(np.linalg.norm(at)), 4)
        return {"kind": "distance", "frames": ["world", frame], "path": path(rng, [far])}
    if kind == "surface":
        x, y, z = at
        text = f"(x - {x - 0.3})**2 + (y - {y})**2 + (z - {z})**2 - 0.09 - 0.01*sin(t)"
        return {"kind": "on_surface", "frame": frame, "surface": text}
    if kind == "turn":
        return {"kind": "orientation_follows", "frame": frame, "path": turn(rng)}
    if kind == "relative":
        return {
            "kind": "relative_pose_follows", "frames": ["world", frame], "path": path(rng, at),
            "orientation": turn(rng),
        }  # fmt: skip
    return {"kind": "pose_follows", "frame": frame, "path": path(rng, at), "orientation": turn(rng)}


def _point(rng: RNG, family: Family, here: Given, axes: str) -> Table:
    at = here.place(family.frame)
    chosen = [at["xyz".index(axis)] for axis in axes]
    return {"kind": "point_follows", "frame": family.frame, "axes": axes, "path": path(rng, chosen)}


def _joint_row(rng: RNG, here: Given) -> Table:
    """Draw a constraint of joints."""
    names = list(here.angles)
    joint, other = names[0], names[-1]
    kinds = ["follows", "velocity", "phi", "psi", "energy"] + ["gear"] * (joint != other)
    kind = str(rng.choice(kinds))
    if kind == "follows":
        chosen = names[: int(rng.integers(1, len(names) + 1))]
        at = [here.angles[name] for name in chosen]
        return {"kind": "joint_follows", "joints": chosen, "path": path(rng, at)}
    if kind == "gear":
        return {"kind": "gear", "joints": [joint, other], "ratio": 2.0}
    if kind == "velocity":
        factors = {name: 1.0 + 0.5 * k for k, name in enumerate(names[:3])}
        return {"kind": "linear_velocity", "coefficients": factors, "path": path(rng, [0.1])}
    if kind == "energy":
        return {"kind": "energy", "path": path(rng, [1.0])}
    text = {
        "phi": f"{joint} + 0.3*sin({joint}) - 0.1*t",
        "psi": f"v.{joint}*(1 + {joint}**2) - 0.1",
    }
    return {"kind": "expression", "name": "row", kind: text[kind]}


# The law.


def servo(rng: RNG, here: Given) -> Table:
    """Draw a feedback, an allocation, and what is done with the freedom that is left."""
    law = {"kind": "servo", "feedback": feedback(rng), "allocation": allocation(rng, here)}
    if rng.random() < 0.2:
        kind = ("momentum_observer", "acceleration_observer")[int(rng.integers(2))]
        law["disturbance"] = {"kind": kind, "bandwidth": 50.0}
    return law


def feedback(rng: RNG) -> Table:
    """Draw a feedback."""
    odd = ("tanh", "arctan", "sinh")[int(rng.integers(3))]
    function: Table = {"kind": odd, "width": 0.4}
    if rng.random() < 0.2:
        function = {"kind": "power", "exponent": 3.0}
    return _one(
        rng,
        {"kind": "exact"},
        {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0},
        {"kind": "baumgarte", "alpha": 5.0, "beta": 400.0},
        {"kind": "pid", "kp": 300.0, "ki": 1000.0, "kd": 30.0},
        {"kind": "first_order", "kappa": 10.0},
        {"kind": "integral_sliding", "alpha": 20.0, "beta": 100.0, "rate": 50.0, "push": 10.0},
        {"kind": "lyapunov", "kappa": 10.0, "rate": 20.0, "tube": 0.1},
        {"kind": "chen_robust", "kappa": 10.0, "rate": 20.0, "rho": [4.0, 1.0], "epsilon": 0.05},
        {
            "kind": "adaptive_robust", "kappa": 10.0, "rate": 20.0, "growth": 30.0, "leak": 10.0,
            "epsilon": 0.05, "profile": [1.0, 2.0, 1.0],
        },
        {
            "kind": "sliding", "alpha": 20.0, "beta": 100.0, "rate": 20.0, "box": 0.002,
            "uncertainty": 4.0, "mismatch": 0.3, "function": function,
        },
    )  # fmt: skip


def allocation(rng: RNG, here: Given) -> Table:
    """Draw an allocation."""
    if here.table == "coordinated_arms_grip" and rng.random() < 0.3:
        force = {"kind": "internal_force", "rows": "grip.x", "value": 10.0}
        return {"kind": "least_norm", "null_space": force}
    metric = str(rng.choice(["effort", "gauss", "resolved_acceleration", "limits"]))
    chosen = _one(
        rng,
        {"kind": "least_norm", "metric": metric},
        {"kind": "least_norm", "metric": metric},
        {"kind": "least_norm", "on_infeasible": "least_squares"},
        {"kind": "least_norm", "coupling": "frozen"},
        {"kind": "least_norm", "coupling": "stacked"},
        {"kind": "chen"},
        {"kind": "damped", "near": 0.3, "metric": metric},
        {"kind": "bounded", "on_limit": str(rng.choice(["scale", "relax"]))},
        {"kind": "prioritized", "metric": metric if metric != "limits" else "effort"},
    )
    if rng.random() < OFTEN and "coupling" not in chosen:
        chosen["null_space"] = null_space(rng)
    return chosen


def null_space(rng: RNG) -> Table:
    """Draw what is done where rows leave freedom."""
    return _one(
        rng, {"kind": "posture", "kp": 20.0, "kd": 5.0}, {"kind": "damping", "gain": 2.0},
        {"kind": "damping", "gain": 2.0, "gravity": True}, {"kind": "self_motion", "kd": 5.0},
    )  # fmt: skip


def joint_space(rng: RNG, here: Given) -> Table:
    """Draw a baseline that moves joints."""
    return _one(
        rng,
        {"kind": "computed_torque", "kp": 100.0, "kd": 20.0},
        {"kind": "pd_gravity", "kp": 100.0, "kd": 10.0},
        {"kind": "pid", "kp": 100.0, "ki": 200.0, "kd": 10.0},
        {"kind": "slotine_li", "kappa": 10.0, "kd": 10.0},
        {"use": "slotine-li-adaptive"},
        {"use": "time-delay"},
    )


def task_space(rng: RNG, here: Given) -> Table:
    """Draw a baseline that moves a frame."""
    return _one(
        rng,
        {"kind": "operational_space", "kp": 100.0, "kd": 20.0},
        {"use": "operational-space"},
        {"kind": "resolved_acceleration", "kp": 100.0, "kd": 20.0},
        {"use": "resolved-acceleration"},
    )


def regulator(rng: RNG, here: Given) -> Table:
    """Draw a linear law."""
    names = ["lqr", "lqi", "pole-placement", "mpc"]
    return {"use": str(rng.choice(names)), "follow": str(rng.choice(["task", "equilibrium"]))}


def switching(rng: RNG, here: Given) -> Table:
    """Draw a law that pumps, and one that catches."""
    catch: Table = {"kind": "lqr", "Q": {"q": 10.0, "v": 1.0}, "R": 0.1}
    modes = [
        {"name": "pump", "law": {"use": "swing-up", "alpha": 0.8, "beta": 6.0, "margin": 1.2}},
        {"name": "catch", "law": catch, "enter": 1.0, "leave": 10.0},
    ]
    return {"kind": "switching", "modes": modes}


def elastic(rng: RNG, here: Given) -> Table:
    """Draw a law through elastic joints."""
    names = ["linearisation", "cascade", "singular-perturbation", "integral-manifold", "tracking"]
    return {"use": f"elastic-{rng.choice(names)}"}


def planned(rng: RNG, here: Given) -> Table:
    """Draw a law along a motion that is worked out before the run."""
    return {"use": str(rng.choice(["feedforward", "tvlqr", "mpc-along"]))}


def inversion(rng: RNG, here: Given) -> Table:
    """Draw the law for rows of any relative degree."""
    return {"use": "io-linearisation"}


def thrust_vectoring(rng: RNG, here: Given) -> Table:
    """Draw the law of a body that tilts to go sideways."""
    kinds = ({"kind": "bounded", "on_limit": "relax"}, {"kind": "least_norm"})
    return {"use": "thrust-vectoring", "allocation": kinds[int(rng.integers(2))]}


def swarm(rng: RNG, here: Given) -> Table:
    """Draw a law for rows of velocities."""
    return {"kind": "servo", "feedback": feedback(rng), "allocation": {"kind": "least_norm"}}


LAWS: dict[str, Callable[[RNG, Given], Table]] = {
    "servo": servo, "joint_space": joint_space, "task_space": task_space, "regulator": regulator,
    "switching": switching, "elastic": elastic, "thrust_vectoring": thrust_vectoring,
    "swarm": swarm, "planned": planned, "inversion": inversion,
}  # fmt: skip


# What must never happen.


def keep(rng: RNG, family: Family, here: Given) -> Table:
    """Draw a limit that is near where the robot starts."""
    limits: list[Table] = []
    if here.angles:
        joint, at = next(iter(here.angles.items()))
        near = {"lower": {joint: at - 0.01}, "upper": {joint: at + 0.05}}
        brakes = {"deceleration": 50.0, "joints": [joint], "speed": 2.0}
        limits += [{"kind": "joint_limits"} | near | brakes]
        limits += [{"kind": "expression", "name": "slow", "h": f"0.2 - v.{joint}"}]
    if family.frame:
        x, y, z = here.place(family.frame)
        there: Table = {"frame": family.frame, "center": [x + 0.1, y, z]}
        limits += [
            {"kind": "half_space", "frame": family.frame, "point": [x - 0.01, y, z],
             "normal": [1.0, 0.2, 0.0]},
            {"kind": "sphere", **there, "radius": 0.09},
            {"kind": "cylinder", **there, "axis": [0.0, 0.3, 1.0], "radius": 0.09},
            {"kind": "box", **there, "size": [0.22, 0.4, 0.4], "rpy": [0.1, 0.0, 0.2]},
            {"kind": "distance", "frames": ["world", family.frame],
             "at_most": round(float(np.hypot(x, np.hypot(y, z))) + 0.01, 4)},
            {"kind": "clearance", "at_least": 0.01, "capsules": [
                {"frame": family.frame, "end": [0.0, 0.0, 0.05], "radius": 0.02},
                {"frame": "world", "start": [x + 0.1, y, z], "radius": 0.06},
            ]},
            {"kind": "manipulability", "frame": family.frame, "axes": list(family.axes),
             "at_least": 1e-3},
        ]  # fmt: skip
    if family.turns:
        limits += [{"kind": "tilt", "frame": family.frame, "at_most": 2.9}]
    return _one(rng, *limits) if limits else {"kind": "expression", "name": "time", "h": "1 - t"}


# The bench.


def observer(rng: RNG) -> Table:
    """Draw what estimates the state."""
    noise = {"acceleration_std": 1.0, "std": 1e-4, "v_std": 1e-2, "start_std": 1e-3}
    return _one(
        rng,
        {"kind": "differences", "cutoff": 100.0},
        {"kind": "luenberger", "bandwidth": 100.0},
        {"kind": "kalman", **noise},
        {"kind": "ekf", **noise},
        {"kind": "ukf", **noise},
    )


def effects(rng: RNG, family: Family, here: Given, period: float | None) -> list[Table]:
    """Draw effects, of which those that need ticks only where there are some."""
    joint = next(iter(here.angles), "")
    always: list[Table] = [
        {"kind": "saturation", "limit": 5.0},
        {"kind": "dead_zone", "width": 0.2},
        {"kind": "bias", "offset": 1e-3, "v_offset": 1e-3},
        {"kind": "mismatch", "mass": 0.1, "com": 0.01},
        {"kind": "friction", "coulomb": 0.3, "static": 0.5, "viscous": 0.2},
    ]
    if joint:
        always += [
            {"kind": "push", "joint": joint, "effort": 2.0, "start": 0.004, "duration": 0.006},
            {"kind": "disturbance", "joint": joint, "effort": 1.0, "frequency": 30.0},
        ]
    if family.frame:
        always += [
            {"kind": "payload", "frame": family.frame, "mass": 0.4, "start": 0.003},
            {
                "kind": "push", "frame": family.frame, "force": [2.0, 0.0, 1.0], "start": 0.002,
                "duration": 0.01, "shape": "half_sine",
            },
        ]  # fmt: skip
    ticking: list[Table] = [
        {"kind": "noise", "std": 1e-5, "v_std": 1e-4},
        {"kind": "quantisation", "step": 1e-4},
        {"kind": "encoder_play", "gap": 1e-4},
        {"kind": "differentiation", "cutoff": 100.0},
        {"kind": "measurement_delay", "ticks": 1},
        {"kind": "input_delay", "ticks": 2},
        {"kind": "rate_limit", "rate": 200.0},
        {"kind": "jitter", "bound": 2e-4},
        {"kind": "missed_ticks", "probability": 0.3},
    ]
    if here.table == "panda_elastic":
        always.append({"kind": "backlash", "gap": 1e-3})
    every = [*always, *ticking] if period else always
    count = int(rng.integers(0, 4)) if rng.random() < OFTEN else 0
    order = rng.permutation(len(every))[:count]
    return [every[k] for k in sorted(order.tolist())]


def _one(rng: RNG, *tables: Table) -> Table:
    return dict(tables[int(rng.integers(len(tables)))])
