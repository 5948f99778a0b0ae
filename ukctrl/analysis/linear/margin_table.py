"""The margins at each motor as a table, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ukctrl.analysis.linear.margins import Margins
from ukctrl.core.number_text import number
from ukctrl.reports.table import Column, Table


def margin_table(margins: Sequence[Margins]) -> Table:
    """Return by how much gain, phase and delay may change at each motor, the others closed."""
    heads = ("gain", "phase [deg]", "at [rad/s]", "delay [ms]", "disk margin", "its gain")
    return Table.of(
        [Column("motor", "name"), *map(Column, (*heads, "its phase [deg]"))],
        (
            [
                each.motor,
                f"{number(each.gain_low)} to {number(each.gain_high)}",
                number(each.phase),
                number(each.phase_frequency),
                number(1e3 * each.delay),
                number(each.disk),
                number(each.disk_gain),
                number(each.disk_phase),
            ]
            for each in margins
        ),
    )
