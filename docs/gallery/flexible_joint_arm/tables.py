"""The claims of section 8.3."""

from ukctrl.reproduce.review import flexible, springs
from ukctrl.reproduce.review.page import table
from ukctrl.reproduce.review.runs import run


def extremes() -> str:
    """Return the ranges of motor angles and torques as a table."""
    result = run("flexible-joint-arm-motor")
    lines = ["| | least | greatest |", "| --- | --- | --- |"]
    motors = result["q"][:, 2:]
    for name, unit, values in (
        ("angle of the first motor", "rad", motors[:, 0]),
        ("angle of the second motor", "rad", motors[:, 1]),
        ("torque u1", "N m", result["u"][:, 0]),
        ("torque u2", "N m", result["u"][:, 1]),
    ):
        lines.append(f"| {name} [{unit}] | {values.min():.3f} | {values.max():.3f} |")
    return "\n".join(lines)


TABLES = {
    "links": lambda: table(flexible.claims()),
    "fails": lambda: table(flexible.motor_claims()),
    "springs": lambda: table(springs.claims()),
    "extremes": extremes,
}
FACTS: dict[str, object] = {}
