"""Fill in the numbers of the gallery's pages, and draw their figures.

    python docs/gallery/make.py                        # every page
    python docs/gallery/make.py scara-helix            # this page
    python docs/gallery/make.py --check [PAGE...]      # only compare the numbers; exit 1 if stale

A page `NAME.md` has a folder of scripts of the same name, with underscores for hyphens:

`tables.py` has `TABLES` and `FACTS`, mappings from a name to a function without arguments that
returns Markdown. The page holds a table between `<!-- table: NAME -->` and `<!-- end -->`, and a
number in a sentence between `<!-- fact: NAME -->` and `<!-- end -->`; nothing between them is
typed by hand. `SLOW = True` keeps a page that takes more than a few seconds out of the quick tests.

`figures.py`, if there is one, has `draw(folder)`, which writes PNG files that begin with the
page's name.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

GALLERY = Path(__file__).resolve().parent
SHARED = GALLERY / "shared"
"""Scripts that pages share."""
PLACE = re.compile(r"<!-- (table|fact): ([\w-]+) -->[^<]*<!-- end -->")
"""A place to fill; `<` cannot stand in one, so a place never reaches into the next."""
Texts = Mapping[str, Callable[[], str]]


def pages() -> list[str]:
    """Return the names of the pages that have scripts."""
    found = (path.stem for path in GALLERY.glob("*.md"))
    return sorted(name for name in found if (folder(name) / "tables.py").is_file())


def folder(page: str) -> Path:
    """Return where the scripts of a page are."""
    return GALLERY / page.replace("-", "_")


@contextlib.contextmanager
def scripts_of(page: str) -> Iterator[None]:
    """Let `import tables` mean this page's tables, and forget them afterwards.

    Pages may give their scripts the same names, so no script outlives its page.
    """
    home = folder(page)
    places = [str(home), str(SHARED)]
    sys.path[:0] = places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").parent == home:
                del sys.modules[name]


def filled(page: str, text: str) -> str:
    """Return a page with every number computed anew."""
    tables = importlib.import_module("tables")
    makers: dict[str, Texts] = {"table": tables.TABLES, "fact": tables.FACTS}
    wanted = [(kind, name) for kind, texts in makers.items() for name in texts]
    places = PLACE.findall(text)
    for kind, name in wanted:
        if places.count((kind, name)) != 1:
            sys.exit(
                f"{page}.md must have one place '<!-- {kind}: {name} --><!-- end -->'; "
                f"it has {places.count((kind, name))}."
            )
    for kind, name in places:
        if (kind, name) not in wanted:
            sys.exit(f"{page}.md has a place for the {kind} '{name}', which tables.py lacks.")

    def place(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        content = makers[kind][name]().replace("<", "&lt;")
        around = "\n\n" if kind == "table" else ""
        return f"<!-- {kind}: {name} -->{around}{content}{around}<!-- end -->"

    return PLACE.sub(place, text)


def make(page: str, check: bool) -> bool:
    """Write a page and its figures, or check it; return whether it was up to date."""
    path = GALLERY / f"{page}.md"
    old = path.read_text(encoding="utf-8")
    with scripts_of(page):
        new = filled(page, old)
        if not check:
            path.write_text(new, encoding="utf-8")
            if (folder(page) / "figures.py").is_file():
                pictures = GALLERY / "figures"
                pictures.mkdir(exist_ok=True)
                importlib.import_module("figures").draw(pictures)
    if check:
        for before, after in zip(old.splitlines(), new.splitlines(), strict=False):
            if before != after:
                print(f"{page}.md\nstale: {before}\nnow:   {after}")
    return old == new


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare the numbers")
    parser.add_argument("page", nargs="*", help=f"of: {', '.join(pages())}; absent: all")
    options = parser.parse_args()
    for page in options.page:
        if page not in pages():
            parser.error(f"no page named '{page}'. Known: {', '.join(pages())}.")
    fresh = [make(page, options.check) for page in options.page or pages()]
    return int(options.check and not all(fresh))


if __name__ == "__main__":
    sys.exit(main())
