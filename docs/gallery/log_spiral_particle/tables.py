"""The claims of section 8.1."""

from markdown_text import claims_table

from ukctrl import papers

particle = papers.review.particle

TABLES = {"claims": lambda: claims_table(particle.spiral_claims())}
FACTS: dict[str, object] = {}
