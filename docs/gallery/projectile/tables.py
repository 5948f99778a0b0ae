"""The claims of Example 1."""

from page_tables import claims_table

from ukctrl.papers.review.particle import projectile_claims

TABLES = {"claims": lambda: claims_table(projectile_claims())}
FACTS: dict[str, object] = {}
