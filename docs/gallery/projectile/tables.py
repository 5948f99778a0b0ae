"""The claims of Example 1."""

from markdown_text import claims_table

from ukctrl import papers

particle = papers.review.particle

TABLES = {"claims": lambda: claims_table(particle.projectile_claims())}
FACTS: dict[str, object] = {}
