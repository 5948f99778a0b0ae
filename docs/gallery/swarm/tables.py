"""The claims of section 8.2."""

from ukctrl.reproduce.review.page import table
from ukctrl.reproduce.review.swarm import claims, rest_claims

TABLES = {"claims": lambda: table(claims()), "rest": lambda: table(rest_claims())}
FACTS: dict[str, object] = {}
