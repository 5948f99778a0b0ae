"""Sweep the motors' grip of a row from 1e-1 to 1e-16 on four robots, and fill in `grip.md`.

python docs/reference/grip_table.py            # run the sweep; write the tables and the figure
python docs/reference/grip_table.py --check    # compare the tables; exit 1 if stale
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ukctrl import InfeasibleConstraint, Scenario, check, judge, plot, simulate, uk

PAGE = Path(__file__).with_name("grip.md")
FIGURE = PAGE.parent / "figures" / "grip.png"
SPEAKERS = ("arrays", "check", "run", "page")
WORDS = {"arrays": "uk.input_authority"}
LOUDNESS = {
    **dict.fromkeys(("held", "ready", "good", "note"), 0),
    **dict.fromkeys(("weak", "warnings", "warning"), 1),
    **dict.fromkeys(("not ready",), 2),
    **dict.fromkeys(("lost", "bad", "infeasible"), 3),
    **dict.fromkeys(("completed", "diverged"), 0),
}
"""How loud each word is: nothing, a warning, a problem, a refusal. Of a run that ends, its page
warns."""
LEAKS = tuple(10.0**-k for k in range(1, 17))
"""Of what a motor could do to a row, what it does."""


class Leaking(NamedTuple):
    """A robot whose motors' grip of a row is as large as a leak, and the row."""

    title: str
    model: str
    """A `[lagrangian]` table, with a place for the leak."""
    phi: tuple[str, ...]
    """What the servo rows hold at zero."""
    M: str
    B: str
    A: str
    """Mass, actuation and rows as arrays, for the functions on plain arrays."""
    A_p: str = ""


ROBOTS = {
    "leak": Leaking(
        "a motor pushes one mass and, by a leak, another",
        'coordinates = { x1 = "m", x2 = "m" }\nkinetic = "v.x1**2/2 + v.x2**2"\n'
        "inputs = { F = { x1 = 1.0, x2 = LEAK } }",
        ("x2 - 0.05*t**2",),
        "[[1, 0], [0, 2]]",
        "[[1], [LEAK]]",
        "[[0, 1]]",
    ),
    "rigid": Leaking(
        "a motor pushes a linkage that closures hold rigid and, by a leak, a slider",
        'coordinates = { a = "rad", b = "rad", s = "m" }\n'
        'kinetic = "v.a**2/2 + v.b**2/2 + 0.3*v.a*v.b + v.s**2/2"\n'
        "inputs = { T = { a = 1.0, s = LEAK } }\n[[passive]]\n"
        'kind = "expression"\nname = "one"\nphi = "a - b"\n[[passive]]\n'
        'kind = "expression"\nname = "two"\nphi = "a + b"',
        ("s + 0.2*a - 0.05*t**2",),
        "[[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1]]",
        "[[1], [0], [LEAK]]",
        "[[0.2, 0, 1]]",
        "[[1, -1, 0], [1, 1, 0]]",
    ),
    "alike": Leaking(
        "two motors push two masses alike but for a leak",
        'coordinates = { x1 = "m", x2 = "m" }\nkinetic = "v.x1**2/2 + v.x2**2/2"\n'
        "inputs = { F1 = { x1 = 1.0, x2 = 1.0 }, F2 = { x1 = 1.0, x2 = MORE } }",
        ("x1 - 0.05*t**2", "x2 + 0.05*t**2"),
        "[[1, 0], [0, 1]]",
        "[[1, 1], [1, 1 + LEAK]]",
        "[[1, 0], [0, 1]]",
    ),
    "coupled": Leaking(
        "a motor on 2 g moves 1 t by an inertia that couples them",
        'coordinates = { x1 = "m", x2 = "m" }\n'
        'kinetic = "2e-3*v.x1**2/2 + 1e3*v.x2**2/2 + LEAK*v.x1*v.x2"\n'
        "inputs = { F = { x1 = 1.0 } }",
        ("x2 - 0.05*t**2",),
        "[[2e-3, LEAK], [LEAK, 1e3]]",
        "[[1], [0]]",
        "[[0, 1]]",
    ),
}


class Said(NamedTuple):
    """What is said of one robot at one leak."""

    grip: float
    arrays: str
    """By `uk.input_authority`: held, weak or lost."""
    input: float
    """The size of the input of `uk.servo_input`; NaN where it refuses."""
    check: str
    """By `check`: ready, warnings or not ready."""
    run: str
    """The status of a run."""
    page: str
    """The level of the verdict on grip of its page; `bad` where there is none but the end."""


def said(robot: Leaking, leak: float) -> Said:
    """Return what all say of a robot at a leak."""
    texts = (robot.M, robot.B, robot.A, robot.A_p)
    M, B, A, *A_p = (_numbers(text, leak) for text in texts if text)
    passive = (A_p[0], np.zeros(len(A_p[0]))) if A_p else (None, None)
    answer = uk.affine_acceleration(M, np.zeros(len(M)), B, *passive)
    grip = uk.input_authority(A, answer.G, M, B)
    b = 0.1 * (-1.0) ** np.arange(len(A))
    try:
        u = float(np.abs(uk.servo_input(A, b, answer.a_free, answer.G, M=M, B=B)).max())
    except InfeasibleConstraint:
        u = np.nan
    with tempfile.TemporaryDirectory() as folder:
        scenario = _scenario(robot, leak, Path(folder))
        found, result = check(scenario), simulate(scenario)
    level = {verdict.subject: verdict.level for verdict in judge(result)}.get("grip", "bad")
    return Said(grip.weakest, grip.level, u, found.verdict, result.status, level)


def _numbers(text: str, leak: float) -> np.ndarray:
    rows = re.findall(r"\[([^\[\]]+)\]", text.replace("LEAK", repr(leak)))
    return np.array([[_sum(entry) for entry in row.split(",")] for row in rows])


def _sum(text: str) -> float:
    return sum(float(part) for part in text.split(" + "))


def _scenario(robot: Leaking, leak: float, folder: Path) -> Scenario:
    model = robot.model.replace("LEAK", repr(leak)).replace("MORE", repr(1.0 + leak))
    head, *passive = model.split("[[passive]]", 1)
    text = f'title = "{robot.title}"\n[lagrangian]\n{head}\n' + "".join(
        f"[[passive]]{part}\n" for part in passive
    )
    (folder / "robot.toml").write_text(text, encoding="utf-8")
    rows = "".join(
        f'[[servo]]\nkind = "expression"\nname = "row{i}"\nphi = "{phi}"\n'
        for i, phi in enumerate(robot.phi)
    )
    path = folder / "sweep.toml"
    path.write_text(
        f'title = "sweep"\nrobot = "./robot.toml"\n{rows}[controller]\nuse = "servo-baumgarte"\n'
        "[timing]\nduration = 0.02\nsample = 0.01\n",
        encoding="utf-8",
    )
    return Scenario.load(path)


def table(every: dict[float, Said]) -> str:
    """Return what is said of one robot, as a table; what rounding decides stays out of it."""
    lines = [
        "| leak | grip | input | `uk.input_authority` | `check` | run | its page on grip |",
        "|---|---|---|---|---|---|---|",
    ]
    for leak, one in every.items():
        lost = one.arrays == "lost"
        numbers = ("-", "refused") if lost else (f"{one.grip:.1e}", f"{one.input:.0e}")
        page = "-" if one.page == "bad" else one.page
        cells = (f"{leak:.0e}", *numbers, one.arrays, one.check, one.run, page)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(sweeps: dict[str, dict[float, Said]]) -> Figure:
    """Draw what the rows cost, and how loud everybody is, over the leak."""
    style = plot.style
    with style.look():
        drawn = Figure(figsize=(8.0, 6.4), layout="constrained")
        above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(1.0, 1.3))
        decades = np.arange(1, len(LEAKS) + 1)
        for name, every in sweeps.items():
            above.semilogy(decades, [one.input for one in every.values()], "o-", label=name)
        above.set(ylabel="input for 0.1 m/s² [N, N m]", title="what a row costs")
        above.legend()
        powers = np.arange(0, 8, 2)
        above.set_yticks(10.0**powers, [f"1e{k}" for k in powers.tolist()])
        above.minorticks_off()
        names = [(robot, speaker) for robot in sweeps for speaker in SPEAKERS]
        loud = [
            [LOUDNESS[getattr(one, speaker)] for one in sweeps[robot].values()]
            for robot, speaker in names
        ]
        colours = ListedColormap(["#dfe9df", "#f2c14e", "#e07a3f", "#8f2d2d"])
        below.pcolormesh(
            np.arange(0.5, len(LEAKS) + 1.0),
            np.arange(len(names) + 1),
            loud,
            cmap=colours,
            vmin=-0.5,
            vmax=3.5,
            edgecolors="white",
            linewidth=0.5,
        )
        labels = [f"{robot}: {WORDS.get(speaker, speaker)}" for robot, speaker in names]
        below.set_yticks(np.arange(len(names)) + 0.5, labels, fontsize=7)
        below.invert_yaxis()
        below.set_xticks(decades, [f"1e-{k}" for k in decades], fontsize=7)
        below.set(xlabel="leak", title="nothing, warning, problem, refused")
    return drawn


def written(sweeps: dict[str, dict[float, Said]]) -> str:
    """Return the page with its tables."""
    text = PAGE.read_text(encoding="utf-8")
    for name, every in sweeps.items():
        place = re.compile(rf"(?<=<!-- table: {name} -->\n\n)(.*?)(?=\n\n<!-- end -->)", re.DOTALL)
        text = place.sub(lambda _, every=every: table(every), text, count=1)
    return text


def main() -> int:
    """Sweep, and write or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check_only = parser.parse_args().check
    sweeps = {name: {leak: said(robot, leak) for leak in LEAKS} for name, robot in ROBOTS.items()}
    text = written(sweeps)
    if check_only:
        return int(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    FIGURE.parent.mkdir(exist_ok=True)
    FIGURE.write_bytes(plot.style.png(figure(sweeps)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
