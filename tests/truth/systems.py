"""Random systems: trees, floating bases, linkages, closures, doubled ones, motors of all counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ukctrl import Robot
from ukctrl.core.errors import ConflictingConstraints
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.robot import Options

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

KINDS = (
    "tree",
    "floating base",
    "closure",
    "doubled closure",
    "planar linkage",
    "redundant motors",
    "missing motors",
    "weak grip",
    "nearly singular",
)
PLAIN = StabilisationGains(alpha=0.0, beta=0.0)
"""Rows as physics has them, without stabilisation."""
TRIES = 20


class System(NamedTuple):
    """A robot at a state, an input, and what is asked of it."""

    kind: str
    dynamics: Dynamics
    """Moved to the state."""
    u: Vector
    """Some input."""
    A: Matrix
    """Servo rows, shape ``(m, nv)``."""
    b: Vector
    u0: Vector
    """Null-space input."""
    weights: Vector
    """Diagonal of the input metric."""
    refused: tuple[float, ...] = ()
    """Of the states before this one whose passive rows were called contradictory, their smallest
    singular value."""


def draw(number: int, seed: int) -> System:
    """Return a system; the same for the same numbers, and independent of all others."""
    kind, refused = KINDS[number % len(KINDS)], []
    for attempt in range(TRIES):
        rng = np.random.default_rng((seed, number, attempt))
        system = _system(kind, rng)
        if isinstance(system, System):
            return system._replace(refused=tuple(refused))
        if system is not None:
            refused.append(system)
    raise RuntimeError(f"{kind} {number} of seed {seed} cannot be drawn: {refused}")


def _system(kind: str, rng: np.random.Generator) -> System | float | None:
    """Return a system; None: there is nothing to ask.

    Where the rows are called contradictory, which they are not, return their smallest singular
    value.
    """
    planar = kind in ("planar linkage", "nearly singular")
    floating = kind == "floating base"
    closures = {
        "closure": 1, "doubled closure": 2, "planar linkage": 1, "nearly singular": 1
    }.get(kind, int(rng.integers(0, 2)))  # fmt: skip
    links = 3 if kind == "nearly singular" else int(rng.integers(2, 5 if floating else 7))
    links = max(links, 4) if closures and not planar else links
    text = _urdf(rng, links, planar)
    bare = Robot.build(text, Options(floating_base=floating))
    q = bare.random(rng)
    if kind == "nearly singular":
        q[:] = [q[0], 10.0 ** -rng.uniform(0.0, 9.0), 10.0 ** -rng.uniform(0.0, 9.0)]
    frames, passive = [], []
    for k in range(closures and 1 + (kind == "closure" and rng.random() < 0.3)):
        pair, closure = _closure(rng, bare, q, f"loop{k}", links, planar, kind)
        frames += pair
        passive.append(closure)
    if kind == "doubled closure":
        passive.append({**passive[0], "name": "again"})
    options = Options(
        floating_base=floating,
        frame=tuple(frames),
        passive=tuple(passive),
        actuator=tuple(_motors(rng, kind, bare, links)),
    )
    robot = Robot.build(text, options)
    dynamics = Dynamics(robot, gains=PLAIN)
    v = rng.standard_normal(robot.nv)
    A_p = dynamics.look(0.0, q, v).A.copy()
    v -= np.linalg.pinv(A_p, rcond=1e-9) @ (A_p @ v)
    try:
        dynamics.move(0.0, q, v)
    except ConflictingConstraints:
        return _weakest(dynamics)
    return _asked(kind, rng, dynamics, links)


def _weakest(dynamics: Dynamics) -> float:
    """Return the smallest singular value of the passive rows, of those that are not rounding."""
    rows = np.linalg.solve(np.linalg.cholesky(dynamics.snapshot.M), dynamics.passive.rows.A.T).T
    length = np.linalg.norm(rows, axis=1)
    heard = length > 1e-11 * length.max()
    sigma = np.linalg.svd(rows[heard] / length[heard, None], compute_uv=False)
    return float(sigma[sigma > 1e-11].min())


def _asked(kind: str, rng: np.random.Generator, dynamics: Dynamics, links: int) -> System | None:
    s, nv, nu = dynamics.snapshot, dynamics.robot.nv, dynamics.robot.nu
    reach = int(
        np.linalg.matrix_rank(dynamics.G, tol=1e-6 * np.abs(dynamics.G).max(initial=1e-300))
    )
    most = reach + (kind == "missing motors" and rng.random() < 0.5)
    count = int(rng.integers(1, max(most, 1) + 1))
    rows = [s.frame(f"link{links}").J[rng.permutation(6)], np.eye(nv)[rng.permutation(nv)]]
    A = np.vstack(rows if rng.random() < 0.5 else rows[::-1])[:count].copy()
    if rng.random() < 0.5:
        A = rng.standard_normal((count, len(A))) @ A
    A = A[np.linalg.norm(A, axis=1) > 1e-9]  # such as a height, of a planar linkage
    if not len(A):
        return None
    count = len(A)
    A *= 10.0 ** rng.uniform(-3.0, 3.0, (count, 1))
    if kind == "weak grip":
        without = np.linalg.svd(dynamics.G)[0][:, reach:]
        if not without.shape[1] or not reach:
            return None
        leak = 10.0 ** -rng.uniform(1.0, 16.0)
        blind = without @ rng.standard_normal(without.shape[1])
        other = rng.standard_normal(nv)
        A[-1] = blind / np.linalg.norm(blind) + leak * other / np.linalg.norm(other)
    b = 10.0 ** rng.uniform(-2.0, 2.0) * np.linalg.norm(A, axis=1) * rng.standard_normal(len(A))
    plain = rng.random() < 0.5
    return System(
        kind,
        dynamics,
        rng.standard_normal(nu),
        A,
        b,
        np.zeros(nu) if plain else rng.standard_normal(nu),
        np.ones(nu) if plain else 10.0 ** rng.uniform(-2.0, 2.0, nu),
    )


def _urdf(rng: np.random.Generator, links: int, planar: bool) -> str:
    """Return a chain or a tree of links; a planar one lies in the plane of x and y."""
    parts = ['<robot name="random">', _link(rng, 0)]
    for i in range(1, links + 1):
        parent = i - 1 if planar or rng.random() < 0.6 else int(rng.integers(0, i))
        axis = np.array([0.0, 0.0, 1.0]) if planar else rng.standard_normal(3)
        at = rng.uniform(-0.4, 0.4, 3) * (np.array([1.0, 1.0, 0.0]) if planar else 1.0)
        at = np.array([0.4, 0.0, 0.0]) if planar and links == 3 else at
        turn = np.zeros(3) if planar else rng.uniform(-3.0, 3.0, 3)
        kind = "revolute" if planar or rng.random() < 0.8 else "prismatic"
        parts.append(_link(rng, i))
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="link{parent}"/>'
            f'<child link="link{i}"/><origin xyz="{_text(at)}" rpy="{_text(turn)}"/>'
            f'<axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-3" upper="3" effort="1000" velocity="100"/></joint>'
        )
    return "".join((*parts, "</robot>"))


def _link(rng: np.random.Generator, i: int) -> str:
    mass = 10.0 ** rng.uniform(-2.0, 2.0)
    spread = 0.15 * rng.standard_normal((3, 5))  # of five equal masses
    second = mass / 5.0 * spread @ spread.T
    inertia = np.trace(second) * np.eye(3) - second
    keys, values = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia[np.triu_indices(3)]
    words = " ".join(f'{key}="{value!r}"' for key, value in zip(keys, values.tolist(), strict=True))
    return (
        f'<link name="link{i}"><inertial><origin xyz="{_text(rng.uniform(-0.3, 0.3, 3))}"/>'
        f'<mass value="{mass!r}"/><inertia {words}/></inertial></link>'
    )


def _text(values: Vector) -> str:
    return " ".join(repr(float(value)) for value in values)


def _closure(
    rng: np.random.Generator,
    bare: Robot,
    q: Vector,
    name: str,
    links: int,
    planar: bool,
    kind: str,
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return two frames that coincide at ``q``, and what holds them together."""
    one = f"link{links}"
    other = "link0" if planar else f"link{int(rng.integers(0, links - 1))}"
    s = bare.snapshot(q)
    first, second = s.frame(one), s.frame(other)
    at = np.array([0.4, 0.0, 0.0]) if planar else rng.uniform(-0.4, 0.4, 3)
    place = first.position + first.rotation @ at
    spin = Rotation.from_euler("z", rng.uniform(-3.0, 3.0))
    turned = Rotation.from_matrix(second.rotation.T @ first.rotation) * spin
    frames: list[dict[str, object]] = [
        {"name": f"{name}_a", "parent": one, "position": tuple(at.tolist())},
        {
            "name": f"{name}_b",
            "parent": other,
            "position": tuple((second.rotation.T @ (place - second.position)).tolist()),
            "rpy": tuple(turned.as_euler("xyz").tolist()),
        },
    ]
    types = ["planar_point", "point", "revolute"] if planar else ["point", "point", "planar_point"]
    held = "planar_point" if kind == "nearly singular" else str(rng.choice(types))
    return frames, {
        "kind": "closure", "name": name, "frames": (f"{name}_a", f"{name}_b"), "type": held
    }  # fmt: skip


def _motors(
    rng: np.random.Generator, kind: str, bare: Robot, links: int
) -> list[dict[str, object]]:
    """Return motors of joints, some with others beside them, and thrusters on links."""
    every = list(range(1, links + 1))
    if kind in ("missing motors", "weak grip"):
        every = sorted(rng.permutation(every)[: max(1, links - int(rng.integers(1, 3)))].tolist())
    motors: list[dict[str, object]] = [
        {"kind": "joint", "joint": f"joint{i}", "gear": _gear(rng)} for i in every
    ]
    more = 0
    if kind == "redundant motors":
        more = int(rng.integers(1, 4))
    elif kind == "floating base":
        more = int(rng.integers(0, 7))
    for k in range(more):
        if rng.random() < 0.5 and kind == "redundant motors":
            joint = f"joint{int(rng.integers(1, links + 1))}"
            motors.append({"kind": "joint", "joint": joint, "gear": _gear(rng), "name": f"more{k}"})
        else:
            motors.append(
                {
                    "kind": "wrench",
                    "name": f"thrust{k}",
                    "frame": f"link{int(rng.integers(0 if bare.nv > links else 1, links + 1))}",
                    "force": tuple(rng.standard_normal(3).tolist()),
                }
            )
    return motors


def _gear(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 2.0))
