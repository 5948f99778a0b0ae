"""The claims of section 8.1."""

from page_tables import claims_table

from ukctrl.papers.review.particle import spiral_claims

TABLES = {"claims": lambda: claims_table(spiral_claims())}
FACTS: dict[str, object] = {}
