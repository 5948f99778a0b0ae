"""Order what the search finds, and load pictures when they are looked at: a hook of mkdocs."""

from __future__ import annotations

from typing import Any

RECORDS = "decisions/"
"""Why the code is as it is: for those who change it, who come by the index; not in the search."""
BOOST = {"tutorials/": 8.0, "howto/": 8.0, "reference/python/": 0.01, "reference/": 4.0}
"""How much a page counts in the search, by the first folder that fits; others: 1. The names of the
Python interface are titles, and a word of a title counts as a thousand."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Say how the search treats a page; lead from a record back to the index."""
    place = page.file.src_uri
    boost = next((boost for folder, boost in BOOST.items() if place.startswith(folder)), 1.0)
    is_record = place.startswith(RECORDS)
    page.meta["search"] = {"exclude": True} if is_record else {"boost": boost}
    has_way_back = is_record and place != f"{RECORDS}index.md"
    return f"[All decisions](index.md)\n\n{markdown}" if has_way_back else markdown


def on_page_content(html: str, **_: Any) -> str:
    """Let a browser load a picture when it comes into view."""
    return html.replace("<img ", '<img loading="lazy" ')
