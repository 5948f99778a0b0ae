"""Figures of recomputed papers: which curve is which quantity of which run, made by hand."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from pictures import across, labels, legend, limits, line, marks, role, shows, texts, ticks, upright

from ukctrl_papers.pseudoinverses import figures as pseudoinverses
from ukctrl_papers.review import figures as review
from ukctrl_papers.servo import figures as servo

scara = importlib.import_module("ukctrl_papers.scara.figures")  # its package has the function
T = np.array([0.0, 1.0, 2.0])


class Made(dict):
    """A run with these arrays."""

    time = T


def columns(count, first=1.0, shape=None):
    """Return columns that all differ."""
    values = first + np.outer([0.0, 1.0, 3.0], np.arange(1.0, count + 1.0)) + np.arange(count)
    return values if shape is None else values.reshape(shape)


def drawn_by(module, monkeypatch, **given):
    """Return the figures of a paper by name, with some of its functions replaced."""
    for name, value in given.items():
        target, _, attribute = name.rpartition("__")
        monkeypatch.setattr(getattr(module, target) if target else module, attribute, value)
    yielded = (module.paper_figures if module is scara else module.drawings)()
    return {each.name: each.draw for each in yielded}


def dashed(x, y, name=""):
    return line(x, y, "ink", "--", name)


def titles(figure):
    return [axes.get_title() for axes in figure.axes]


# Müller and Zheng's review


POLAR = Made(q=columns(2), u=columns(2, 7.0), phi=columns(1, 0.1), beta=columns(1, 0.2))
LINKS = Made(v=columns(2), beta=columns(1, 0.9))


@pytest.fixture(name="of_review")
def _of_review(monkeypatch):
    polar_off = Made(phi=columns(1, 5.0), beta=columns(1, 6.0))
    runs = {
        ("log-spiral-particle-polar",): POLAR,
        ("log-spiral-particle-polar", *review.OFF_START): polar_off,
        ("log-spiral-particle",): Made(q=columns(2, 3.0)),
        ("swarm",): Made(q=columns(10), beta=columns(2)),
        ("swarm-decay",): Made(q=columns(10, 4.0), beta=columns(2, 0.5)),
        ("flexible-joint-arm-links",): LINKS,
        ("projectile",): Made(q=columns(2)),
        ("projectile-polar",): Made(q=columns(2, 0.3)),
    }
    return drawn_by(
        review,
        monkeypatch,
        run=lambda *name: runs[name],
        link_motion=lambda arm, t: columns(4, 9.0),
        motor_motion=lambda arm, t, P: columns(6, P),
    )


def test_the_spiral_stands_beside_its_closed_form(of_review):
    figure = of_review["spiral"]()
    one, two, three = figure.axes
    r, theta = POLAR["q"].T
    exact_theta = 30.0 - T
    exact_r = np.exp(0.1 * exact_theta)
    shows(one, line(theta, r, 0, "-", "simulated"), dashed(exact_theta, exact_r, "exp(theta/10)"))
    shows(two, line(T, r, 0), dashed(T, exact_r), upright(20.0, "muted", ":"))
    shows(three, line(T, theta, 0), dashed(T, exact_theta))
    assert titles(figure) == ["r over theta", "r", "theta"]
    assert [labels(axes)[:2] for axes in figure.axes] == [
        ("theta [rad]", "r [m]"),
        ("time [s]", "r [m]"),
        ("time [s]", "theta [rad]"),
    ]
    assert [mark.name for mark in texts(two)] == ["2.72 m at 20 s"]
    assert two.get_ylim()[0] == 0.0
    assert [entry[0] for entry in legend(one)] == ["simulated", "exp(theta/10)"]


def test_the_particles_path_begins_at_its_start_with_the_force_per_mass_beside(of_review):
    plane, force = of_review["path"]().axes
    x, y = columns(2, 3.0).T
    shows(plane, line(x, y, 0), line(x[:1], y[:1], 1, "o"))
    assert [mark.name for mark in texts(plane)] == ["G, the start"]
    assert labels(plane)[:2] == ("x [m]", "y [m]")
    assert plane.get_aspect() == 1.0
    per_mass = POLAR["u"] / np.column_stack([np.ones(3), POLAR["q"][:, 0] ** 2])
    r, theta = np.exp(0.1 * (30.0 - T)), 30.0 - T
    gravity = 9.81
    shows(
        force,
        line(T, per_mass[:, 0], 0, "-", "F_r [N]"),
        dashed(T, -0.99 * r + gravity * np.sin(theta)),
        line(T, per_mass[:, 1], 1, "-", "F_theta [rad/s²]"),
        dashed(T, 0.2 + gravity * np.cos(theta) / r, "closed form"),
    )
    assert len(legend(force)) == 3


def test_the_spirals_errors_are_of_the_exact_start_and_of_the_other(of_review):
    exact, off = of_review["errors"]().axes
    for axes, phi, beta in ((exact, 0.1, 0.2), (off, 5.0, 6.0)):
        shows(
            axes,
            line(T, columns(1, phi)[:, 0], 0, "-", "epsilon 1"),
            line(T, columns(1, beta)[:, 0], 1, "-", "epsilon 2"),
        )
    assert [axes.get_title() for axes in (exact, off)] == [
        "consistent start: rounding",
        "start off the spiral: linear",
    ]
    assert len(legend(off)) == 2


def test_the_flight_is_the_same_in_both_coordinates(of_review):
    plane, over_time = review.projectile_flight().axes
    (x, y), (r, theta) = columns(2).T, columns(2, 0.3).T
    shows(
        plane,
        line(x, y, 0, "-", "Cartesian"),
        line(r * np.cos(theta), r * np.sin(theta), 1, "--", "polar"),
    )
    shows(
        over_time,
        line(T, r, 0, "-", "r [m]"),
        line(T, theta, 1, "-", "theta [rad]"),
        dashed(T, np.hypot(x, y)),
        dashed(T, np.arctan2(y, x), "from x and y"),
    )
    assert labels(plane)[:2] == ("x [m]", "y [m]")
    assert (len(legend(plane)), len(legend(over_time))) == (2, 3)


def test_the_swarm_has_a_path_a_start_and_an_end_for_each_robot(of_review):
    figure = of_review["swarm"]()
    plain, decaying = columns(10, shape=(3, 5, 2)), columns(10, 4.0, shape=(3, 5, 2))
    for axes, x in zip(
        figure.axes, (plain, decaying, decaying - decaying.mean(axis=1, keepdims=True)), strict=True
    ):
        wanted = [
            mark
            for k in range(5)
            for mark in (
                line(*x[:, k].T, k),
                line(*x[:1, k].T, k, "o"),
                line(*x[-1:, k].T, k, "s"),
            )
        ]
        found = marks(axes)
        if axes is figure.axes[2]:
            circle = found.pop()
            assert (circle.color, circle.look) == ("ink", ":")
            np.testing.assert_allclose(np.hypot(*circle.where), 0.1 / np.tan(np.pi / 10.0))
        assert [m._replace(where=()) for m in found] == [m._replace(where=()) for m in wanted]
        for mark, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mark.where, other.where)
        assert (axes.get_xlabel(), axes.get_aspect()) == ("x [m]", 1.0)
    assert figure.axes[0].get_ylabel() == "y [m]"
    assert titles(figure) == ["the printed law", "with decay", "with decay, around the centre"]


def test_the_swarms_error_is_the_norm_beside_what_the_paper_claims(of_review):
    (axes,) = of_review["beta"]().axes
    claim = across(0.01, "muted", ":")._replace(name="0.01, the paper's claim")
    shows(
        axes,
        line(T, np.linalg.norm(columns(2), axis=1), 1, "-", "the printed law: constant"),
        line(T, np.linalg.norm(columns(2, 0.5), axis=1), 0, "-", "with the term -3 beta"),
        claim,
    )
    assert labels(axes) == ("time [s]", "|beta| [m/s]", "linear", "log")
    assert len(legend(axes)) == 3
    limits(axes, x=(0.0, 6.0), y=(1e-6, 1e3))


def test_the_arms_rates_stand_beside_plain_arrays(of_review):
    error, rates, fails = of_review["arm"]().axes
    shows(
        error,
        line(T, LINKS["beta"][:, 0], 0, "-", "P = 0.4 s"),
        dashed(T, 0.9 * np.exp(-T / 0.4), "0.9 exp(-t/P)"),
    )
    plain = columns(4, 9.0)
    shows(
        rates,
        line(T, LINKS["v"][:, 0], 0, "-", "link 1"),
        dashed(T, plain[:, 2]),
        line(T, LINKS["v"][:, 1], 1, "-", "link 2"),
        dashed(T, plain[:, 3], "on plain arrays"),
    )
    shows(fails, line(T, columns(6, 0.2)[:, 4:6].sum(axis=1), 1, "-", "P = 0.2 s"))
    assert error.get_ylabel() == "rate [rad/s]"
    assert [len(legend(axes)) for axes in (error, rates, fails)] == [2, 3, 1]


# Pseudoinverses


@pytest.fixture(name="of_pseudoinverses")
def _of_pseudoinverses(monkeypatch):
    cases = [*pseudoinverses.UNSTABILISED_CASES.values(), *pseudoinverses.STABILISED_CASES.values()]

    def history(case):
        k = 10.0 ** cases.index(case)
        return SimpleNamespace(t=T, violation=k * 1e-9 * (T + 1.0), twelfth=k * 1e-7 * (T + 1.0))

    return drawn_by(pseudoinverses, monkeypatch, violation_history=history)


def test_violations_without_and_with_stabilisation(of_pseudoinverses):
    left, right = of_pseudoinverses["violation"]().axes
    for axes, names, first in (
        (left, pseudoinverses.UNSTABILISED_CASES, 1e-9),
        (right, pseudoinverses.STABILISED_CASES, 1e-7),
    ):
        sizes = zip(names, (first, 10.0 * first), strict=True)
        shows(
            axes,
            *(
                line(T[1:], k * (T[1:] + 1.0), place, "-", name)
                for place, (name, k) in enumerate(sizes)
            ),
        )
        assert axes.get_yscale() == "log"
        assert axes.get_xlabel() == "time [s]"
        assert [entry[0] for entry in legend(axes)] == list(names)
        limits(axes, x=(0.0, 20.0), y=(1e-12, 10.0))
    assert left.get_ylabel() == "violation [m]"
    assert titles(left.figure) == ["a) without stabilisation", "b) with Baumgarte stabilisation"]
    powers = {"10⁻¹²", "10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"}
    assert set(ticks(left.yaxis).values()) == powers


def test_the_twelfth_singular_value_stands_beside_the_thresholds(of_pseudoinverses):
    (axes,) = of_pseudoinverses["rank"]().axes
    one, two = pseudoinverses.UNSTABILISED_CASES
    shows(
        axes,
        line(T[1:], 1e-7 * (T[1:] + 1.0), 0, "-", one),
        across(1e-3, 0, "--"),
        line(T[1:], 1e-6 * (T[1:] + 1.0), 1, "-", two),
        across(1e-8, 1, "--"),
        line(T[-1:], [3e-6], 1, "o", "stalls"),
    )
    assert labels(axes) == ("time [s]", "twelfth singular value of D", "linear", "log")
    assert len(legend(axes)) == 3
    limits(axes, x=(0.0, 20.0), y=(1e-13, 0.1))


# Xu and Liu's SCARA


def scara_run(first):
    return Made(
        q=columns(4, first),
        joint_error=columns(3, 0.1 * first),
        slide_error=columns(1, 0.2 * first),
        phi=columns(4, 0.3 * first),
        u=columns(4, first),
        frame_position=columns(3, first)[:, None],
        frame_reference=columns(3, 2.0 * first)[:, None],
    )


@pytest.fixture(name="of_scara")
def _of_scara(monkeypatch):
    drifts = {(scara.DRIFT,): 1.0, (scara.STABILISED,): 2.0}
    near = {(scara.DRIFT, scara.NEAREST_START): 3.0, (scara.DRIFT, scara.NEAREST_START, True): 4.0}
    runs = {name: scara_run(first) for name, first in (drifts | near).items()}
    return drawn_by(
        scara,
        monkeypatch,
        run=lambda *name: runs[name],
        dormand_prince=lambda start: (T + 5.0, columns(4, start[0])),
    )


BOTH = ((1.0, "not stabilised", 1), (2.0, "stabilised", 0))


def error_of(first, k):
    return columns(3, 0.1 * first)[:, k] if k < 3 else columns(1, 0.2 * first)[:, 0]


def test_the_joints_stand_beside_where_the_constraints_would_have_them(of_scara):
    figure = of_scara["motion"]()
    axes = np.reshape(figure.axes, (2, 2))
    for column, (first, title, _) in enumerate(BOTH):
        q = columns(4, first)
        for row, joints in enumerate(([0, 1, 2], [3])):
            shows(
                axes[row, column],
                *(
                    mark
                    for k in joints
                    for mark in (
                        line(T, q[:, k], k % 3, "-", f"q{k + 1}"),
                        dashed(
                            T, q[:, k] - error_of(first, k), "on the constraints" if k > 1 else ""
                        ),
                    )
                ),
            )
        assert axes[0, column].get_title() == title
        assert axes[1, column].get_xlabel() == "time [s]"
    assert [each.get_ylabel() for each in axes[:, 0]] == ["angle [rad]", "stroke [m]"]
    assert [len(legend(each)) for each in axes[:, 1]] == [4, 2]


def test_the_tool_is_drawn_in_space(of_scara):
    for axes, (first, title, color) in zip(of_scara["path"]().axes, BOTH, strict=True):
        tool, path = axes.lines
        np.testing.assert_array_equal(tool.get_data_3d(), columns(3, first).T)
        np.testing.assert_array_equal(path.get_data_3d(), columns(3, 2.0 * first).T)
        assert (role(tool.get_color()), role(path.get_color())) == (color, "ink")
        assert (axes.get_title(), axes.get_zlabel()) == (title, "z [m]")
        assert labels(axes)[:2] == ("x [m]", "y [m]")
        assert [entry[0] for entry in legend(axes)] == ["tool", "path"]


def test_errors_of_joints_and_of_the_tool_are_drawn_before_and_after(of_scara):
    joints, tool = of_scara["joint-errors"](), of_scara["displacement-errors"]()
    for k, axes in enumerate(joints.axes):
        shows(axes, *(line(T, error_of(first, k), color, "-", name) for first, name, color in BOTH))
        assert axes.get_ylabel() == ("error [rad]" if k < 3 else "error [m]")
    for k, axes in enumerate(tool.axes):
        shows(
            axes,
            *(
                line(T, 1e3 * columns(4, 0.3 * first)[:, k], color, "-", name)
                for first, name, color in BOTH
            ),
        )
    assert titles(joints) == ["q1", "q2", "q3", "q4"]
    assert titles(tool) == ["x", "y", "z"]
    assert tool.axes[0].get_ylabel() == "error [mm]"
    assert len(legend(joints.axes[0])) == len(legend(tool.axes[1])) == 2


def test_the_constraint_torques_are_those_of_the_stabilised_run(of_scara):
    torques, force = of_scara["torques"]().axes
    u = columns(4, 2.0)
    shows(torques, *(line(T, u[:, k], k, "-", f"Q_c{k + 1}") for k in range(3)))
    shows(force, line(T, u[:, 3], 0, "-", "Q_c4"), dashed([0.0, 2.0], [4.905, 4.905], "m4 g"))
    assert (torques.get_ylabel(), force.get_ylabel()) == ("torque [N m]", "force [N]")
    assert (len(legend(torques)), len(legend(force))) == (3, 2)


def test_what_coarse_integrators_make_of_the_drift_stands_beside_what_was_printed(of_scara):
    figure = of_scara["coarse"]()
    for k, (axes, printed) in enumerate(zip(figure.axes, (0.8, 7.0), strict=True)):
        shows(
            axes,
            line(T, 1e3 * columns(4, 0.9)[:, k], 1, "-", "DOP853, 1e-9"),
            line(T, 1e3 * columns(4, 1.2)[:, k], 0, "-", "RK45, 1e-3"),
            line(T + 5.0, 1e3 * columns(4, np.radians(31.0))[:, k], 2, "-", "as ode45, 1e-3"),
            across(-printed, "ink", ":"),
            across(printed, "ink", ":")._replace(name="largest printed"),
        )
    assert titles(figure) == ["x", "y"]
    assert figure.axes[0].get_ylabel() == "error [mm]"
    assert len(legend(figure.axes[1])) == 4


# Two arms that carry a bar


@pytest.fixture(name="of_servo")
def _of_servo(monkeypatch):
    firsts = dict(zip(servo.READING_STYLES, (1.0, 2.0, 3.0, 4.0), strict=True))
    time = np.linspace(0.0, np.pi, 21)
    angles = np.outer(np.linspace(0.0, 1.0, 21), np.arange(1.0, 6.0))
    whole = Made(q=angles)
    whole.time = time
    squeezed = {
        None: Made(u=columns(6), left=columns(3)),
        20.0: Made(u=columns(6, 5.0), left=columns(3, 9.0)),
    }
    late = np.array([0.0, 0.5, 0.94, 1.0, 1.5])
    theta = np.outer(late, [0.1, 0.2, -0.3, 0.4, 0.5])
    return drawn_by(
        servo,
        monkeypatch,
        runs__reading_torques=lambda reading: (T, columns(6, firsts[reading])),
        runs__arms_run=lambda reading: whole,
        runs__squeeze_run=lambda force: squeezed[force],
        newton_euler__bar_forces=lambda run: SimpleNamespace(left_force=run["left"]),
        literal_steps__literal_run=lambda closed: SimpleNamespace(time=late, theta=theta + closed),
        literal_steps__angles_at=lambda ran, t: np.array([0.5, 0.0, 0.0, 0.0, t]) + ran.theta[0],
    )


def test_the_torques_of_every_reading_stand_in_the_printed_range(of_servo):
    figure = of_servo["torques"]()
    looks = [
        ("minimum norm", 0, "-"),
        ("consistent", 1, "-"),
        ("stacked", 2, "--"),
        ("literal", 4, ":"),
    ]
    for k, axes in enumerate(figure.axes):
        shade, *curves = marks(axes)
        assert (shade.kind, shade.color, shade.look, shade.name) == (
            "across",
            "grid",
            "filled",
            "range in the text",
        )
        np.testing.assert_array_equal(shade.where[1], servo.runs.PRINTED_RANGES[k])
        wanted = [
            line(T, columns(6, first)[:, k], color, dash, name)
            for first, (name, color, dash) in enumerate(looks, 1)
        ]
        assert [m._replace(where=()) for m in curves] == [m._replace(where=()) for m in wanted]
        for mark, other in zip(curves, wanted, strict=True):
            np.testing.assert_array_equal(mark.where, other.where)
    assert titles(figure) == [f"u{k}" for k in range(1, 7)]
    assert [axes.get_ylabel() for axes in figure.axes] == ["torque [N m]", "", ""] * 2
    (box,) = figure.legends
    assert [words.get_text() for words in box.get_texts()] == [
        "range in the text",
        *(name for name, *_ in looks),
    ]


def joints_of(theta):
    """Return the corners of a chain of five links of one metre."""
    return np.array([[0.0, *np.cumsum(side)] for side in (np.cos(theta), np.sin(theta))])


def chain_of(theta, color, name=""):
    x, y = joints_of(theta)
    return line(x, y, color, "-o", name), line(x[2:4], y[2:4], color)


BASES = line([0.0, 3.0], [0.0, 0.0], "muted", "^")


def test_the_arms_are_drawn_at_four_moments_with_their_angles_beside(of_servo):
    arms, angles = of_servo["motion"]().axes
    places = [0, 8, 13, 20]  # of 21 samples over half a period: 0, 0.4, 0.65 and all of it
    q = np.outer(np.linspace(0.0, 1.0, 21), np.arange(1.0, 6.0))
    shows(arms, *(mark for k in places for mark in chain_of(q[k], 0)), BASES)
    time = np.linspace(0.0, np.pi, 21)
    colors = (0, 1, "ink", 2, 3)
    shows(
        angles,
        *(line(time, np.degrees(q[:, k]), colors[k], "-", f"θ{k + 1}") for k in range(5)),
    )
    assert arms.get_title() == "start to top, half a period"
    assert labels(arms)[:2] == ("x [m]", "y [m]")
    assert arms.get_aspect() == 1.0
    assert labels(angles)[:2] == ("time [s]", "angle [deg]")
    assert len(legend(angles)) == 5
    assert angles.get_yticks().tolist() == [-90, -60, -30, 0, 30, 60, 90]


def test_the_printed_steps_open_the_chain_or_leave_the_path(of_servo):
    shapes, errors = of_servo["word-by-word"]().axes
    bent = np.array([0.5, 0.0, 0.0, 0.0, 0.8])
    exact = servo.arms.known_motion(0.8).theta
    shows(
        shapes,
        *chain_of(exact, "faint", "wanted"),
        *chain_of(bent, 1, "not closed"),
        *chain_of(bent + 1.0, 4, "really closed"),
        BASES,
    )
    late = np.array([0.0, 0.5, 0.94, 1.0, 1.5])
    theta = np.outer(late, [0.1, 0.2, -0.3, 0.4, 0.5])
    open_by = [np.hypot(np.cos(each).sum() - 3.0, np.sin(each).sum()) for each in theta[:3]]
    closed = theta[:4] + 1.0
    height = np.sin(closed[:, 0]) + np.sin(closed[:, 1]) + 0.5 * np.sin(closed[:, 2])
    shows(
        errors,
        line(late[:3], open_by, 1, "-", "closure open [m]"),
        line(
            late[:4],
            np.abs(height - 0.5 * (1.0 - np.cos(late[:4]))),
            4,
            "-",
            "load off its path [m]",
        ),
        line(late[:4], np.abs(closed[:, 2]), 4, "--", "bar turned [rad]"),
    )
    assert shapes.get_title() == "after 0.8 s"
    assert errors.get_xlabel() == "time [s]"
    assert (len(legend(shapes)), len(legend(errors))) == (3, 3)


def test_the_bar_squeezed_and_left_alone(of_servo):
    forces, left, right = of_servo["squeeze"]().axes
    shows(
        forces,
        line(T, columns(3)[:, 0], 0, "-", "not asked for"),
        line(T, columns(3, 9.0)[:, 0], 1, "-", "20 N"),
    )
    dashes = ("-", "--", ":")
    for axes, of, motors in ((left, "left arm", (0, 1, 2)), (right, "right arm", (3, 4, 5))):
        shows(
            axes,
            *(line(T, columns(6)[:, k], 0, dashes[k % 3]) for k in motors),
            *(line(T, columns(6, 5.0)[:, k], 1, dashes[k % 3], f"u{k + 1}") for k in motors),
        )
        assert (axes.get_title(), axes.get_ylabel()) == (of, "torque [N m]")
        assert len(legend(axes)) == 3
        low, high = axes.get_ylim()
        assert low < columns(6)[:, motors].min()
        assert high > columns(6, 5.0)[:, motors].max()
    assert (forces.get_title(), forces.get_ylabel()) == ("force along the bar", "force [N]")
    assert len(legend(forces)) == 2
    limits(forces, y=(-12.0, 32.0))
