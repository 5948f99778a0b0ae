"""How a controller that is handed over is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, hanging, show, table_lines, write_json

if TYPE_CHECKING:
    from ukctrl.simulation.handover.hand_over import HandedOver


def show_export(done: HandedOver, as_json: bool) -> None:
    """Print what was written, and whether the class answers what the simulation did."""
    same = done.replay.worst == 0.0
    if as_json:
        write_json(
            {
                "folder": str(done.folder),
                "files": dict(done.files),
                "identical": same,
                "largest_difference": done.replay.worst,
                "ticks": done.replay.ticks,
                "mean_step_us": round(done.replay.mean_us, 1),
                "notes": list(done.notes),
            }
        )
        return
    from ukctrl.reports.table import Column, Table

    lines: list[Line] = [[Part(clean(str(done.folder)), "bold")]]
    columns = Column("", "text"), Column("", "text")
    lines += table_lines(Table.of(columns, done.files.items()))
    lines += hanging("  check  ", str(done.replay), "bold", "green" if same else "bold red")
    for note in done.notes:
        lines += hanging("  note   ", note, "bold", "yellow")
    show(lines)
