"""Figures of a run: what stands in them, against runs of a few samples made by hand."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import (
    across,
    heading,
    legend,
    limits,
    line,
    marks,
    role,
    shows,
    upright,
)

from ukctrl import plot
from ukctrl.reports.plot import marks as run_marks
from ukctrl.reports.plot import panels, series, style
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result, SignalSeries

T = np.array([0.0, 1.0, 2.0])
NAN = np.nan


def run(samples, *, time=T, switches=(), signals=None, status="completed", **names):
    """Return a run with these samples and names along the axes."""
    return Result.build(
        time=time,
        samples=samples,
        labels=Labels(**names),
        status=status,
        signals=signals,
        provenance={"switches": list(switches)},
    )


def said(figure):
    """Return the heading, the label of the values and the scale of every panel."""
    return [(heading(axes), axes.get_ylabel(), axes.get_yscale()) for axes in figure.axes]


def wide(figure):
    """Return which panels take both columns."""
    return [bool(axes.get_position().width > 0.8) for axes in figure.axes]


def around(low, high):
    """Return the limits of a panel that holds these."""
    middle, span = 0.5 * (low + high), 0.56 * (high - low)
    return middle - span, middle + span


# Motion


JOINTS = {
    "coordinates": ("a", "b", "turn", "c"),
    "coordinate_units": ("rad", "m", "1", "rad"),
    "dofs": ("va", "vb", "vc"),
    "dof_units": ("rad/s", "m/s", "rad/s"),
}
Q = np.array([[0.0, 1.0, 0.5, 4.0], [1.0, 2.0, 0.6, 3.0], [2.0, 4.0, 0.7, 2.0]])
V = np.array([[1.0, 0.1, -1.0], [2.0, 0.2, -2.0], [3.0, 0.3, -3.0]])


def test_configuration_stands_beside_the_velocity_of_the_same_unit_and_what_has_none_alone():
    figure = plot.motion(run({"q": Q, "v": V}, switches=[0.5], **JOINTS))
    assert said(figure) == [
        ("angles", "q [rad]", "linear"),
        ("angular velocities", "v [rad/s]", "linear"),
        ("positions", "q [m]", "linear"),
        ("velocities", "v [m/s]", "linear"),
        ("orientation", "q [1]", "linear"),
    ]
    assert wide(figure) == [False] * 4 + [True]
    switch = upright(0.5, "muted", "--")
    angles, rates, positions, velocities, orientation = figure.axes
    shows(angles, switch, line(T, Q[:, 0], 0, "-", "a"), line(T, Q[:, 3], 1, "-", "c"))
    shows(rates, switch, line(T, V[:, 0], 0, "-", "va"), line(T, V[:, 2], 1, "-", "vc"))
    shows(positions, switch, line(T, Q[:, 1], 0, "-", "b"))
    shows(velocities, switch, line(T, V[:, 1], 0, "-", "vb"))
    shows(orientation, switch, line(T, Q[:, 2], 0, "-", "turn"))
    assert legend(angles) == [("a", 0, "-"), ("c", 1, "-")]
    assert all(axes.get_xlabel() == "time [s]" for axes in figure.axes)
    limits(angles, x=(0.0, 2.0), y=around(0.0, 4.0))
    limits(velocities, y=around(0.1, 0.3))


def test_velocities_of_another_unit_and_coordinates_of_any_have_panels_of_their_own():
    names = {
        "coordinates": ("charge",),
        "coordinate_units": ("C",),
        "dofs": ("w",),
        "dof_units": ("rad/s",),
    }
    figure = plot.motion(run({"q": Q[:, :1], "v": V[:, :1]}, **names))
    assert said(figure) == [
        ("coordinates", "q [C]", "linear"),
        ("angular velocities", "v [rad/s]", "linear"),
    ]
    assert wide(figure) == [False, False]
    shows(figure.axes[0], line(T, Q[:, 0], 0, "-", "charge"))


@pytest.mark.parametrize(("count", "drawn"), [(run_marks.MOST_SWITCHES, True), (13, False)])
def test_switches_are_drawn_while_they_can_be_told_apart(count, drawn):
    moments = np.linspace(0.1, 1.9, count)
    figure = plot.motion(run({"q": Q, "v": V}, switches=moments, **JOINTS))
    found = [mark.where[0][0] for mark in marks(figure.axes[0]) if mark.kind == "upright"]
    np.testing.assert_array_equal(found, moments if drawn else [])


# Inputs


MOTORS = {
    "actuators": ("u1", "u2", "u3"),
    "actuator_units": ("N m", "N m", "N"),
    "effort_limit": (2.0, np.inf, 10.0),
}
U = np.array([[1.0, -0.5, 1.0], [2.0, 0.0, 1.0], [1.0, 0.5, 1.0]])


def test_inputs_show_commands_limits_switches_and_the_time_at_a_limit():
    commanded = U + np.array([[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.0, 0.5]])
    made = run({"u": U, "u_commanded": commanded}, switches=[0.25], **MOTORS)
    torques, forces = plot.inputs(made).axes
    switch, shade, *rest = marks(torques)
    assert switch == upright(0.25, "muted", "--")._replace(where=switch.where)
    assert (shade.kind, shade.color, shade.look) == ("upright", "alert", "filled")
    assert {*shade.where[0]} <= {0.5, 1.0, 1.5}
    assert {*shade.where[1]} == {0.0, 1.0}
    wanted = [
        line(T, [1.0, 3.0, 1.0], "faint"),
        line(T, U[:, 1], "faint"),
        line(T, U[:, 0], 0, "-", "u1"),
        line(T, U[:, 1], 1, "-", "u2"),
        across(2.0, 0, "--"),
    ]
    assert [each._replace(where=()) for each in rest] == [
        each._replace(where=()) for each in wanted
    ]
    for mark, other in zip(rest, wanted, strict=True):
        np.testing.assert_array_equal(mark.where, other.where)
    shows(
        forces,
        upright(0.25, "muted", "--"),
        line(T, [1.5] * 3, "faint"),
        line(T, [1.0] * 3, 0, "-", "u3"),
    )
    assert said(plot.inputs(made)) == [
        ("torques", "u [N·m]", "linear"),
        ("forces", "u [N]", "linear"),
    ]
    assert legend(torques) == [("u1", 0, "-"), ("u2", 1, "-")]
    limits(torques, x=(0.0, 2.0), y=around(-0.5, 2.175))
    assert [text.get_text() for text in torques.texts[1:]] == ["limit of u1"]
    assert wide(plot.inputs(made)) == [False, False]


def test_columns_side_by_side_are_not_copied(motors):
    """A run may be longer than memory."""
    made = motors(np.arange(3.0), np.arange(12.0).reshape(3, 4))
    for columns, shared in (([0, 1], True), ([1, 2, 3], True), ([3], True), ([1, 3], False)):
        chosen = series._columns(made, "u", columns)
        np.testing.assert_array_equal(chosen, made["u"][:, columns])
        assert np.shares_memory(chosen, made["u"]) is shared


def test_of_an_odd_number_of_units_the_first_takes_both_columns():
    units = dict(MOTORS, actuator_units=("N m", "V", "N"))
    figure = plot.inputs(run({"u": U}, **units))
    assert wide(figure) == [True, False, False]
    assert [said_of[0] for said_of in said(figure)] == ["torques", "inputs", "forces"]


@pytest.mark.parametrize(
    ("u", "limit", "drawn", "ends"),
    [
        ([1.0, -1.0, 1.0], [1.6], [-1.6, 1.6], (-1.824, 1.824)),
        ([1.0, -1.0, 1.0], [1.7], [], (-1.0, 1.0)),
        ([1.0, 0.0, 0.5], [1.5], [1.5], (0.0, 1.605)),
        ([-1.0, -0.9, -1.0], [1.0], [-1.0, 1.0], (-1.14, 1.14)),
        ([1.0, 0.0, 0.5], [0.0], [], (0.0, 1.0)),
        ([1.0, 0.0, 0.5], [np.inf], [], (0.0, 1.0)),
        ([1.0, 0.0, NAN], [1.0], [1.0], (0.0, 1.07)),
        ([[0.3] * 8] * 3, [0.3] * 8, [0.3] * 8, (0.2997, 0.3003)),
    ],
)
def test_limits_that_inputs_come_near_are_drawn_and_seen(motors, u, limit, drawn, ends):
    """Beyond them is room for their names: 7 % of what is seen."""
    (axes,) = plot.inputs(motors(T, u, limits=limit)).axes
    found = [mark for mark in marks(axes) if mark.kind == "across"]
    assert [mark.where[1][0] for mark in found] == drawn
    assert [mark.color for mark in found] == [k % 8 for k in range(len(drawn))] or len(limit) == 1
    limits(axes, y=around(*ends))


def test_limits_that_a_run_recorded_and_that_stay_are_narrower_than_the_motors():
    u = np.array([[1.0, 1.0], [2.0, 1.0], [1.5, 1.0]])
    ends = np.array([[2.0, 2.0], [2.0, 1.0], [2.0, 1.5]])  # the second's change
    made = run(
        {"u": u, "u_lower": -ends, "u_upper": ends},
        actuators=["u1", "u2"], actuator_units=["N m"] * 2, effort_limit=(10.0, 10.0),
    )  # fmt: skip
    (axes,) = plot.inputs(made).axes
    assert [mark.where[1][0] for mark in marks(axes) if mark.kind == "across"] == [2.0]
    assert "limit of u1" in [text.get_text() for text in axes.texts]


def test_a_command_is_not_drawn_among_many_inputs_nor_a_shade_where_none_is_at_a_limit(motors):
    many = np.ones((3, 49))
    made = run(
        {"u": many, "u_commanded": 2.0 * many},
        actuators=[f"u{k}" for k in range(49)],
        actuator_units=["N"] * 49,
    )
    (axes,) = plot.inputs(made).axes
    assert len(axes.lines) == 49 + 1  # and the name of those that have none
    assert not axes.collections
    (axes,) = plot.inputs(motors(T, [2.0, 0.0, 0.0], limits=[2.0])).axes
    assert len(axes.collections) == 1


LIMITED = {"q": {"b": [-1.0, 3.0], "c": None}, "v": {"va": [-2.5, 2.5], "vc": ["x", 1e400]}}


def test_what_of_a_joint_is_beyond_its_limit_is_bold_and_its_time_shaded():
    made = run({"q": Q, "v": V}, **JOINTS)
    made = dc.replace(made, provenance={**made.provenance, "joint_limits": LIMITED})
    angles, rates, positions, _, turn = plot.motion(made).axes
    for axes in (angles, turn):
        assert all(mark.kind != "across" for mark in marks(axes))
        assert [text.get_text() for text in axes.texts[1:]] == []
    assert [mark.color for mark in marks(rates) if mark.kind == "across"] == [0]
    assert [text.get_text() for text in rates.texts[1:]] == ["limit of va"]
    assert rates.texts[1].get_color() == rates.lines[0].get_color() == style.PALETTE[0]
    (bold,) = (drawn for drawn in positions.lines if drawn.get_linewidth() > 3.0)
    np.testing.assert_allclose(bold.get_xdata()[-2:], [1.5, 2.0])
    np.testing.assert_allclose(bold.get_ydata()[-2:], [3.0, 4.0])
    assert np.isnan(bold.get_ydata()[:-2]).all()
    (shade,) = (mark for mark in marks(positions) if mark.look == "filled")
    assert max(shade.where[0]) == 2.0


@pytest.mark.parametrize("limit", [1e-6, 1.0, 1e3, 1e9])
def test_what_rounding_alone_puts_beyond_a_limit_is_at_it_however_large_the_limit(limit):
    """It is as much as the sum of ten numbers of the limit's size may be wrong by."""
    rounded = limit + 10.0 * np.finfo(float).eps * max(limit, 1.0)
    for most, bold in ((rounded, 0), (limit + 1e-6 * max(limit, 1.0), 1)):
        for sign in (1.0, -1.0):
            axes = Figure().add_subplot()
            values = sign * np.array([[0.0], [most], [0.0]])
            run_marks.mark_exceeded(axes, T, values, [(-limit, limit)])
            assert len(axes.lines) == len(axes.collections) == bold


def test_lines_with_one_limit_share_its_dashes(motors):
    (axes,) = plot.inputs(motors(T, [[1.0, 0.9, 0.2]] * 3, limits=[1.0, 1.0, 5.0])).axes
    found = [drawn for drawn in axes.lines if drawn.get_linestyle() == "--"]
    assert [drawn.get_color() for drawn in found] == list(style.PALETTE[:2])
    offsets = {drawn._dash_pattern[0] for drawn in found}
    assert len(offsets) == 2
    assert [text.get_text() for text in axes.texts[1:]] == ["limit of u0, u1"]


def errors_of(size, integrator, n=41):
    """Return the panels of the errors of a row that decays to nothing, at a state near two."""
    time = np.linspace(0.0, 1.0, n)
    made = run(
        {"q": np.full((n, 1), 2.0), "phi": size * np.exp(-30.0 * time)[:, None]},
        time=time, coordinates=["a"], coordinate_units=["m"], dofs=["a"], dof_units=["m/s"],
        rows=["row"], row_units=["m"], row_blocks=["task"],
    )  # fmt: skip
    return plot.errors(dc.replace(made, scenario={"integrator": integrator})).axes


@pytest.mark.parametrize(
    ("integrator", "promise", "words"),
    [
        ({}, 1e-11 + 2e-9, "the integrator's tolerance"),
        ({"rtol": 1e-6, "atol": 1e-8}, 2.01e-6, "the integrator's tolerance"),
        ({"rtol": "wide"}, 1e-11 + 2e-9, "the integrator's tolerance"),
        ({"method": "RK4", "step": 1e-3}, 8.0 * 2.0**-52, "rounding"),
    ],
)
def test_errors_are_grey_below_what_the_integrator_promises_and_nowhere_else(
    integrator, promise, words
):
    axes = errors_of(1e-3, integrator)[0]
    seen, grey = axes.lines
    assert grey.get_color() == style.FAINT
    above, below = seen.get_ydata(), grey.get_ydata()
    assert above.min() == pytest.approx(promise)
    assert np.nanmax(below, initial=0.0) <= promise * (1.0 + 1e-12)
    if below.size and np.isfinite(below).any():
        assert words in axes.texts[-1].get_text()
        assert axes.get_ylim()[0] >= 0.01 * promise
    assert axes.get_ylim()[1] > 1e-3


def test_errors_that_are_all_above_the_promise_are_not_grey():
    axes = errors_of(1e6, {})[0]
    assert all(drawn.get_color() != style.FAINT for drawn in axes.lines)
    assert not axes.patches


def test_rows_of_rounding_alone_are_a_flat_grey_line_on_the_scale_of_the_promise():
    _, rows = errors_of(1e-14, {})
    low, high = rows.get_ylim()
    assert low < -2.01 < 2.01 < high  # [nm]
    assert rows.get_ylabel() == "φ [nm]"
    assert np.ma.getmaskarray(rows.lines[0].get_ydata()).all()
    assert "the integrator's tolerance" in rows.texts[-1].get_text()


@pytest.mark.parametrize("count", [7, 14])
def test_every_joint_is_named(count):
    names = [f"shoulder_joint_{k}" for k in range(count)]
    made = run(
        {"q": np.ones((3, count)), "v": np.ones((3, count)), "u": np.ones((3, count))},
        coordinates=names, coordinate_units=["rad"] * count, dofs=names,
        dof_units=["rad/s"] * count, actuators=names, actuator_units=["N m"] * count,
    )  # fmt: skip
    for draw, times in ((plot.motion, 2), (plot.inputs, 1)):
        text = style.svg(draw(made))
        assert [text.count(f">{name}<") for name in names] == [times] * count


@pytest.mark.parametrize("place", [0, 7777, 12_000])
def test_a_shade_of_one_sample_among_many_is_where_that_sample_is(motors, place):
    time = np.linspace(0.0, 1.0, 12_001)
    u = np.where(np.arange(12_001) == place, 1.0, 0.5)
    (axes,) = plot.inputs(motors(time, u, limits=[1.0])).axes
    (shade,) = [mark for mark in marks(axes) if mark.look == "filled"]
    left, right = min(shade.where[0]), max(shade.where[0])
    beside = 1.0001 / panels.MOST_POINTS
    assert left - beside <= time[place] <= right + beside
    assert right - left <= 2.0 * beside


@pytest.mark.slow
def test_a_long_shade_has_as_many_points_as_a_curve(motors):
    time = np.linspace(0.0, 1.0, 12_001)
    (axes,) = plot.inputs(motors(time, np.ones(12_001), limits=[1.0])).axes
    (path,) = axes.collections[0].get_paths()
    assert len(path.vertices) < 5 * panels.MOST_POINTS


# Errors


def test_errors_have_norms_by_block_on_decades_and_rows_in_a_readable_unit(rows):
    phi = np.array([[3e-3, 4e-3, 0.1], [0.0, 0.0, 0.2], [6e-4, 8e-4, 0.4]])
    made = rows(T, phi, beta=10.0 * phi, blocks=["tool", "tool", "tilt"], units=["m", "m", "rad"])
    figure = plot.errors(made)
    assert said(figure) == [
        ("|φ| at position level", "error [m, rad]", "log"),
        ("|β| at velocity level", "error [m/s, rad/s]", "log"),
        ("error of each row", "φ [mm]", "linear"),
        ("error of each row", "φ [rad]", "linear"),
    ]
    assert wide(figure) == [False] * 4
    norms, rates, metres, radians = figure.axes
    tool = np.array([5e-3, 1e-300, 1e-3])
    shows(norms, line(T, tool, 0, "-", "tool"), line(T, phi[:, 2], 1, "-", "tilt"))
    shows(
        rates,
        line(T, np.maximum(10.0 * tool, 1e-300), 0, "-", "tool"),
        line(T, 10.0 * phi[:, 2], 1, "-", "tilt"),
    )
    shows(
        metres,
        line(T, 1e3 * phi[:, 0], 0, "-", "row0"),
        line(T, 1e3 * phi[:, 1], 1, "-", "row1"),
    )
    shows(radians, line(T, phi[:, 2], 0, "-", "row2"))
    assert legend(norms) == [("tool", 0, "-"), ("tilt", 1, "-")]
    limits(norms, y=(1e-4, 1.0))
    limits(metres, x=(0.0, 2.0), y=around(0.0, 4.0))
    limits(radians, y=around(0.1, 0.4))


@pytest.mark.parametrize("units", [["m"], ["m", "rad"], ["m", "rad", "s"], ["m", "rad", "s", "A"]])
def test_of_an_odd_number_of_units_of_rows_the_last_takes_both_columns(rows, units):
    figure = plot.errors(rows(T, np.ones((3, len(units))), units=units))
    norms = wide(figure)[: -len(units)]
    assert norms == [False, False]
    last = bool(len(units) % 2)
    assert wide(figure)[len(norms) :] == [False] * (len(units) - 1) + [last]


def test_rows_without_positions_show_their_velocities(rows):
    made = rows(T, np.full((3, 1), NAN), beta=np.array([[2e-5], [1e-5], [1e-5]]), units=["rad"])
    figure = plot.errors(made)
    assert said(figure) == [
        ("|β| at velocity level", "error [rad/s]", "log"),
        ("error of each row", "β [µrad/s]", "linear"),
    ]
    assert wide(figure) == [True, True]
    shows(figure.axes[1], line(T, [20.0, 10.0, 10.0], 0, "-", "row0"))


def test_rows_that_hold_velocities_alone_have_no_norm_of_positions(rows):
    phi = np.column_stack([[1.0, 2.0, 3.0], [NAN] * 3])
    made = rows(T, phi, beta=np.ones((3, 2)), blocks=["a", "b"], units=["", ""])
    norms, rates, each = plot.errors(made).axes
    assert [entry[0] for entry in legend(norms)] == ["a"]
    assert [entry[0] for entry in legend(rates)] == ["a", "b"]
    shows(each, line(T, [1.0, 2.0, 3.0], 0, "-", "row0"))
    assert [axes.get_ylabel() for axes in (norms, rates, each)] == [
        "error [1]",
        "error [1/s]",
        "φ [1]",
    ]


# Energy


@pytest.mark.parametrize(
    ("given", "fed", "label"),
    [
        ({"supplied_energy": [0.0, 2.0, 3.999]}, [5.0, 7.0, 8.999], "imbalance [mJ]"),
        ({"power": [2.0, 2.0, 2.0]}, [5.0, 7.0, 9.0], "imbalance [J]"),
        ({}, None, None),
    ],
)
def test_energy_stands_beside_what_was_fed_in(given, fed, label):
    total = np.array([5.0, 7.0, 9.0])
    figure = plot.energy(run({"energy": total, **given}))
    balance, *rest = figure.axes
    entries = [("E(t)", 5, "-"), ("E(0) + energy fed in", "ink", "--")]
    wanted = [line(T, total, 5, "-", "E(t)")]
    if fed is not None:
        wanted.append(line(T, fed, "ink", "--", "E(0) + energy fed in"))
    shows(balance, *wanted)
    assert legend(balance) == entries[: len(wanted)]
    assert said(figure)[0] == ("energy", "energy [J]", "linear")
    assert wide(figure) == ([False, False] if rest else [True])
    limits(balance, y=around(5.0, 9.0))
    assert [words[1:2] for words in said(figure)[1:]] == ([(label,)] if label else [])
    for axes in rest:
        assert heading(axes) == "unaccounted energy"
        (curve,) = marks(axes)
        factor = 1e3 if label == "imbalance [mJ]" else 1.0
        np.testing.assert_allclose(curve.where[1], factor * (total - fed), atol=1e-9)
        assert legend(axes) == []


# Passive rows, grip, signals, measurements


PASSIVE = {
    "passive_rows": ("loop.x", "loop.y", "hinge"),
    "passive_row_units": ("m", "m", "rad"),
    "dofs": ("a", "b"),
    "dof_units": ("rad/s", "m/s"),
}
DRIFT = {
    "passive_phi": np.array([[3e-9, 4e-9, 0.0]] * 3),
    "passive_beta": np.array([[0.0, 0.0, 1e-9]] * 3),
}


def test_passive_rows_show_their_drift_and_their_force_by_unit():
    force = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    figure = plot.passive(run({**DRIFT, "passive_force": force}, **PASSIVE))
    assert said(figure) == [
        ("passive drift at position level", "|φ| [m, rad]", "log"),
        ("passive drift at velocity level", "|β| [m/s, rad/s]", "log"),
        ("force of the passive rows", "[N·m]", "linear"),
        ("force of the passive rows", "[N]", "linear"),
    ]
    drift, rate, moments, forces = figure.axes
    shows(drift, line(T, [5e-9] * 3, 0))
    shows(rate, line(T, [1e-9] * 3, 0))
    shows(moments, line(T, force[:, 0], 0, "-", "a"))
    shows(forces, line(T, force[:, 1], 0, "-", "b"))
    assert len(plot.passive(run({**DRIFT, "passive_force": 0.0 * force}, **PASSIVE)).axes) == 2


def test_reactions_are_lengths_by_constraint_and_unit():
    reaction = np.array([[3.0, 4.0, -2.0], [0.0, 1.0, 2.0], [6.0, 8.0, 1.0]])
    phi = np.full((3, 3), NAN)  # rows that hold velocities alone do not drift
    made = run({**DRIFT, "passive_phi": phi, "reaction": reaction}, **PASSIVE)
    figure = plot.passive(made)
    assert said(figure) == [
        ("passive drift at velocity level", "|β| [m/s, rad/s]", "log"),
        ("reactions", "|λ| [N]", "linear"),
        ("reactions", "|λ| [N·m]", "linear"),
    ]
    assert wide(figure) == [False, True, True]
    _, forces, moments = figure.axes
    shows(forces, line(T, [5.0, 1.0, 10.0], 0, "-", "loop"))
    shows(moments, line(T, [2.0, 2.0, 1.0], 0, "-", "hinge"))


def test_grip_shows_the_rank_in_steps_and_the_rest_on_decades(rows):
    parts = {"rank": [2.0, 1.0, 2.0], "sigma_min": [0.5, NAN, 0.5], "reach": [0.0, 0.1, 0.0]}
    figure = plot.grip(rows(T, np.ones((3, 2)), **parts))
    rank, sigma, reach = figure.axes
    assert said(figure) == [
        ("rank of H", "rank", "linear"),
        ("smallest singular value of H", sigma.get_ylabel(), "log"),
        ("demand out of reach", "[m/s²]", "log"),
    ]
    assert sigma.get_ylabel().startswith("[(m/s²)/(")
    shows(rank, line(T, parts["rank"], 0, "- step"))
    shows(sigma, line(T, [0.5, 1e-300, 0.5], 0))
    shows(reach, line(T, [1e-300, 0.1, 1e-300], 0))
    limits(rank, y=(-0.3, 2.3))
    assert all(float(place).is_integer() for place in rank.get_yticks())
    few = plot.grip(rows(T, np.ones((3, 2)), reach=[NAN] * 3, sigma_min=[0.5] * 3))
    assert [heading(axes) for axes in few.axes] == ["smallest singular value of H"]


def test_signals_have_panels_of_their_own_and_an_error_stands_with_its_bound():
    signals = {
        "hat": SignalSeries(values=np.array([1.0, 2.0, 3.0]), units="1/s^2", long_name="adapted"),
        "pair": SignalSeries(values=U[:, :2], units="1", components=("x", "y")),
        "arm_error": SignalSeries(values=np.array([0.1, 0.2, 0.1]), units="rad", long_name="arm"),
        "arm_bound": SignalSeries(values=np.array([0.3, 0.3, 0.3]), units="rad", long_name="most"),
        "lone_bound": SignalSeries(values=np.array([1.0, 1.0, 1.0]), units="rad"),
        "none": SignalSeries(values=np.full(3, NAN), units="rad"),
    }
    figure = plot.signals(run({}, signals=signals, switches=[0.5]))
    assert [words[:2] for words in said(figure)] == [
        ("adapted", "hat [1/s²]"),
        ("pair", "pair"),
        ("arm", "arm_error [rad]"),
        ("lone_bound", "lone_bound [rad]"),
    ]
    switch = upright(0.5, "muted", "--")
    hat, pair, arm, lone = figure.axes
    shows(hat, switch, line(T, [1.0, 2.0, 3.0], 0))
    shows(pair, switch, line(T, U[:, 0], 0, "-", "x"), line(T, U[:, 1], 1, "-", "y"))
    shows(
        arm, switch, line(T, [0.1, 0.2, 0.1], 0, "-", "error"), line(T, [0.3] * 3, 1, "-", "bound")
    )
    shows(lone, switch, line(T, [1.0] * 3, 0))
    assert legend(arm) == [("error", 0, "-"), ("bound", 1, "-")]


def test_a_long_name_of_a_signal_is_cut_and_its_unit_is_not():
    signals = {"n" * 30: SignalSeries(values=T, units="rad", long_name="t" * 40)}
    ((title, label, _),) = said(plot.signals(run({}, signals=signals)))
    assert (title, label) == ("t" * 33 + "…", "n" * 21 + "… [rad]")


def whole_run(gap=slice(0)):
    """Return a run that has everything, unknown in a gap, and what it is of."""
    t, rng = np.arange(4.0), np.random.default_rng(1)
    sizes = {
        "q": 2, "v": 2, "q_measured": 2, "v_measured": 2, "u": 2, "u_commanded": 2, "phi": 2,
        "beta": 2, "passive_phi": 1, "passive_beta": 1, "passive_force": 2, "energy": 0,
        "supplied_energy": 0, "rank": 0, "sigma_min": 0, "reach": 0, "q_estimate_error": 2,
        "v_estimate_error": 2, "nees": 0, "nis": 0, "keep": 1, "keep_binding": 1,
    }  # fmt: skip
    samples = {
        name: rng.uniform(0.1, 1.0, (4, size) if size else 4) for name, size in sizes.items()
    }
    samples |= {
        name: rng.uniform(0.1, 1.0, (4, 1, 3)) for name in ("frame_position", "frame_reference")
    }
    samples = {name: np.sort(each, axis=0) for name, each in samples.items()}
    signal = rng.uniform(0.1, 1.0, 4)
    for each in (*samples.values(), signal):
        each[gap] = NAN
    return run(
        samples, time=t, signals={"hat": SignalSeries(values=signal, units="1")}, frames=("tool",),
        coordinates=("a", "b"), coordinate_units=("rad", "m"), dofs=("va", "vb"),
        dof_units=("rad/s", "m/s"), actuators=("u1", "u2"), actuator_units=("N m", "N"),
        rows=("x", "y"), row_units=("m", "rad"), row_blocks=("one", "two"),
        passive_rows=("loop",), passive_row_units=("m",), keep_rows=("wall",),
        keep_row_units=("m",), keep_row_blocks=("wall",), keep_row_missed_units=("m/s^2",),
    )  # fmt: skip


def test_what_is_unknown_for_a_moment_is_drawn_all_the_same():
    """Every figure has its panels, sharp enough for a page, wherever some of it is known."""
    known, gap = whole_run(), whole_run(slice(1, 2))
    assert plot.available(gap) == plot.available(known) == tuple(plot.FIGURES)
    for name in plot.FIGURES:
        figure, other = plot.draw(known, name), plot.draw(gap, name)
        assert said(other) == said(figure), name
        assert [len(axes.lines) for axes in other.axes] == [len(axes.lines) for axes in figure.axes]
        assert figure.get_size_inches()[0] * figure.get_dpi() >= 1200.0


def test_a_measurement_is_drawn_by_how_much_it_is_off_without_the_end_of_the_run():
    off = np.array([[1e-3, 0.5, 0.0, 2e-3], [2e-3, 1.0, 0.25, 0.0], [9.0, 9.0, 9.0, 9.0]])
    samples = {"q": Q, "v": V, "q_measured": Q + off, "v_measured": V + 0.5}
    figure = plot.measured(run(samples, **JOINTS))
    assert [words[:2] for words in said(figure)] == [
        ("measurement error", "q measured - true [mrad]"),
        ("measurement error", "q measured - true [m]"),
        ("measurement error", "q measured - true [1]"),
        ("measurement error", "v measured - true [rad/s]"),
        ("measurement error", "v measured - true [m/s]"),
    ]
    angles, positions, *_ = figure.axes
    shows(angles, line(T[:2], [1.0, 2.0], 0, "-", "a"), line(T[:2], [2.0, 0.0], 1, "-", "c"))
    shows(positions, line(T[:2], [0.5, 1.0], 0, "-", "b"))
    limits(positions, x=(0.0, 1.0))
    alone = run({name: array[:1] for name, array in samples.items()}, time=T[:1], **JOINTS)
    shows(plot.measured(alone).axes[1], line([0.0], [0.5], 0, "o", "b"))


# What has something to show


@pytest.mark.parametrize(
    ("samples", "shown"),
    [
        ({"rank": [2.0, 2.0, 2.0]}, False),
        ({"rank": [2.0, 1.0, 2.0]}, True),
        ({"rank": [NAN] * 3}, False),
        ({"reach": [0.0, 1e-7, 0.0]}, False),
        ({"reach": [0.0, 1e-5, NAN]}, True),
        ({"sigma_min": [1.0, 0.9, 1.0]}, False),
        ({"sigma_min": [1.0, 5e-4, NAN]}, True),
        ({"sigma_min": [1e-6, 1e-6, 1e-6]}, False),
    ],
)
def test_grip_is_worth_a_figure_where_it_is_lost_or_nearly(rows, samples, shown):
    found = plot.available(rows(T, np.ones((3, 2)), **samples))
    assert ("grip" in found) == shown


@pytest.mark.parametrize(
    ("samples", "names", "figures"),
    [
        ({"q": Q, "v": V}, JOINTS, ("motion",)),
        ({"q": Q, "v": V, "q_measured": Q, "v_measured": V}, JOINTS, ("motion", "measured")),
        ({"u": U}, MOTORS, ("inputs",)),
        ({"u": 0.0 * U}, MOTORS, ()),
        ({"energy": T}, {}, ("energy",)),
        ({**DRIFT, "passive_phi": np.full((3, 3), NAN)}, PASSIVE, ("passive",)),
        ({**DRIFT, "passive_beta": np.full((3, 3), NAN)}, PASSIVE, ("passive",)),
        ({"frame_position": Q[:, None, :3]}, {"frames": ["tool"]}, ("path",)),
    ],
)
def test_a_figure_is_there_for_what_was_recorded(samples, names, figures):
    assert plot.available(run(samples, **names)) == figures


def test_colours_of_curves_are_told_apart():
    assert sorted(map(role, plot.style.PALETTE)) == list(range(8))


def test_what_is_kept_is_drawn_with_its_zero_its_margin_and_the_time_at_it():
    left = np.stack([1.0 - T, 2.0 - 0.0 * T, 3.0 + T], axis=1)
    binding = np.stack([0.5 * T[-1] < T, T < 0.0, T < 0.0], axis=1).astype(float)
    names = ("wall", "ends.q1", "ends.q1.forward")
    kept = {"keep_rows": names, "keep_row_units": ("m", "rad", "rad/s"),
            "keep_row_blocks": ("wall", "ends", "ends"), "keep_row_margins": (0.25, 0.0, 0.0),
            "keep_row_missed_units": ("m/s^2", "rad/s^2", "rad/s^2")}  # fmt: skip
    made = run({"keep": left, "keep_binding": binding}, **kept)
    assert "kept" in plot.available(made)
    figure = plot.inequality_margins(made)
    assert [axes.get_ylabel() for axes in figure.axes] == ["h [m]", "h [rad]", "h [rad/s]"]
    wall, ends, _ = figure.axes
    flat = [float(line.get_ydata()[0]) for line in wall.lines if len(line.get_xdata()) == 2]
    assert flat == [0.0, 0.25]
    assert [len(axes.collections) for axes in (wall, ends)] == [1, 0]  # the shade


def test_of_many_limits_those_are_drawn_that_bound_longest_or_came_nearest():
    count = 15
    left = 1.0 + np.arange(float(count)) + 0.0 * T[:, None]
    binding = (np.arange(count) == 14) & (T[:, None] > 1.0)
    names = tuple(f"wall_{k}" for k in range(count))
    made = run(
        {"keep": left, "keep_binding": binding.astype(float)}, keep_rows=names,
        keep_row_units=("m",) * count, keep_row_blocks=names, keep_row_margins=(0.0,) * count,
        keep_row_missed_units=("m/s^2",) * count,
    )  # fmt: skip
    titles = [heading(axes) for axes in plot.inequality_margins(made).axes]
    assert titles[0] == "wall_0, 12 of 15 limits"
    assert titles[1:] == [f"wall_{k}" for k in (*range(1, 11), 14)]
