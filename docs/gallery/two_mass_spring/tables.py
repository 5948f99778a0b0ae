"""The tables of the page: the closed form beside the runs."""

from __future__ import annotations

from markdown_text import below, minus, table

from ukctrl import Robot, Scenario, papers, simulate

claims = papers.servo.motion_claims
runs = papers.servo.runs

CLOSED_FORM = 1e-11
"""A motion of some m whose polynomial of third degree the integrator meets but for rounding."""
EXACT: dict[str, object] = {}
OFF: dict[str, object] = {"start.q": (0.1, 1.15), "start.v": (0.3, 0.1)}
BACK: dict[str, object] = {**OFF, "controller": {"use": "servo-baumgarte"}}


def comparison() -> str:
    """Return every claim on the two masses."""
    rows = []
    for one in claims.two_mass_claims():
        ours = one.ours
        if isinstance(ours, float) and abs(ours) < 1e-6:
            ours = below(abs(ours), CLOSED_FORM)
        elif isinstance(ours, float):
            ours = minus(f"{ours:.4g}")
        printed = "" if one.printed is None else one.printed
        if isinstance(printed, float):
            printed = minus(f"{printed:g}")
        unit = f" [{one.unit}]" if one.unit else ""
        rows.append([one.where, f"{one.what}{unit}", str(printed), str(ours)])
    return table(["place", "quantity", "paper", "ours"], rows)


def closed_form() -> str:
    """Return how far the motion is from its closed form."""
    robot = Robot.load("two_mass_spring")
    m2, k, length = (robot.parameters[name] for name in ("m2", "k", "l"))
    rows = []
    for words, changes, gap, rate in (
        ("on the constraint", EXACT, 0.0, 0.0),
        ("5 cm off, closing at 0.2 m/s", OFF, 0.05, -0.2),
    ):
        run = runs.masses_run(changes)
        t = run.time
        x, v = run["q"][0, 1], run["v"][0, 1]
        cubic = x + v * t - k / m2 * ((length + gap) * t**2 / 2.0 + rate * t**3 / 6.0)
        apart = float(abs(run["phi"][:, 0] - gap - rate * t).max())
        far = float(abs(run["q"][:, 1] - cubic).max())
        rows.append([words, below(apart, CLOSED_FORM), below(far, CLOSED_FORM)])
    return table(["start", "gap to its straight line [m]", "x2 to its polynomial [m]"], rows)


def refusal() -> str:
    """Return what a run of the far mass says."""
    run = simulate(Scenario.load("two-mass-spring-far"))
    return f"{run.status}: {run.message}"


TABLES = {"comparison": comparison, "closed-form": closed_form}
FACTS = {"refusal": refusal}
