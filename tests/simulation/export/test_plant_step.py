"""A plant as a C library or a unit: it moves as in the run, bit for bit, or it is refused."""

import numpy as np
import pytest
from extras import needs

from tests.simulation.export.test_c_library import loaded, with_compiler
from ukctrl import Scenario, simulate
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.simulation.export.export_controller import export_c_library, export_fmu
from ukctrl.simulation.export.plant_step import plant_rows, plant_step
from ukctrl.simulation.export.step_module import BACKWARDS, INVALID, OK


def in_steps(name, changes=None, ticks=60):
    """Return a scenario in fixed steps, a sample a tick."""
    scenario = Scenario.load(name, changes or {})
    period = scenario.timing.control or 0.001
    steps = {"method": "RK4", "step": period / 4}
    timing = {"control": period, "sample": period, "duration": ticks * period}
    changes = {f"timing.{key}": value for key, value in timing.items()} | {"integrator": steps}
    return scenario.replace(changes)


def stepped(*args, **options):
    """Return such a scenario and its run."""
    scenario = in_steps(*args, **options)
    return scenario, simulate(scenario)


@pytest.fixture(scope="module")
def masses(tmp_path_factory):
    """Return the plant of two masses on a spring, and what was said of it."""
    folder = tmp_path_factory.mktemp("masses")
    return export_c_library(*stepped("two-mass-spring"), folder, part="plant")


@with_compiler
def test_a_plant_moves_as_in_the_run_bit_for_bit(masses):
    assert str(masses.replay).startswith("59 ticks: every state is the simulated one, bit for bit")
    assert sorted(masses.files) == [
        "CMakeLists.txt", "check.bin", "check.c", "libtwo_mass_spring_plant.so",
        "two_mass_spring_plant.h", "two_mass_spring_plant.o",
    ]  # fmt: skip
    header = (masses.folder / "two_mass_spring_plant.h").read_text()
    assert "u[1]  inputs that are held: F [N]" in header
    assert "q[2]  configuration at the end of the step: x1 [m], x2 [m]" in header
    assert "_step(two_mass_spring_plant_t *plant, double t, const double *u, double *q, " in header


@with_compiler
def test_what_it_does_not_take_is_a_status_and_leaves_its_state(masses):
    rows = np.fromfile(masses.folder / "check.bin").reshape(-1, 6)
    plant = loaded(masses, "two_mass_spring_plant")
    q, v = np.zeros(2), np.zeros(2)
    for k, row in enumerate(rows[:20]):
        u = row[1:2].copy()
        # off its grid, no number, and a time that has been: none of them moves it
        assert plant.step(row[0] + 0.0004, u, q, v) == INVALID
        assert plant.step(row[0], np.array([np.nan]), q, v) == INVALID
        if k:
            assert plant.step(rows[k - 1, 0], u, q, v) == BACKWARDS
            np.testing.assert_array_equal([*q, *v], rows[k - 1, 2:])
        assert plant.step(row[0] + 1e-10, u, q, v) == OK  # a clock that adds up is near enough
        np.testing.assert_array_equal([*q, *v], row[2:])


CASES = {
    "a closed chain": ("three-rrr", {}),
    "a floating base": ("quadrotor-hover", {}),
    "friction and noise": (
        "scara-helix",
        {
            "timing.control": 1e-3,
            "effect": [
                {"kind": "noise", "std": 2e-6},
                {"kind": "friction", "coulomb": 0.3, "viscous": 0.2, "velocity_scale": 2e-3},
            ],
        },
    ),
}


@pytest.mark.slow
@with_compiler
@pytest.mark.parametrize("case", CASES)
def test_plants_of_every_kind_have_the_bits_of_the_run(case, tmp_path):
    done = export_c_library(*stepped(*CASES[case]), tmp_path, part="plant")
    assert done.replay.identical, done.replay


@pytest.mark.parametrize(("name", "changes", "says"), [
    ("two-mass-spring", {"timing.control": 0.001}, "steps of a fixed length"),
    ("two-mass-spring", {"integrator": {"method": "RK4", "step": 1e-3}}, "give timing.control"),
])  # fmt: skip
def test_a_plant_needs_a_period_and_steps(name, changes, says):
    with pytest.raises(InputError, match=says):
        plant_step(Scenario.load(name, changes))


@pytest.mark.parametrize(("changes", "says"), [
    ({"effect": [{"kind": "input_delay", "ticks": 1}]}, "acts at the ticks"),
    ({"effect": [{"kind": "payload", "frame": "tool", "mass": 1.0, "start": 0.01}]},
     "the robot changes at t = 0.01 s"),
])  # fmt: skip
def test_what_is_the_loop_s_is_refused(changes, says):
    with pytest.raises(InputError, match=says):
        plant_step(in_steps("scara-helix", changes))


def test_of_several_effects_those_on_the_inputs_are_named():
    with pytest.raises(InputError, match=r"acts at the ticks \('input_delay', 'saturation'\)"):
        plant_step(in_steps("scara-helix-bench"))


def test_contacts_that_open_are_refused():
    with pytest.raises(InputError, match="open and close, which Python decides"):
        plant_step(in_steps("a1-push"))


@pytest.mark.slow
@needs("fmpy")
@with_compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_the_units_of_controller_and_plant_close_the_loop_of_the_run(fmi, tmp_path):
    """FMPy carries u to the one and q, v to the other; nothing of ours runs between them."""
    from fmpy import extract, read_model_description
    from fmpy.fmi2 import FMU2Slave
    from fmpy.fmi3 import FMU3Slave
    from fmpy.validation import validate_fmu

    scenario, result = stepped("coordinated-arms")
    units = {}
    for part in ("controller", "plant"):
        folder = tmp_path / part
        assert export_fmu(scenario, result, folder, part=part, fmi=fmi).is_good
        (path,) = folder.glob("*.fmu")
        assert validate_fmu(str(path)) == []
        told = read_model_description(str(path))
        kind = FMU3Slave if fmi == 3 else FMU2Slave
        unit = kind(guid=told.guid, unzipDirectory=extract(str(path)), instanceName=part,
                    modelIdentifier=told.coSimulation.modelIdentifier)  # fmt: skip
        unit.instantiate()
        if fmi == 2:
            unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        places = {
            key: [one.valueReference for one in told.modelVariables if one.name[:2] == f"{key}."]
            for key in "quv"
        }
        read, write = (unit.getFloat64, unit.setFloat64) if fmi == 3 else (
            unit.getReal, unit.setReal)  # fmt: skip
        units[part] = unit, places, read, write
    (law, at, law_read, law_write), (plant, there, read, write) = units.values()
    motion = []
    for k in range(59):
        q, v = read(there["q"]), read(there["v"])  # before the first step: the start
        law_write(at["q"], q)
        law_write(at["v"], v)
        law.doStep(0.001 * k, 0.001)
        write(there["u"], law_read(at["u"]))
        plant.doStep(0.001 * k, 0.001)
        motion.append([*q, *v])
    wanted = np.hstack([result["q"], result["v"]])[:59]
    # binaries for any processor of the family: the last bits are another one's
    np.testing.assert_allclose(motion, wanted, rtol=0.0, atol=1e-10)
    assert np.ptp(wanted, axis=0).max() > 1e-3  # or nothing has moved
    for unit, *_ in units.values():
        unit.terminate()
        unit.freeInstance()


def test_rows_are_the_states_at_the_ends_of_steps():
    _, result = stepped("two-mass-spring", ticks=5)
    rows = plant_rows(result)
    np.testing.assert_array_equal(rows[:, 0], result.time[:4])
    np.testing.assert_array_equal(rows[:, 1:2], result["u"][:4])
    np.testing.assert_array_equal(rows[:, 2:4], result["q"][1:5])


def test_the_command_chooses_steps_and_says_what_it_wrote(tmp_path, capsys):
    arguments = ["export", "two-mass-spring", "--period", "0.01", "--set", "timing.duration=0.3"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--part", "plant", "--to", "c", "--out", str(tmp_path / "here")])
    assert ended.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "29 ticks: every state is the simulated one, bit for bit" in out
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--part", "plant", "--out", str(tmp_path / "there")])
    assert ended.value.code == 2
    assert "add --to c or --to fmu" in capsys.readouterr().err
