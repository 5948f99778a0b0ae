"""The tables of the page, made of what `study.py` has stored."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import survey_tables
from cases import CASES
from markdown_text import power, table
from study import Record, chatters, load, trembles
from verdicts import THREE_POLES, TWO_POLES, decide, span

from findings import findings
from ukctrl import Loop, Scenario, designed, errors

ROUNDING = 1e-7
"""Errors below this are not worth a digit [m, rad]."""


@functools.cache
def stored() -> dict[str, Record]:
    """Return every comparison by name."""
    return load()


def laws(case: str) -> list[str]:
    """Return the controllers of a comparison, in order."""
    return list(stored()[case]["entries"])


TOOL, ALL = "rms_phi.tool", "rms_phi"
MM = 1e3


def number(value: float | None, scale: float = 1.0) -> str:
    """Return a number with two digits, or a bound where it is rounding."""
    if value is None:
        return "—"
    if abs(value) < ROUNDING:
        return "rounding"
    scaled = scale * value
    if abs(scaled) >= 1e5:
        return power(scaled, 1)
    return _digits(scaled)


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.2g}"


def cell(case: str, law: str, metric: str, scale: float = 1.0) -> str:
    """Return a metric of a law: with its interval over repeats, bold where it is best."""
    record = stored()[case]
    entry = record["entries"].get(law)
    if entry is None:
        return ""
    if entry["status"] != "completed" or entry["completed"] < record["repeats"]:
        return _ended(entry, record["repeats"])
    if chatters(entry):
        return "chatters"
    text = number(entry["metrics"][metric], scale)
    if metric in (TOOL, ALL) and trembles(record, law):
        text = f"{float(format(scale * entry['metrics'][metric], '.1g')):g}"
    spread = entry.get("statistics", {}).get(metric)
    if spread is not None:
        half = scale * (spread["high"] - spread["low"]) / 2.0
        text += f" ± {half:.0f}" if half >= 1.0 else f" ± {half:.1g}"
    best = record["best"].get(metric) or []
    return f"**{text}**" if law in best else text


def _ended(entry: Record, repeats: int) -> str:
    if repeats > 1:
        return f"{entry['completed']} of {repeats} completed"
    at = f" at {entry['reached']:.2g} s" if entry["status"] != "infeasible" else ""
    return f"{entry['status']}{at}"


Column = tuple[str, str, str, float]
"""Heading, comparison, metric, scale."""


def grid(rows: Sequence[str], columns: Sequence[Column], head: str = "law") -> str:
    """Return a table of laws against metrics of comparisons."""
    body = [
        [f"`{law}`", *(cell(case, law, metric, scale) for _, case, metric, scale in columns)]
        for law in rows
    ]
    return table([head, *(column[0] for column in columns)], body)


def exact() -> str:
    """Return what the laws do when the model is right, and which of them are one."""
    rows = []
    for law in laws("exact-helix"):
        entry = stored()["exact-helix"]["entries"][law]
        apart = None if chatters(entry) else entry["apart"]
        rows.append(
            [
                f"`{law}`",
                cell("exact-helix", law, TOOL, MM),
                number(apart),
                cell("exact-helix", law, "effort"),
                cell("exact-arm", law, ALL, MM),
                cell("exact-arm", law, "effort"),
            ]
        )
    return table(
        [
            "law",
            "helix, from beside it: rms of the tool [mm]",
            "inputs differ from the first law's by at most [N m, N]",
            "effort",
            "UR5, on its path: rms [mm, mrad]",
            "effort ",
        ],
        rows,
    )


def alike() -> str:
    """Return what the laws do when all loops are equally stiff."""
    return grid(
        laws("alike-mass"),
        [
            ("its card: rms [mm]", "mass", TOOL, MM),
            ("300 rad/s: rms [mm]", "alike-mass", TOOL, MM),
            ("with noise: rms [mm]", "alike-noise", TOOL, MM),
            ("travel of the inputs [N m/s]", "alike-noise", "input_travel", 1.0),
            ("UR5 with 2 kg, 150 rad/s: rms [mm, mrad]", "alike-arm", ALL, MM),
        ],
    )


def alike_tuned() -> str:
    """Return the laws tuned within one box of bandwidth and damping."""
    record, body = stored()["alike-tuned"], []
    for law in laws("alike-tuned"):
        gains, ends = record["gains"][law], record["at_border"].get(law, ())
        found = f"{_digits(gains['bandwidth'])}{'†' if 'bandwidth' in ends else ''}"
        cells = [
            cell("alike-tuned", law, metric, scale)
            for metric, scale in ((TOOL, MM), ("input_travel", 1.0))
        ]
        body.append([f"`{law}`", *cells, found])
    return table(["law", "rms [mm]", "travel [N m/s]", "bandwidth [rad/s]"], body)


def four() -> str:
    """Return the four claims of the cards, and what is left of them where loops are alike."""

    def of(case: str, laws: Sequence[str], metric: str = TOOL) -> str:
        return ", ".join(f"`{law}` {cell(case, law, metric, MM).strip('*')}" for law in laws)

    nominal, robust = "servo-baumgarte", ("servo-sliding", "servo-chen-robust")
    return table(
        ["case", "gains of the cards", "loops alike"],
        [
            [
                "30 % too light a model, 1 kHz: rms [mm]",
                of("mass", (nominal, *robust)),
                of("alike-mass", (nominal, "servo-chen-robust", "servo-pid")),
            ],
            [
                "the same with noise: rms [mm]",
                of("noise-given", (nominal, "servo-chen-robust")),
                of("alike-noise", (nominal, "servo-chen-robust", "servo-momentum-observer")),
            ],
            [
                "UR5 with 2 kg untold: rms [mm, mrad]",
                of("arm-payload", (nominal, "slotine-li-adaptive, by joint"), ALL),
                of("alike-arm", (nominal, "servo-pid", "servo-momentum-observer"), ALL),
            ],
            [
                "30 %, noise, 40 simulations of tuning: rms [mm]",
                of("noise-tuned", (nominal, "slotine-li-adaptive")),
                of("alike-tuned", (nominal, "servo-pid", "servo-momentum-observer")),
            ],
        ],
    )


def weak() -> str:
    """Return what weak motors leave of the task."""
    return grid(
        laws("weak"),
        [
            ("rms of the tool [mm]", "weak", TOOL, MM),
            ("peak [mm]", "weak", "peak_phi.tool", MM),
            ("peak of the orientation [mrad]", "weak", "peak_phi.orientation", MM),
        ],
    )


def singular() -> str:
    """Return who passes a singular pose."""
    return grid(
        laws("singular"),
        [
            ("rms of the tool [mm]", "singular", ALL, MM),
            ("peak [mm]", "singular", "peak_phi", MM),
            ("largest input [N m]", "singular", "peak_u", 1.0),
        ],
    )


def redundant() -> str:
    """Return what becomes of the seventh freedom."""
    return grid(
        laws("redundant"),
        [
            ("rms of the pose [m, rad]", "redundant", ALL, 1.0),
            ("effort [(N m)² s]", "redundant", "effort", 1.0),
            ("work [J]", "redundant", "work", 1.0),
            ("largest torque [N m]", "redundant", "peak_u", 1.0),
        ],
    )


def priorities() -> str:
    """Return who gives way in a task that asks for too much."""
    blocks = ("place", "direction", "posture")
    columns = [(f"{one}: rms [m, rad]", "priorities", f"rms_phi.{one}", 1.0) for one in blocks]
    return grid(laws("priorities"), columns)


def elastic() -> str:
    """Return the laws for elastic joints over the stiffness."""
    columns = [
        (f"K times {factor:g}", f"elastic-{factor:g}", ALL, MM) for factor in (0.3, 1, 3, 10)
    ]
    return grid(laws("elastic-1"), columns, "rms of the task [mm, mrad]")


def underactuated() -> str:
    """Return what servo laws refuse, and what does it instead."""
    rows = []
    for case, robot in (
        ("hanging", "cart-pole, hanging"),
        ("leaning", "cart-pole, 10° off the top"),
        ("far", "far mass behind a spring"),
        ("quadrotor", "quadrotor, figure of eight"),
        ("quadruped", "quadruped on four feet"),
    ):
        for law in laws(case):
            entry = stored()[case]["entries"][law]
            done = entry["status"] == "completed"
            error = number(entry["metrics"]["final_phi"]) if done else ""
            rows.append([robot, f"`{law}`", _ended(entry, 1) if not done else "completed", error])
    return table(["robot and task", "law", "ends", "error at the end [m, rad]"], rows)


def closed(case: str) -> Callable[[], str]:
    """Return a table of allocations on a closed chain."""
    return lambda: grid(
        laws(case),
        [
            ("rms of the task [m, rad]", case, ALL, 1.0),
            ("effort", case, "effort", 1.0),
            ("largest input", case, "peak_u", 1.0),
        ],
    )


def carried() -> tuple[str, str]:
    """Return what laws of two poles leave, and laws of three [mm].

    Raises:
        RuntimeError: The sentences about them do not hold.
    """
    two, three = (
        [stored()["alike-mass"]["entries"][law]["metrics"][TOOL] for law in laws]
        for laws in (TWO_POLES, THREE_POLES)
    )
    if not (max(two) < 1.2 * min(two) and 5.0 * max(three) < min(two)):
        raise RuntimeError(f"two poles leave {two}, three {three}: the page says otherwise.")
    return span(two), span(three)


def sliding() -> str:
    """Return the gain that the sliding law asks for where all loops are alike [1/s].

    Raises:
        RuntimeError: It is not refused.
    """
    case = CASES["alike-mass"]
    changes = {**case.changes, "controller": {"use": "servo-sliding"}}
    scenario = Scenario.load(case.scenario, changes)
    assert case.equal is not None  # all loops are alike
    try:
        Loop(scenario.replace(designed(scenario, case.equal).gains))
    except errors.GainError as error:
        needed, came = re.findall(r"([\d.]+) 1/s", str(error))[:2]
        return f"{float(needed):.0f} 1/s where {float(came):.0f}"
    raise RuntimeError("the sliding law is not refused, and the page says so.")


def commands() -> str:
    """Return every comparison for a terminal."""
    lines = []
    for name, case in CASES.items():
        try:
            text = case.command()
        except TypeError:
            text = "(its first law is written in the scenario, and no card)"
        lines.append(f"# {name}\n{text}")
    return "```text\n" + "\n".join(lines) + "\n```"


TABLES = {
    **survey_tables.TABLES,
    "findings": findings,
    "decide": lambda: decide(stored()),
    "exact": exact,
    "alike": alike,
    "alike-tuned": alike_tuned,
    "four": four,
    "weak": weak,
    "singular": singular,
    "redundant": redundant,
    "priorities": priorities,
    "elastic": elastic,
    "underactuated": underactuated,
    "carry": closed("carry"),
    "parallel": closed("parallel"),
    "commands": commands,
}
FACTS = {
    **survey_tables.FACTS,
    "two": lambda: carried()[0],
    "three": lambda: carried()[1],
    "joints": lambda: ", ".join(
        f"`{law}` {cell('alike-mass', law, TOOL, MM).strip('*')}"
        for law in ("slotine-li", "pd-gravity", "pid")
    ),
    "learns": lambda: cell("alike-mass", "slotine-li-adaptive", TOOL, MM).strip("*"),
    "learns-noisy": lambda: cell("alike-noise", "slotine-li-adaptive", TOOL, MM).strip("*"),
    "learns-arm": lambda: cell("alike-arm", "slotine-li-adaptive", ALL, MM).strip("*"),
    "sliding": sliding,
}
