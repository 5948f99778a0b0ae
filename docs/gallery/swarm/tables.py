"""The claims of section 8.2."""

from page_tables import claims_table

from ukctrl.papers.review.swarm import claims, rest_claims

TABLES = {"claims": lambda: claims_table(claims()), "rest": lambda: claims_table(rest_claims())}
FACTS: dict[str, object] = {}
