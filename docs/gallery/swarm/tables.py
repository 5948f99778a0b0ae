"""The claims of section 8.2."""

from markdown_text import claims_table

from ukctrl import papers

swarm = papers.review.swarm

TABLES = {
    "claims": lambda: claims_table(swarm.claims()),
    "rest": lambda: claims_table(swarm.rest_claims()),
}
FACTS: dict[str, object] = {}
