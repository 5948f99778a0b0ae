"""The claims of section 8.3."""

from markdown_text import claims_table, table

from ukctrl import papers

flexible = papers.review.flexible
runs = papers.review.runs
springs = papers.review.springs


def extremes() -> str:
    """Return the ranges of motor angles and torques as a table."""
    result = runs.run("flexible-joint-arm-motor")
    motors = result["q"][:, 2:]
    ranges = (
        ("angle of the first motor", "rad", motors[:, 0]),
        ("angle of the second motor", "rad", motors[:, 1]),
        ("torque u1", "N m", result["u"][:, 0]),
        ("torque u2", "N m", result["u"][:, 1]),
    )
    rows = (
        [f"{name} [{unit}]", f"{values.min():.3f}", f"{values.max():.3f}"]
        for name, unit, values in ranges
    )
    return table(["", "least", "greatest"], rows)


TABLES = {
    "links": lambda: claims_table(flexible.claims()),
    "fails": lambda: claims_table(flexible.motor_claims()),
    "springs": lambda: claims_table(springs.claims()),
    "extremes": extremes,
}
FACTS: dict[str, object] = {}
