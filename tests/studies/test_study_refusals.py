"""What studies, tunings and their parts refuse: each sentence, whole."""

from __future__ import annotations

import math

import pytest
from studies import columns_of, rows

from ukctrl import Scenario, UkctrlError, sweep, tune
from ukctrl.studies.sweep import Factor, IntegerRange, Levels, Log, Normal, Uniform
from ukctrl.studies.sweep.retention import RetentionPolicy
from ukctrl.studies.sweep.sampling_plan import MAX_SAMPLES, SamplingPlan
from ukctrl.studies.sweep.study import Study
from ukctrl.studies.tuning import Budget, Plants
from ukctrl.studies.tuning.gains import Gain, with_ranges
from ukctrl.studies.tuning.search import MAX_SIMULATIONS, tune_all

MASS = Factor("believed.mass_scale", Uniform(0.5, 1.5))


def plan(*factors, **given):
    return SamplingPlan.of(
        list(factors) or [MASS],
        design=given.pop("design", None),
        n=given.pop("n", None),
        seed=given.pop("seed", 0),
        repeats=given.pop("repeats", 1),
    )


def seeds(count):
    return Factor("seed", Levels(tuple(range(count))))


PLANS = [
    (
        lambda: plan(MASS, MASS),
        "'believed.mass_scale' is varied twice; give all its values at once.",
    ),
    (
        lambda: plan(MASS, Factor("believed", Levels(({}, {})))),
        "'believed.mass_scale' lies in 'believed', which is varied as a whole; vary one of them.",
    ),
    (
        lambda: plan(Factor("believed", Levels(({}, {}))), MASS),
        "'believed.mass_scale' lies in 'believed', which is varied as a whole; vary one of them.",
    ),
    (lambda: plan(n=0), "n must be at least 1; got 0."),
    (lambda: plan(n=4, repeats=0), "repeats must be at least 1; got 0."),
    (lambda: plan(n=4, seed=-1), "the study's seed must be zero or positive; got -1."),
    (
        lambda: plan(seeds(3), repeats=2),
        "repeats draw seeds of their own; do not vary 'seed' with them.",
    ),
    (
        lambda: plan(n=12, design="saltelli"),
        "design 'saltelli' needs a power of two for n, such as 16; got 12.",
    ),
    (
        lambda: plan(n=MAX_SAMPLES + 1),
        f"a study must have at most {MAX_SAMPLES} samples; got {MAX_SAMPLES + 1}.",
    ),
    (
        lambda: plan(n=4, design="grid"),
        "design 'grid' needs to know how many values 'believed.mass_scale' takes; give them as a "
        "list, or their number as in 1:10:5.",
    ),
    (
        lambda: plan(seeds(3), n=4, design="grid"),
        "a grid has as many points as its factors have combinations, 3; leave out n, or choose the "
        "design random or sobol.",
    ),
    *(
        (
            lambda design=design: SamplingPlan(factors=(), design=design, n=4, seed=0, repeats=1),
            f"design '{design}' needs something to vary; give --vary.",
        )
        for design in ("sobol", "saltelli", "grid")
    ),
]

RANGES = {
    "2:1": "the range must go up from one number to another; got 2:1.",
    "1:1": "the range must go up from one number to another; got 1:1.",
    "1:1e999": "the range must go up from one number to another; got 1:inf.",
    "log:0:1": "the range of 'log' must be positive; got 0:1.",
    "normal:0:0": "a normal distribution must have a finite mean and a positive standard "
    "deviation; got 0:0.",
    "1:2:log": "a range of this kind is written log:1:2; got '1:2:log'.",
    "lg:1:2": "a range must begin with a number, or with one of uniform, log, whole, normal; got "
    "'lg'; did you mean 'log'?",
    "1:2:3:4": "a range must have two numbers, and a third for how many values, as 1:10 or 1:10:5; "
    "got '1:2:3:4'.",
    "normal:1": "a range must have two numbers, and a third for how many values, as normal:10:0.5; "
    "got 'normal:1'.",
    "1:b": "a range must have numbers at its ends; got 'b'.",
    "1:5mm": "a range must have numbers at its ends; got '5mm'; write 5*mm.",
}

SPREADS = [
    *((lambda text=text: Factor.parse(f"a={text}"), f"a: {says}") for text, says in RANGES.items()),
    (lambda: Levels(()), "must have at least one value; got none."),
    (lambda: Factor("", MASS.spread), "a factor must have a path such as 'seed'; got ''."),
    (lambda: Factor("a..b", MASS.spread), "a factor must have a path such as 'seed'; got 'a..b'."),
    *(
        (
            lambda text=text: Factor.parse(text),
            "a factor must be PATH=VALUES, such as seed=1,2,3 or timing.control=1e-3:1e-2; got "
            f"'{text}'.",
        )
        for text in ("seed", "=1,2", "seed=")
    ),
    (
        lambda: Factor.parse("seed=1:9:1"),
        "seed: the number of values must be from 2 to 1000000; got 1.",
    ),
    (
        lambda: Factor.parse("seed=1:9:2.5"),
        "seed: the number of values must be a whole number; got '2.5'.",
    ),
    (
        lambda: Factor.parse("seed=whole:1.5:9"),
        "seed: a range of whole numbers must have such ends; got 1.5.",
    ),
    *(
        (
            lambda text=text: RetentionPolicy.parse(text),
            f"keep must be none, failed, all, or worst:N with N from 1 to 1000; got '{text}'{end}",
        )
        for text, end in (
            ("worst:0", "."), ("worst:1001", "."), ("none:1", "."), ("worst", "."),
            ("fail", "; did you mean 'failed'?"),
        )
    ),
]  # fmt: skip

BUDGETS = [
    (
        lambda: Budget(simulations=MAX_SIMULATIONS + 1),
        f"the budget must be at most {MAX_SIMULATIONS} simulations; got {MAX_SIMULATIONS + 1}.",
    ),
    (lambda: Budget(simulations=0), "the budget must be at least 1 simulation; got 0."),
    (
        lambda: Budget(simulations=2, plants=Plants(count=3)),
        "the budget must suffice for one candidate, 3 simulations on as many plants; got 2.",
    ),
    (
        lambda: Budget(simulations=2, method="simplx"),
        "no method named 'simplx'; did you mean 'simplex'? Known: cma, evolution, simplex.",
    ),
    (lambda: Plants(count=0), "plants must be from 1 to 10000; got 0."),
    (lambda: Plants(held_out=-1), "held-out must be from 0 to 10000; got -1."),
    (lambda: Plants(held_out=10001), "held-out must be from 0 to 10000; got 10001."),
    *(
        (
            lambda value=value: Plants(mismatch=value),
            f"mismatch must be a fraction from 0 to below 1, such as 0.1; got {value:g}.",
        )
        for value in (1.0, -0.1, math.nan)
    ),
    (
        lambda: Plants(aggregate="mean"),
        "no aggregate named 'mean'. Known: average, worst.",
    ),
]


@pytest.mark.parametrize(("made", "says"), [*PLANS, *SPREADS, *BUDGETS])
def test_a_study_that_cannot_be_is_refused_with_what_must_hold(made, says):
    with pytest.raises(UkctrlError) as caught:
        made()
    assert str(caught.value) == says


def test_the_largest_and_smallest_that_are_allowed_are():
    assert plan(n=1).count == 1
    assert plan(n=MAX_SAMPLES).count == MAX_SAMPLES
    assert plan(n=1, design="saltelli").points == 3
    assert Budget(simulations=MAX_SIMULATIONS).simulations == MAX_SIMULATIONS
    assert Budget(simulations=3, plants=Plants(count=3)).plants.count == 3
    assert Plants(count=10000, held_out=10000, mismatch=0.0).count == 10000
    assert [RetentionPolicy.parse(f"worst:{n}").count for n in (1, 1000)] == [1, 1000]
    assert len(Factor.parse("seed=1:9:2").spread.grid_values()) == 2


@pytest.mark.parametrize(
    ("spread", "places", "kind"),
    [
        (Levels((1, "b", True)), {0.0: 1, 0.34: "b", 0.99: True, 1.0: True}, None),
        (Uniform(1.0, 3.0), {0.0: 1.0, 0.25: 1.5, 1.0: 3.0}, "uniform"),
        (Log(1.0, 100.0), {0.0: 1.0, 0.5: 10.0, 1.0: 100.0}, "log"),
        (IntegerRange(1, 4), {0.0: 1, 0.3: 2, 0.99: 4}, "whole"),
        (Normal(2.0, 0.5), {0.5: 2.0, 0.8413447460685429: 2.5}, "normal"),
    ],
)
def test_where_a_spread_has_its_values(spread, places, kind):
    for place, value in places.items():
        assert spread.quantile(place) == (pytest.approx(value, rel=1e-9) if kind else value)


@pytest.mark.parametrize(
    ("values", "column"),
    [((1, 2), "int"), ((1, 2.0), "float"), ((True, False), "bool"), ((True, 1), "text"),
     ((1, "a"), "text")],
)  # fmt: skip
def test_what_a_column_of_some_values_holds(values, column):
    assert Levels(values).column_type() == column
    assert (IntegerRange(1, 2).column_type(), Normal(0.0, 1.0).column_type()) == ("int", "float")


def test_levels_of_ranges_are_where_they_are_asked_for():
    cases = {
        "1:3:3": [1.0, 2.0, 3.0], "log:1:100:3": [1.0, 10.0, 100.0], "whole:1:9:3": [1, 5, 9],
        "whole:1:9": None, "1:3": None, "log:1:9": None, "normal:2:0.5": None,
        "normal:0:1:2": [-0.6744897501960817, 0.6744897501960817],
    }  # fmt: skip
    for text, levels in cases.items():
        found = Factor.parse(f"seed={text}").spread.grid_values()
        assert (None if found is None else pytest.approx(list(found))) == levels


@pytest.fixture(name="scenario", scope="module")
def _scenario():
    return Scenario.load("scara-helix", {"timing.duration": 0.1})


def test_ranges_of_gains_are_refused_where_no_value_has_a_logarithm(scenario):
    path = "controller.kp"
    law = scenario.replace({"controller": {"use": "computed-torque"}, path: 0.0})
    known = {"law": (Gain("controller.kd", 1.0, 0.1, 10.0),)}
    with pytest.raises(UkctrlError) as caught:
        with_ranges(known, {path: (1.0, 5.0)}, {"law": law})
    assert str(caught.value) == (
        "over 'controller.kp': a value that is not positive has no logarithm; give the range as "
        "uniform:1:5."
    )
    found = with_ranges(known, {path: (0.0, 5.0, "uniform")}, {"law": law})
    assert found["law"][-1] == Gain(path, 0.0, 0.0, 5.0, "uniform")
    only = with_ranges(known, {path: (0.0, 5.0, "uniform")}, {"law": law}, only=True)
    assert [gain.path for gain in only["law"]] == [path]


TUNINGS = [
    (
        {"over": {"controller.kp": (1.0, 5.0)}, "only": True, "method": "cma"},
        "method 'cma' needs two gains or more; 'law' has controller.kp alone. Use 'simplex' or "
        "'evolution'.",
    ),
    (
        {"plants": Plants(vary=(Factor("controller.kp", Uniform(1.0, 2.0)),)), "in_terms": False},
        "'controller.kp' is tuned, and cannot differ from plant to plant; leave it out of what "
        "varies (--vary), or give ranges to other gains alone (--over).",
    ),
    (
        {"plants": Plants(count=2)},
        "the 2 plants are all the same: nothing in the scenario is random. Give a mismatch or "
        "something to vary, or tune on one plant.",
    ),
    (
        {"plants": Plants(held_out=1)},
        "the 1 held-out plants are all the same: nothing in the scenario is random. Give a "
        "mismatch or something to vary, or hold none out.",
    ),
]


@pytest.mark.parametrize(("given", "says"), TUNINGS)
def test_a_search_that_means_nothing_is_refused_before_it_begins(scenario, given, says):
    law = scenario.replace({"controller": {"use": "computed-torque"}})
    with pytest.raises(UkctrlError) as caught:
        tune_all({"law": law}, Budget(simulations=4, **given))
    assert str(caught.value) == says


OVERS = {
    "kp": "over 'kp': no such path; did you mean 'controller.kp'?",
    "believed.mass_scale": "over 'believed.mass_scale': a gain must be in the controller, whose "
    "card is written; what differs from plant to plant is varied (--vary).",
}


@pytest.mark.parametrize("path", OVERS)
def test_what_is_no_gain_of_the_controller_is_not_tuned(scenario, path):
    law = scenario.replace({"controller": {"use": "computed-torque"}})
    with pytest.raises(UkctrlError) as caught:
        tune(law, Budget(simulations=4, over={path: (1.0, 5.0)}))
    assert str(caught.value) == OVERS[path]


def test_plants_that_cannot_be_made_are_refused_before_a_simulation(scenario, tmp_path):
    law = scenario.replace({"controller": {"use": "computed-torque"}})
    plants = Plants(held_out=4, vary=(Factor.parse("effect.load.mass=0:1"),))
    with pytest.raises(UkctrlError, match="named 'load'"):
        tune(law, Budget(simulations=4, plants=plants), folder=tmp_path)
    assert not list(tmp_path.iterdir())


SWEEPS = [
    (["seed=1,2"], {"timeout": 0.0}, "timeout must be positive; got 0 s."),
    (["seed=1,2"], {"timeout": math.inf}, "timeout must be positive; got inf s."),
    (["seed=1,2"], {"timeout": math.nan}, "timeout must be positive; got nan s."),
    (
        ["seed=1,2"], {"keep": "all", "folder": None},
        "results can be kept in a folder only; give one, or keep none.",
    ),
    (["seed=1.5:2.5"], {}, "scenario: seed: must be a whole number; got 1.5."),
    (
        ["seed=1:9"], {"n": 2},
        "scenario: seed: must be a whole number; got 4.055728. Write seed=whole:1:9 for whole "
        "numbers alone.",
    ),
    (
        ["believed.mass_scale=1,-1"], {},
        "scenario: believed.mass_scale: must be positive; got -1.0.",
    ),
    (
        ["start.q.q1=10*mm:20*mm"], {"n": 2},
        "start.q.q1: must be an angle [rad]; got a length [m] from '10*mm'.",
    ),
    (
        ["servo.0.path.radius=5,6"], {},
        "scenario: servo[0].path.radius: unknown key. Known: x, y, z, components. So with "
        "servo.0.path.radius = 5.",
    ),
    (["servo.0.frame=tol,tul"], {},
        "servo[0]: no frame named 'tol'; did you mean 'tool'? Known: base, link1, link2, link3, "
        "q1, q2, q3, q4, tool, world.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("factors", "given", "says"), SWEEPS)
def test_a_study_that_cannot_begin_is_refused_and_leaves_no_folder(
    scenario, tmp_path, factors, given, says
):
    with pytest.raises(UkctrlError) as caught:
        sweep(scenario, factors, **{"folder": tmp_path / "study", "jobs": 1, **given})
    assert str(caught.value) == says
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("v_std", "factors", "cause"),
    [
        (0.0, ["believed.mass_scale=0.7:1.3", "effect.noise.std=0:3e-4"], "effect.noise.std = 0"),
        (0.0, ["effect.noise.std=0:3e-4", "believed.mass_scale=0.7:1.3"], "effect.noise.std = 0"),
        (
            1e-3,
            ["effect.noise.std=0:1e-4", "seed=whole:1:9", "effect.noise.v_std=0:1e-3"],
            "effect.noise.std = 0 and effect.noise.v_std = 0",
        ),
    ],
)
def test_a_refusal_names_the_values_that_bring_it_about_and_no_others(
    scenario, v_std, factors, cause
):
    noise = {"kind": "noise", "std": 1e-4, "v_std": v_std}
    noisy = scenario.replace({"effect": [noise], "timing.control": 1e-3})
    with pytest.raises(UkctrlError) as caught:
        sweep(noisy, factors, n=8, jobs=1)
    assert str(caught.value) == (
        "scenario: effect[0]: must have some std or v_std that is not zero, or it does nothing; "
        f"give one, or remove the effect. So with {cause}."
    )


def test_a_study_of_which_some_sample_can_begin_is_run(scenario):
    study = sweep(scenario.replace({"timing.duration": 0.01}), ["servo.0.frame=tool,tol"], jobs=1)
    assert study.columns["status"].tolist() == ["completed", "failed"]


NO_STUDIES = [
    (None, "no study at '{folder}'; it must be a folder with a study.json."),
    (
        '{"format": 99}',
        "'{file}' must have format 1; got 99. Read it with the version of ukctrl that wrote it.",
    ),
    (
        "{",
        "'{file}' is no readable study: Expecting property name enclosed in double quotes: line 1 "
        "column 2 (char 1).",
    ),
    ('{"format": 1}', "'{file}' is no readable study: KeyError('factors')."),
]


@pytest.mark.parametrize(("text", "says"), NO_STUDIES)
def test_what_is_no_study_is_refused_when_it_is_read(tmp_path, text, says):
    file = tmp_path / "study.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UkctrlError) as caught:
        Study.load(tmp_path)
    assert str(caught.value) == says.format(folder=tmp_path, file=file)


def test_a_sample_that_a_study_has_not_is_refused(scenario, tmp_path):
    study = sweep(scenario.replace({"timing.duration": 0.01}), ["seed=1,2"], jobs=1)
    assert study.scenario_of(1).seed == 2
    for sample in (-1, 2):
        with pytest.raises(UkctrlError) as caught:
            study.scenario_of(sample)
        assert str(caught.value) == f"sample must be from 0 to 1; got {sample}."


def test_the_worst_are_those_that_failed_first_then_the_largest():
    status = ["completed", "diverged", "failed", "completed", "completed", "diverged"]
    table = columns_of(
        {
            "sample": range(6), "status": status, "rms_phi": [1.0, 0.0, 9.0, 3.0, 3.0, 0.0],
            "reached": [1.0, 0.8, 0.0, 1.0, 1.0, 0.2],
        }
    )  # fmt: skip
    assert RetentionPolicy("worst", 4, "rms_phi").worst(table) == [5, 1, 3, 4]
    assert RetentionPolicy("all").worst(table) == []
    assert RetentionPolicy("worst", 4, "rms_phi").worst(rows(table, [2])) == []
    with pytest.raises(UkctrlError) as caught:
        RetentionPolicy("worst", 2, "rms_beta").worst(table)
    assert str(caught.value) == (
        "no metric (in keep) named 'rms_beta'. Known: reached, rms_phi, status."
    )
