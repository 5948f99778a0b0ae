"""The claims of section 8.1."""

from ukctrl.reproduce.markdown import claims_table
from ukctrl.reproduce.review.particle import spiral_claims

TABLES = {"claims": lambda: claims_table(spiral_claims())}
FACTS: dict[str, object] = {}
