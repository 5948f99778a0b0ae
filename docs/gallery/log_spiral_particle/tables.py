"""The claims of section 8.1."""

from ukctrl.reproduce.review.page import table
from ukctrl.reproduce.review.particle import spiral_claims

TABLES = {"claims": lambda: table(spiral_claims())}
FACTS: dict[str, object] = {}
