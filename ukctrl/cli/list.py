"""The command `list`: what there is, all of it or what some words find."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ukctrl.cli.options import Json
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.summaries import catalogue_lines
from ukctrl.core.errors import unknown_name
from ukctrl.core.files import catalog, zoo

CATALOGUE_KINDS = (*catalog.KINDS, "parts", "zoo")


def list_catalogue(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="robots, controllers, scenarios, parts (what files may give as kind, and metrics) "
            "or zoo (the robots of that extra); absent: the first three.",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Only those with every word in name, line or kinds: list robots underactuated, "
            "list scenarios crane, list controllers servo bounded.",
        ),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", "-l", help="Also the kinds that words find them by.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List what there is, with one line each, or what some words find."""
    if what is not None and what not in CATALOGUE_KINDS:
        raise unknown_name("kind of content", what, CATALOGUE_KINDS)
    sought = words or []
    catalogue: dict[str, dict[str, Any]] = {}
    if what == "parts":
        from ukctrl.simulation.scenario.part_kinds import part_kinds

        catalogue = _matching_parts(part_kinds(), sought)
        print_result(False, as_json, lambda: catalogue, lambda: catalogue_lines(catalogue))
        return
    from ukctrl.cli.catalogue import catalogue_entries, zoo_entries

    if what == "zoo":
        catalogue["zoo"] = zoo_entries(sought)
    for kind in catalog.KINDS:
        if what in (None, kind):
            catalogue[kind] = catalogue_entries(kind, sought, whole=long)
    titles = {
        kind: {name: e.title for name, e in entries.items()} for kind, entries in catalogue.items()
    }
    kinds = {
        name: ", ".join(e.kinds) for entries in catalogue.values() for name, e in entries.items()
    }
    whole = {
        kind: {name: {"title": e.title, "kinds": list(e.kinds)} for name, e in entries.items()}
        for kind, entries in catalogue.items()
    }
    more = "More robots: ukctrl list zoo" if what in (None, "robots") and zoo.root() else ""
    print_result(
        False,
        as_json,
        lambda: whole if long else titles,
        lambda: [*catalogue_lines(titles, kinds if long else {}), *([[more]] if more else [])],
    )


def _matching_parts(
    sorts: dict[str, dict[str, str]], words: list[str]
) -> dict[str, dict[str, str]]:
    """Return the parts with every word in sort, name or line; no sort without one."""
    matches = {
        sort: {
            name: line
            for name, line in entries.items()
            if all(word.lower() in f"{sort}\n{name}\n{line}".lower() for word in words)
        }
        for sort, entries in sorts.items()
    }
    return {sort: entries for sort, entries in matches.items() if entries} if words else matches
