"""True robots drawn from a fit: what they are distributed like, and scenarios that have them."""

from __future__ import annotations

import dataclasses as dc
import json
import shutil

import numpy as np
import pytest
from identified_robots import PinocchioDynamics, random_body

from tests.shared.command import ended
from ukctrl import Result, Robot, Scenario, compare, simulate
from ukctrl.cli import tune as tuning
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.simulation.assemble.scenario_robots import believed_robot, true_robot
from ukctrl.simulation.effects import Mismatch
from ukctrl.simulation.effects.effect import effect_rng
from ukctrl.simulation.export.robot_files import copy_robot_files
from ukctrl.simulation.result.atomic_files import toml_text
from ukctrl.studies.comparison.comparison_figures import mismatch_figure
from ukctrl.studies.comparison.comparison_tables import robustness_table
from ukctrl.studies.tuning import Plants
from ukctrl_identification.identified_dynamics import DofFriction, IdentifiedDynamics
from ukctrl_identification.identified_files import write_identified
from ukctrl_identification.identified_json import FILE, read_identified, write_identified_json
from ukctrl_identification.identified_spread import (
    draw_dynamics,
    parameter_names,
    pseudo_inertia,
    stacked_parameters,
    with_parameters,
)
from ukctrl_identification.robot_dynamics import dynamics_of


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def two_bodies(rng):
    """Return two bodies far from the border, with armature and friction."""
    return IdentifiedDynamics(
        {"shoulder": random_body(rng), "elbow": random_body(rng)},
        {"shoulder": 0.5},
        {
            "elbow": DofFriction(0.6, 0.4, -0.1, static=0.9),
            "shoulder": DofFriction(0.5, 0.3),
        },
    )


def covariance_of(rng, deviations):
    """Return a covariance with correlations between all parameters, and these deviations."""
    A = rng.standard_normal((len(deviations), 2 * len(deviations)))
    C = A @ A.T
    scale = deviations / np.sqrt(np.diag(C))
    return C * np.outer(scale, scale)


def test_parameters_are_stacked_body_by_body_then_by_kind(rng):
    dynamics = two_bodies(rng)
    names = parameter_names(dynamics)
    assert names[:2] == [("shoulder", "m"), ("shoulder", "mx")]
    assert names[10] == ("elbow", "m")
    assert names[20:23] == [("shoulder", "armature"), ("elbow", "coulomb"), ("shoulder", "coulomb")]
    assert names[23:25] == [("elbow", "viscous"), ("shoulder", "viscous")]
    values = stacked_parameters(dynamics)
    np.testing.assert_array_equal(values[20:], [0.5, 0.6, 0.5, 0.4, 0.3, -0.1, 0.0])
    again = with_parameters(dynamics, values)
    np.testing.assert_array_equal(stacked_parameters(again), values)
    assert again.friction["elbow"].static == pytest.approx(0.9)
    more = with_parameters(dynamics, values + 0.1)
    assert more.friction["elbow"].static == pytest.approx(1.0)


def test_far_from_the_border_draws_have_mean_and_covariance_of_the_fit(rng):
    mean = two_bodies(rng)
    centre = stacked_parameters(mean)
    C = covariance_of(rng, np.full(len(centre), 1e-4))
    count = 200
    draws = np.array([stacked_parameters(draw_dynamics(mean, C, rng)) for _ in range(count)])
    whitened = np.linalg.solve(np.linalg.cholesky(C), (draws - centre).T)
    # of standard normal numbers: means within 5 deviations, and the spread of a sample covariance
    assert np.abs(whitened.mean(axis=1)).max() < 5.0 / np.sqrt(count)
    eigenvalues = np.linalg.eigvalsh(whitened @ whitened.T / count)
    ratio = len(centre) / count  # Marchenko and Pastur
    assert eigenvalues[0] > 0.7 * (1.0 - np.sqrt(ratio)) ** 2
    assert eigenvalues[-1] < 1.3 * (1.0 + np.sqrt(ratio)) ** 2


def test_near_the_border_draws_are_those_that_are_consistent_of_plain_ones(rng):
    """A rod whose moment about its own axis is hardly known."""
    body = np.array([1.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.08, 0.0, 0.0, 0.09])
    mean = IdentifiedDynamics({"j": body}, {}, {})
    deviations = np.zeros(10)
    deviations[[4, 6, 9]] = 0.02, 0.01, 0.01
    draws = np.array(
        [draw_dynamics(mean, np.diag(deviations**2), rng).bodies["j"] for _ in range(200)]
    )
    plain = body + deviations * rng.standard_normal((60_000, 10))
    consistent = np.linalg.eigvalsh(pseudo_inertia(plain)).min(axis=1) >= 0.0
    assert 0.2 < consistent.mean() < 0.8
    wanted = plain[consistent][:, [4, 6, 9]]
    assert np.linalg.eigvalsh(pseudo_inertia(draws)).min() > -1e-9
    error = draws[:, [4, 6, 9]].mean(axis=0) - wanted.mean(axis=0)
    assert np.abs(error).max() < 5.0 * wanted.std(axis=0).max() / np.sqrt(len(draws))
    np.testing.assert_allclose(draws[:, [4, 6, 9]].std(axis=0), wanted.std(axis=0), rtol=0.25)


def test_what_the_log_knows_of_unknown_parameters_is_kept_exactly(rng):
    """The sum of two masses is known to a milligram, each of them to half of itself."""
    mean = two_bodies(rng)
    n = len(stacked_parameters(mean))
    apart, together = np.zeros(n), np.zeros(n)
    apart[[0, 10]] = 1.0, -1.0
    together[[0, 10]] = 1.0, 1.0
    size = 0.5 * mean.bodies["shoulder"][0]
    C = size**2 * np.outer(apart, apart) + 1e-12 * np.outer(together, together)
    masses = np.array(
        [[body[0] for body in draw_dynamics(mean, C, rng).bodies.values()] for _ in range(40)]
    )
    total = sum(body[0] for body in mean.bodies.values())
    np.testing.assert_allclose(masses.sum(axis=1), total, rtol=0.0, atol=2e-5)
    assert masses[:, 0].std() > 0.1 * size


def test_what_cannot_be_negative_is_cut_at_zero(rng):
    mean = two_bodies(rng)
    deviations = np.zeros(len(stacked_parameters(mean)))
    deviations[20:] = 100.0
    drawn = [draw_dynamics(mean, np.diag(deviations**2), rng) for _ in range(20)]
    values = np.array([stacked_parameters(one)[20:] for one in drawn])
    assert values[:, :5].min() == 0.0
    assert values[:, 5:].min() < 0.0  # an asymmetry may be
    np.testing.assert_array_equal([*drawn[0].bodies.values()], [*mean.bodies.values()])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda C: C[1:], r"covariance must have shape \(27, 27\), as there are 27 parameters"),
        (lambda C: -C, "covariance must be symmetric and positive semidefinite"),
        (lambda C: C + np.triu(np.ones_like(C), 1), "covariance must be symmetric"),
        (lambda C: C * np.nan, "covariance must be symmetric"),
    ],
)
def test_a_covariance_that_is_none_is_refused(change, words, rng):
    mean = two_bodies(rng)
    C = np.eye(27) * 1e-6
    with pytest.raises(InputError, match=words):
        draw_dynamics(mean, change(C), rng)


def test_a_body_that_cannot_be_is_refused_only_where_it_is_drawn(rng):
    mean = two_bodies(rng)
    mean.bodies["elbow"][4] = 10.0
    C = np.zeros((27, 27))
    C[0, 0] = 1e-6
    draw_dynamics(mean, C, rng)
    C[10, 10] = 1e-6
    with pytest.raises(InputError, match="the body of joint 'elbow' must be physically consistent"):
        draw_dynamics(mean, C, rng)


def test_a_fit_without_room_around_it_is_refused(rng):
    """Points of mass, none of which is known to stay one."""
    point = np.array([1.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.01])
    mean = IdentifiedDynamics({f"j{i}": point for i in range(7)}, {}, {})
    with pytest.raises(InputError, match="no body in reach of the covariance is physically"):
        draw_dynamics(mean, np.diag(np.full(70, 1e-4)), rng)
    still = draw_dynamics(mean, np.zeros((70, 70)), rng)
    np.testing.assert_array_equal(still.bodies["j6"], point)


# Files and scenarios


@pytest.fixture
def fit(tmp_path, rng):
    """A folder with an identified robot, and the fit itself."""
    source = Robot.load("two_link")
    mean = two_bodies(rng)
    C = covariance_of(rng, 0.01 * np.ones(27))
    folder = tmp_path / "fit"
    write_identified(source, "two_link", mean, folder)
    more = {"validation": {"rms": {"shoulder": 0.1}}}
    write_identified_json(folder / FILE, source, mean, C, more)
    return folder, mean, C


SCENARIO = """title = "A true robot that a fit does not quite know"
robot = "./fit"
[[servo]]
kind = "joint_follows"
joints = ["shoulder", "elbow"]
path = { kind = "min_jerk", points = [[0, 0], ["20*deg", "-30*deg"]], duration = 0.1 }
[controller]
use = "computed-torque"
[timing]
duration = 0.1
control = "5*ms"
[integrator]
method = "RK4"
step = "5*ms"
[[effect]]
kind = "mismatch"
from = "fit"
"""


@pytest.fixture
def scenario(fit, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def test_a_fit_is_read_as_it_was_written(fit):
    folder, mean, C = fit
    for path in (folder, folder / FILE):
        dynamics, covariance = read_identified(path)
        np.testing.assert_array_equal(stacked_parameters(dynamics), stacked_parameters(mean))
        np.testing.assert_array_equal(covariance, C)
        assert dynamics.friction == mean.friction
    table = json.loads((folder / FILE).read_text())
    assert table["validation"] == {"rms": {"shoulder": 0.1}}
    first, armature = table["parameters"][1], table["parameters"][20]
    assert (first["joint"], first["name"], first["unit"]) == ("shoulder", "mx", "kg m")
    assert first["deviation"] == pytest.approx(0.01)
    assert (armature["name"], armature["unit"]) == ("armature", "kg m^2")
    assert len((folder / FILE).read_text().splitlines()) < 400


def test_units_along_slides_are_those_of_forces(tmp_path, rng):
    source = Robot.load("cart_pole")
    mean = IdentifiedDynamics({}, {}, {source.dofs[0]: DofFriction(1.0)})
    write_identified_json(tmp_path / FILE, source, mean, np.eye(3))
    units = [entry["unit"] for entry in json.loads((tmp_path / FILE).read_text())["parameters"]]
    assert units == ["N", "N s/m", "N"]
    with pytest.raises(ShapeError, match=r"must have shape \(3, 3\); got \(2, 2\)"):
        write_identified_json(tmp_path / FILE, source, mean, np.eye(2))


def test_the_order_of_parameters_is_that_of_the_file(fit):
    folder, _, C = fit
    table = json.loads((folder / FILE).read_text())
    order = np.random.default_rng(0).permutation(27)
    table["parameters"] = [table["parameters"][i] for i in order]
    table["covariance"] = C[np.ix_(order, order)].tolist()
    (folder / FILE).write_text(json.dumps(table))
    dynamics, covariance = read_identified(folder)
    by_name = {
        key: (value, row[i])
        for i, (key, value, row) in enumerate(
            zip(parameter_names(dynamics), stacked_parameters(dynamics), covariance, strict=True)
        )
    }
    for entry in table["parameters"]:
        value, variance = by_name[entry["joint"], entry["name"]]
        assert (value, np.sqrt(variance)) == pytest.approx((entry["value"], entry["deviation"]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t["parameters"].pop(3), "mz of 'shoulder' must be a parameter, as others"),
        (lambda t: t["parameters"][3].update(name="mq"), r"\[3\].name: must be one of m,"),
        (lambda t: t["parameters"][3].update(unit="kg"), "mz of 'shoulder' must be in kg m; got"),
        (lambda t: t["parameters"][3].update(name="mx"), "mx of 'shoulder' must be one number; it"),
        (lambda t: t["parameters"][3].update(value=None), r"\[3\].value: must be a number"),
        (lambda t: t["parameters"][3].pop("unit"), r"parameters\[3\].unit: is missing"),
        (lambda t: t["parameters"][3].update(sigma=1), r"parameters\[3\].sigma: unknown key"),
        (lambda t: t.pop("parameters"), "parameters: is missing"),
        (lambda t: t.pop("covariance"), "covariance must be 27 rows of 27 numbers"),
        (lambda t: t["covariance"].pop(), "covariance must be 27 rows of 27 numbers"),
        (lambda t: t["covariance"][2].pop(), "covariance must be 27 rows of 27 numbers"),
        (lambda t: t["covariance"][2].__setitem__(2, "x"), "covariance must be 27 rows of 27"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_fit_is_refused_in_one_line(fit, change, words):
    folder = fit[0]
    table = json.loads((folder / FILE).read_text())
    change(table)
    (folder / FILE).write_text(json.dumps(table))
    with pytest.raises(InputError, match=words) as error:
        read_identified(folder)
    assert str(error.value).startswith(str(folder / FILE))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "1e999", "[" * 5000])
def test_a_file_that_is_no_table_is_refused_in_one_line(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match="must be a table|it is not JSON"):
        read_identified(tmp_path)
    with pytest.raises(InputError, match="No such file or directory. ukctrl identify writes this"):
        read_identified(tmp_path / "nowhere")


def test_the_true_robot_is_the_draw_and_the_law_believes_the_fit(fit, scenario, rng):
    read = Scenario.load(scenario)
    (effect,) = read.effect
    robot = true_robot(read.robot)
    assert believed_robot(robot, read.believed) is robot
    true = effect.altered(robot, 0.0, effect_rng(read.seed, "mismatch"))
    drawn = draw_dynamics(fit[1], fit[2], effect_rng(read.seed, "mismatch"))
    wanted = PinocchioDynamics(robot, drawn)
    q, v = robot.random(rng), rng.standard_normal(2)
    np.testing.assert_allclose(true.snapshot(q, v).M, wanted.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(true.snapshot(q, v).nle, wanted.bias(q, v), rtol=1e-12, atol=1e-12)
    assert np.abs(true.snapshot(q, v).M - robot.snapshot(q, v).M).max() > 1e-4
    facts = effect.facts(robot, effect_rng(read.seed, "mismatch"))
    np.testing.assert_array_equal(facts["bodies"]["elbow"], drawn.bodies["elbow"])
    assert facts["friction"]["elbow"] == drawn.friction["elbow"]._asdict()


def test_a_seed_draws_a_robot_which_the_provenance_names(fit, scenario):
    runs = [simulate(Scenario.load(scenario, {"seed": seed})) for seed in (0, 0, 1)]
    first, same, other = ([one["drawn"] for one in run.provenance["effects"]] for run in runs)
    assert first == same
    assert first != other
    np.testing.assert_array_equal(runs[0]["v"], runs[1]["v"])
    assert np.abs(runs[0]["v"] - runs[2]["v"]).max() > 1e-6
    table = json.dumps(first)
    assert json.loads(table)[0]["armature"].keys() == {"shoulder"}


def test_the_effect_comes_back_from_what_was_saved_of_a_scenario(fit, scenario):
    read = Scenario.load(scenario)
    again = read.replace({"seed": 3})
    assert again.effect == read.effect
    assert read.effect[0] == Mismatch(identified=fit[0])
    assert dc.replace(read.effect[0], name="spread").identified == fit[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"effect.0.mass": 0.1}, r"effect\[0\]: from and mass contradict each other"),
        ({"effect.0.from": "nowhere"}, r"effect\[0\].from: must be a folder that exists"),
        ({"effect.0.fron": "fit"}, r"unknown key; did you mean 'from'\?"),
        ({"effect.0.from": "empty"}, r"from: .*identified.json: cannot be read: No such"),
        ({"robot": "scara"}, r"effect\[0\]: from: no joint that moves a body named 'shoulder'"),
        ({"robot": "crane_planar"}, r"effect\[0\]: from: .*no Pinocchio model"),
    ],
)  # fmt: skip
def test_a_draw_that_cannot_be_is_refused_in_one_line(scenario, tmp_path, changes, words):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=words) as error:
        simulate(Scenario.load(scenario, changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("believed", ["two_link", "./fit"])
def test_a_scenario_names_the_robot_that_the_law_believes(scenario, believed):
    for read in (
        Scenario.load(scenario, {"believed": believed}),
        Scenario.load(scenario, {"believed.robot": believed}),
    ):
        robot = believed_robot(true_robot(read.robot), read.believed)
        wanted = Robot.load(believed, beside=scenario)
        np.testing.assert_array_equal(
            robot.snapshot(robot.neutral).M, wanted.snapshot(wanted.neutral).M
        )
    read = Scenario.load(scenario, {"believed": believed, "believed.mass_scale": 2.0})
    assert read.believed.mass_scale == 2.0
    assert dynamics_of(believed_robot(true_robot(read.robot), read.believed)).bodies[
        "elbow"
    ] == pytest.approx(2.0 * dynamics_of(wanted).bodies["elbow"])


def test_a_believed_robot_in_the_file_itself_is_relative_to_it(scenario):
    scenario.write_text(SCENARIO.replace('robot = "./fit"', 'robot = "two_link"\nbelieved = "fit"'))
    read = Scenario.load(scenario)
    assert read.believed.robot == str(scenario.parent / "fit" / "robot.toml")
    with pytest.raises(InputError, match="believed robot 'scara' must have the coordinates"):
        simulate(Scenario.load(scenario, {"believed": "scara"}))
    with pytest.raises(InputError, match="believed: must be a table; got 3"):
        Scenario.load(scenario, {"believed": 3})


# Studies


LAWS = ["computed-torque", "pid"]


def test_a_comparison_repeats_on_robots_drawn_from_a_fit(fit, scenario):
    task = Scenario.load(scenario, {"effect": []})
    levels = [str(fit[0]), 0.3]
    compared = compare(task, LAWS, mismatch=levels, repeats=2)
    assert compared.conditions.levels == (0.3, str(fit[0]))
    assert compared.robustness.levels == (0.0, 0.3, str(fit[0]))
    runs = [run for run in compared.outcomes if run.mismatch == str(fit[0])]
    assert [(run.controller, run.repeat) for run in runs] == [
        (law, k) for k in (0, 1) for law in LAWS
    ]
    # the same two robots for both laws, and the effect draws them as one in the file does
    wanted = simulate(task.replace({
        "effect": [{"kind": "mismatch", "from": str(fit[0]), "name": "robustness"}],
        "controller": {"use": LAWS[0]},
    }))  # fmt: skip
    assert runs[0].metrics["rms_phi"] == wanted.metric("rms_phi")
    assert runs[0].metrics["rms_phi"] != runs[2].metrics["rms_phi"]
    table = robustness_table(compared)
    assert [row[0].text for row in table.rows] == ["0 %", "30 %", "fit"]
    said = next(verdict.text for verdict in compared.verdicts if verdict.subject == "mismatch")
    assert said.startswith("Lowest error on robots drawn from 'fit': ")
    axes = mismatch_figure(compared.robustness).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0 %", "30 %", "fit"]
    assert axes.get_xlabel() == "mismatch of the true robot"
    json.dumps(compared.to_dict())
    assert f",{fit[0]}," in compared.runs_csv()
    alone = compare(task, LAWS[:1], mismatch=str(fit[0]), repeats=1)
    assert alone.conditions.levels == (str(fit[0]),)


def test_gains_are_tuned_on_robots_drawn_from_a_fit(fit, scenario, tmp_path, monkeypatch):
    task = Scenario.load(scenario, {"effect": []})
    plants = Plants(count=3, mismatch=str(fit[0]), held_out=1)
    seeds = set()
    for plant in (*plants.training(task), *plants.validation(task)):
        assert plant.effect == (Mismatch(name="robustness", identified=fit[0]),)
        seeds.add(plant.seed)
    assert len(seeds) == 4
    assert json.loads(json.dumps(plants.to_dict()))["mismatch"] == str(fit[0])
    monkeypatch.chdir(tmp_path)
    read = tuning._parse_plants(2, "fit", None, "worst", None)
    assert read == Plants(count=2, mismatch="fit", aggregate="worst", held_out=2)
    with pytest.raises(InputError, match="--mismatch of tune must be one level; got 'fit,0.1'"):
        tuning._parse_plants(2, "fit,0.1", None, "worst", None)


def test_every_run_of_a_sweep_has_a_robot_drawn_from_a_fit(scenario, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--set", "effect=[]", "--repeats", "2", "-j", "1", "--no-report", "--keep", "all"]
    call = ["sweep", str(scenario), *options, "--mismatch", "fit", "--out", "out", "-q"]
    code, _, err = ended(capsys, *call)
    assert (code, err) == (0, "")
    runs = [Result.load(tmp_path / "out" / "results" / name) for name in "01"]
    drawn = [run.provenance["effects"][0]["drawn"]["bodies"] for run in runs]
    assert drawn[0] != drawn[1]
    code, _, err = ended(capsys, *call[:-1], "--mismatch", "fit,0.1")
    assert (code, err.count("\n")) == (2, 1)
    assert "--mismatch of sweep must be one level; got 'fit,0.1'." in err


def test_a_folder_without_a_fit_is_no_mismatch(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    task = Scenario.load(scenario, {"effect": []})
    with pytest.raises(InputError, match=r"empty/identified.json: cannot be read"):
        compare(task, LAWS[:1], mismatch="empty")
    with pytest.raises(InputError, match="must be a folder that exists; 'nowhere' is not one"):
        compare(task, LAWS[:1], mismatch="nowhere")


def test_an_exported_scenario_takes_its_fit_along(fit, scenario, tmp_path):
    task = Scenario.load(scenario)
    settings = copy_robot_files(task.to_table(), tmp_path / "copy", trust=False)
    (tmp_path / "copy" / "scenario.toml").write_text(toml_text(settings), encoding="utf-8")
    moved = (tmp_path / "copy").rename(tmp_path / "moved")
    shutil.rmtree(fit[0])
    again = Scenario.load(moved / "scenario.toml")
    assert again.effect[0].identified.is_relative_to(moved)
    np.testing.assert_array_equal(read_identified(again.effect[0].identified).covariance, fit[2])
    assert simulate(again).status == "completed"
