"""The claims of Example 1."""

from ukctrl.reproduce.markdown import claims_table
from ukctrl.reproduce.review.particle import projectile_claims

TABLES = {"claims": lambda: claims_table(projectile_claims())}
FACTS: dict[str, object] = {}
