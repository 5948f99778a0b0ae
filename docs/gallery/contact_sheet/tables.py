"""The films of the page: every scenario of the catalogue, by subject, and where there is more."""

from __future__ import annotations

from collections.abc import Callable

from ukctrl import Scenario, catalog

STILL = {"two-mass-spring-far": "its motor cannot do the task: it ends as it begins"}
"""Scenarios of which a still picture is shown, and why."""
SUBJECTS = {
    "Arms": {
        "two-arms-carry": "two-arms-carry",
        "panda-pose": "industrial-arms",
        "ur5-pose": "industrial-arms",
        "ur5-post": "limits-kept",
        "panda-priorities": "industrial-arms",
        "panda-pose-sampled": "../howto/sweep",
        "mobile-manipulator": "mobile-manipulator",
        "scara-pick-and-place": "pick-and-place",
        "scara-helix": "scara-helix",
        "scara-helix-baumgarte": "scara-helix",
        "scara-helix-drift": "scara-helix",
        "scara-helix-bench": "../howto/bench-conditions",
        "scara-weak-motors": "../theory/allocation",
        "stretched-arm": "../theory/allocation",
    },
    "Bodies that fly, and walk": {
        "quadrotor-lemniscate": "floating-bases",
        "quadrotor-upside-down": "floating-bases",
        "quadrotor-attitude": "floating-bases",
        "quadrotor-hover": "floating-bases",
        "a1-squat": "floating-bases",
        "a1-three-feet": "floating-bases",
        "a1-lean": "limits-kept",
        "a1-push": "contacts-that-push",
        "a1-ice": "contacts-that-push",
    },
    "Closed linkages": {
        "n-four-bar": "n-four-bar",
        "three-rrr": "three-rrr",
        "three-rrr-redundant": "three-rrr",
        "three-rrr-fastest": "../howto/time-a-path",
        "coordinated-arms": "coordinated-arms",
        "coordinated-arms-squeeze": "coordinated-arms",
        "five-bar": "five-bar",
        "five-bar-relative": "five-bar",
        "five-bar-drift": "five-bar",
    },
    "Swing up, and balance": {
        "acrobot-swing-up": "swing-up",
        "pendubot-swing-up": "swing-up",
        "cart-pole-swing-up": "swing-up",
        "furuta-swing-up": "swing-up",
    },
    "Springs and ropes": {
        "panda-elastic": "elastic-controllers",
        "flexible-joint-arm-links": "flexible-joint-arm",
        "flexible-joint-arm-motor": "flexible-joint-arm",
        "elastic-two-link": "servo-constraint-inversion",
        "elastic-arm-tip": "servo-constraint-inversion",
        "elastic-arm-middle": "servo-constraint-inversion",
        "mass-on-car": "servo-constraint-inversion",
        "crane-spatial": "high-relative-degree",
        "crane-planar": "high-relative-degree",
        "four-mass-chain": "high-relative-degree",
        "two-mass-spring-far-solved": "high-relative-degree",
        "two-mass-spring": "two-mass-spring",
        "two-mass-spring-far": "two-mass-spring",
    },
    "Particles": {
        "swarm": "swarm",
        "swarm-decay": "swarm",
        "swarm-many": "swarm",
        "log-spiral-particle": "log-spiral-particle",
        "log-spiral-particle-polar": "log-spiral-particle",
        "projectile": "projectile",
        "projectile-polar": "projectile",
    },
}
"""Every scenario of the catalogue under one subject, with the page that tells more."""


def sheet() -> str:
    """Return all scenarios with their films, a list for each subject."""
    listed = [name for scenarios in SUBJECTS.values() for name in scenarios]
    if sorted(listed) != sorted(catalog.names("scenarios")):
        wrong = set(listed) ^ set(catalog.names("scenarios"))
        raise ValueError(f"SUBJECTS must list every scenario once; it is off by {sorted(wrong)}.")
    lines = []
    for subject, scenarios in SUBJECTS.items():
        lines += [f"## {subject}", "", *(_film(*each) for each in scenarios.items()), ""]
    return "\n".join(lines[:-1])


def _film(name: str, page: str) -> str:
    title = " ".join(Scenario.load(name).title.split())
    seen, words = f"contact-sheet-{name}.webp", "moving"
    if name in STILL:
        seen, words = f"contact-sheet-{name}.png", STILL[name]
    return f"- ![{name}, {words}](figures/{seen}) [`{name}`]({page}.md) {title}"


TABLES: dict[str, Callable[[], str]] = {"sheet": sheet}
FACTS: dict[str, Callable[[], str]] = {
    "count": lambda: str(len(catalog.names("scenarios"))),
}
