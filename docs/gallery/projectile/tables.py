"""The claims of Example 1."""

from ukctrl.reproduce.review.page import table
from ukctrl.reproduce.review.particle import projectile_claims

TABLES = {"claims": lambda: table(projectile_claims())}
FACTS: dict[str, object] = {}
