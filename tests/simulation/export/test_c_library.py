"""A controller as a C library: a stranger's program gets the bits of the run, or a status."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from extras import needs

from ukctrl import Robot, Scenario, simulate
from ukctrl.cli import main
from ukctrl.core.errors import InputError
from ukctrl.simulation.export import step_module
from ukctrl.simulation.export.c_library import CLibrary, LoadedLibrary
from ukctrl.simulation.export.export_controller import export_c_library, export_fmu, tick_rows
from ukctrl.simulation.export.runtime import Runtime
from ukctrl.simulation.export.step_module import BACKWARDS, INVALID, OK

COMPILER = shutil.which("cc")
with_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
CROSS_COMPILER = "aarch64-linux-gnu-gcc"
ELF_MACHINES = {"x86-64": 62, "x86-64-v3": 62, "aarch64": 183}
"""What the header of an object file calls a processor."""


def sampled(name, changes=None, ticks=60):
    scenario = Scenario.load(name, changes or {})
    period = scenario.timing.control or 0.001
    timing = {"control": period, "sample": period, "duration": ticks * period}
    scenario = scenario.replace({f"timing.{key}": value for key, value in timing.items()})
    return scenario, simulate(scenario)


def exported(folder, name="two-mass-spring", changes=None, **options):
    scenario, result = sampled(name, changes)
    return export_c_library(scenario, result, folder, **options)


@pytest.fixture(scope="module")
def masses(tmp_path_factory):
    """Return the library of the two masses on a spring, and what was said of it."""
    folder = tmp_path_factory.mktemp("masses")
    return exported(folder)


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def loaded(done, name="two_mass_spring"):
    header = (done.folder / f"{name}.h").read_text()
    words = int(header.partition("double memory[")[2].partition("]")[0])
    return LoadedLibrary(done.folder / f"lib{name}.so", name, 8 * words)


@with_compiler
def test_a_program_of_c_gets_the_inputs_of_the_run_bit_for_bit(masses):
    assert masses.replay.identical
    assert masses.replay.ticks == 60
    built = run([COMPILER, "-std=c99", "-O2", *STRICT, "check.c", "two_mass_spring.o", "-lm",
                 "-o", "compare"], masses.folder)  # fmt: skip
    assert not built.returncode, built.stderr
    told = run(["./compare"], masses.folder)
    assert not told.returncode
    assert told.stdout.startswith("60 ticks: 0 with other bits, 0 refused, worst difference 0 of ")
    # it finds an input that is another one by a bit
    rows = np.fromfile(masses.folder / "check.bin")
    rows[-1] = np.nextafter(rows[-1], np.inf)
    rows.tofile(masses.folder / "other.bin")
    told = run(["./compare", "other.bin"], masses.folder)
    assert told.returncode == 1
    assert told.stdout.startswith("60 ticks: 1 with other bits, 0 refused")


@with_compiler
def test_the_header_is_one_of_c_plus_plus_too_and_says_order_and_units(masses):
    program = '#include "two_mass_spring.h"\nint main() { two_mass_spring_t x; (void)x; return 0; }'
    (masses.folder / "main.cpp").write_text(program)
    compiler = shutil.which("c++") or pytest.skip("no C++ compiler")
    built = run([compiler, *STRICT, "-fsyntax-only", "main.cpp"], masses.folder)
    assert not built.returncode, built.stderr
    text = (masses.folder / "two_mass_spring.h").read_text()
    assert "q[2]  measured configuration: x1 [m], x2 [m]" in text
    assert "u[1]  inputs to hold until the next tick: F [N]" in text
    assert "#define TWO_MASS_SPRING_PERIOD 0.001" in text


def test_a_state_that_is_none_and_time_that_stands_are_a_status(masses):
    controller = loaded(masses)
    row = np.fromfile(masses.folder / "check.bin")[:6]
    t, q, v, wanted, u = row[0], row[1:3].copy(), row[3:5].copy(), row[5:], np.zeros(1)
    assert controller.step(t, q, v, u) == OK
    assert u.tobytes() == wanted.tobytes()
    assert controller.step(t, q, v, u) == BACKWARDS
    assert controller.step(np.nan, q, v, u) == BACKWARDS
    for bad in (np.nan, np.inf):
        q[1] = bad
        assert controller.step(t + 1.0, q, v, u) == INVALID
        assert u.tobytes() == wanted.tobytes()  # held


def test_a_refused_tick_may_brake_the_motors_within_their_limits(tmp_path):
    """Each by the inertia that it feels: 1 / (B' M^-1 B), over 0.1 s; gravity is not carried."""
    scenario, result = sampled("ur5-pose", ticks=3)
    done = export_c_library(scenario, result, tmp_path, on_refusal="damped")
    assert "what brakes each motor" in (tmp_path / "ur5_pose.h").read_text()
    robot, q = Robot.load("ur5"), result["q"][0].copy()
    inertia = 1.0 / np.diag(np.linalg.inv(robot.snapshot(q, np.zeros(6)).M))
    controller, v, u = loaded(done, "ur5_pose"), np.linspace(-0.2, 0.3, 6), np.zeros(6)
    assert controller.step(np.nan, q, v, u) == BACKWARDS
    np.testing.assert_allclose(u, -inertia / 0.1 * v, rtol=1e-12)
    assert controller.step(np.nan, q, 1e6 * v, u) == BACKWARDS
    np.testing.assert_array_equal(u, -np.sign(v) * robot.input_bounds(np.zeros(6))[1])
    v[2] = np.nan
    assert controller.step(0.0, q, v, u) == INVALID
    assert u[2] == 0.0
    step = Runtime(scenario).exported_step._replace(braking=None)
    with pytest.raises(InputError, match="needs a controller of motors that always push along"):
        CLibrary(scenario, step, on_refusal="damped")


def test_two_controllers_do_not_know_of_each_other(tmp_path):
    done = exported(tmp_path, "scara-helix", {"controller.use": "servo-pid"})
    rows = np.fromfile(tmp_path / "check.bin").reshape(-1, 13)
    one, other = loaded(done, "scara_helix"), loaded(done, "scara_helix")
    for row, later in zip(rows[:40], rows[20:], strict=True):
        answers = []
        for controller, (t, q, v, wanted) in (
            (one, (row[0], row[1:5], row[5:9], row[9:])),
            (other, (later[0], later[1:5], later[5:9], None)),
        ):
            u = np.zeros(4)
            assert controller.step(t, q.copy(), v.copy(), u) == OK
            answers.append((u, wanted))
        assert answers[0][0].tobytes() == answers[0][1].tobytes()
        # the other has an integral that began later
        assert answers[1][0].tobytes() != later[9:].tobytes()


GAINS = {
    "of rows": ("servo-baumgarte", "feedback.", "alpha", "beta"),
    "with an integral": ("servo-pid", "feedback.", "kd", "kp", "ki"),
    "of joints": ("computed-torque", "", "kd", "kp"),
    "of joints, one each": ("pid", "", "kp", "kd", "ki"),
}
"""A controller, where its card has gains, and their names in order."""


@pytest.mark.parametrize(
    "case", ["of rows", *(pytest.param(c, marks=pytest.mark.slow) for c in list(GAINS)[1:])]
)
def test_gains_may_be_changed_between_steps(case, tmp_path):
    """Then the inputs have the bits of a controller whose card has them."""
    name, prefix, *names = GAINS[case]
    robot = "two-mass-spring" if case == "of rows" else "scara-helix"
    scenario, result = sampled(robot, {"controller.use": name})
    done = export_c_library(scenario, result, tmp_path)
    assert done.replay.identical
    runtime = Runtime(scenario)
    labels, values = [f"{g.name}.{g.row}" for g in runtime.exported_step.gains], []
    assert [label.partition(".")[0] for label in labels[:: len(labels) // len(names)]] == names
    (header,) = tmp_path.glob("*.h")
    assert f"gains[{len(labels)}]  what {header.stem}_gains changes" in header.read_text()
    table, rng = {}, np.random.default_rng(3)
    for key in names:
        drawn = rng.uniform(5.0, 50.0, len(labels) // len(names))
        table[f"controller.{prefix}{key}"] = tuple(drawn.tolist())
        values += drawn.tolist()
    other, controller = Runtime(scenario.replace(table)), loaded(done, header.stem)
    for bad in (-1.0, np.nan, np.inf):
        assert controller.change_gains(np.array([bad, *values[1:]])) == INVALID
    away = 0.01 * np.arange(1, len(runtime.q) + 1)
    t, q, v, u = 0.0, runtime.q + away, runtime.v - away, np.zeros(len(runtime.inputs))
    for step in range(6):
        answers = runtime.step(t, q, v), other.step(t, q, v)
        assert np.abs(answers[0] - answers[1]).max() > 1e-3  # or the test shows nothing
        if step == 3:
            assert controller.change_gains(np.array(values)) == OK
        assert controller.step(t, q, v, u) == OK
        assert u.tobytes() == answers[step >= 3].tobytes()
        t, q = t + 0.001, q * 1.01


def test_python_calls_the_library_without_ukctrl(masses, tmp_path):
    hidden = "import sys; sys.modules['ukctrl'] = sys.modules['numba'] = None; import runpy; "
    program = f"{hidden}runpy.run_path('controller.py', run_name='__main__')"
    told = run([sys.executable, "-I", "-c", program], masses.folder)
    assert told.stdout == "60 ticks: 0 with other bits.\n", told.stderr
    sys.path.insert(0, str(masses.folder))
    try:
        import controller
    finally:
        sys.path.remove(str(masses.folder))
        sys.modules.pop("controller", None)
    loop = controller.Controller()
    with pytest.raises(ValueError, match="there are 0 gains"):
        loop.change_gains([1.0])
    u = loop.step(0.0, [0.1, 0.2], [0.0, 0.0])
    with pytest.raises(controller.Refused, match="time must grow") as refusal:
        loop.step(0.0, [0.1, 0.2], [0.0, 0.0])
    assert refusal.value.held.tobytes() == u.tobytes()
    with pytest.raises(ValueError, match="must have 2 and 2 entries"):
        loop.step(1.0, [0.1], [0.0, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("target", ELF_MACHINES)
def test_other_processors_get_object_code_and_what_runs_here_the_same_numbers(tmp_path, target):
    done = exported(tmp_path, target=target, on_refusal="zero")
    (code,) = tmp_path.glob("*.o")
    head = code.read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", head, 18) == (ELF_MACHINES[target],)
    assert done.is_good
    if target == "aarch64":
        assert done.replay is None
        assert "the ticks were not compared" in done.notes[0]
        return
    assert 0.0 < done.tolerance < 1e-9
    assert done.replay.worst <= done.tolerance
    controller, u = loaded(done), np.ones(1)
    assert controller.step(0.0, np.full(2, np.nan), np.zeros(2), u) == INVALID
    assert u == 0.0


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which(CROSS_COMPILER) and shutil.which("qemu-aarch64")),
    reason="needs gcc-aarch64-linux-gnu and qemu-user",
)
@pytest.mark.parametrize("name", ["scara-helix", "coordinated-arms", "a1-squat"])
def test_another_processor_gets_the_inputs_of_the_run_to_rounding(name, tmp_path):
    """Its program runs under QEMU, and finds an input that is off by more than that."""
    exported(tmp_path, name, target="aarch64")
    build = [CROSS_COMPILER, "-O2", *STRICT, "-static", "check.c", *map(str, tmp_path.glob("*.o")),
             "-lm", "-o", "compare"]  # fmt: skip
    built = run(build, tmp_path)
    assert not built.returncode, built.stderr
    told = run(["qemu-aarch64", "./compare"], tmp_path)
    assert not told.returncode, told.stdout
    assert "60 ticks: " in told.stdout
    assert "0 refused" in told.stdout
    rows = np.fromfile(tmp_path / "check.bin")
    rows[-1] += 1e-11 * np.abs(rows).max()
    rows.tofile(tmp_path / "other.bin")
    assert run(["qemu-aarch64", "./compare", "other.bin"], tmp_path).returncode == 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(CROSS_COMPILER), reason="needs gcc-aarch64-linux-gnu")
def test_a_unit_has_a_binary_for_each_processor_that_is_asked_for(tmp_path):
    scenario, result = sampled("two-mass-spring")
    export_fmu(scenario, result, tmp_path, targets=("aarch64", "x86-64-v3"))
    with zipfile.ZipFile(tmp_path / "two_mass_spring.fmu") as unit:
        for folder, target in (("aarch64-linux", "aarch64"), ("x86_64-linux", "x86-64-v3")):
            binary = unit.read(f"binaries/{folder}/two_mass_spring.so")
            assert struct.unpack_from("<H", binary, 18) == (ELF_MACHINES[target],)
            assert b"fmi3DoStep" in binary


@with_compiler
@pytest.mark.parametrize(
    ("fmi", "targets", "words"),
    [
        (2, ("x86-64", "aarch64"), "FMI 2 has binaries for x86-64, x86-64-v3; got 'aarch64'"),
        (3, ("x86-64", "x86-64-v3"), "one binary for x86-64"),
        (3, ("arm",), "FMI 3 has binaries for x86-64, x86-64-v3, aarch64; got 'arm'"),
    ],
)
def test_processors_that_a_unit_cannot_have_are_refused_by_name(fmi, targets, words, tmp_path):
    with pytest.raises(InputError, match=words):
        export_fmu(*sampled("two-mass-spring", ticks=3), tmp_path, fmi=fmi, targets=targets)
    assert not list(tmp_path.glob("*.fmu"))


LAWS = {
    "an adaptive strength": ("scara-helix", {"controller.use": "servo-adaptive-robust"}),
    "a closed chain": ("coordinated-arms", {}),
    "a floating base": ("quadrotor-hover", {}),
    "thrust": ("quadrotor-lemniscate", {}),
    "an observer of disturbances": ("scara-helix", {"controller.use": "time-delay"}),
    "least torque on feet": ("a1-squat", {}),
    "bodies that wait": ("two-arms-carry", {}),
    "measured states": ("scara-helix-bench", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LAWS)
def test_laws_of_every_kind_have_the_bits_of_the_run(case, tmp_path):
    done = exported(tmp_path, *LAWS[case])
    assert done.replay.identical, done.replay
    assert done.is_good


@pytest.mark.slow
def test_feet_are_told_what_they_do(tmp_path):
    """A quadruped's law, told of feet in the air; the same states, as Python's runtime answers."""
    scenario, result = sampled("a1-push", {"keep": []})
    done = export_c_library(scenario, result, tmp_path)
    assert done.replay.identical
    runtime, controller = Runtime(scenario), loaded(done, "a1_push")
    rows, u = tick_rows(result, runtime), np.zeros(12)
    answers = []
    for k, modes in enumerate([(2, 2, 2, 2), (0, 2, 2, 2), (2, 0, 0, 2), (2, 2, 2, 2)]):
        t, q, v = float(rows[k, 0]), rows[k, 1:20].copy(), rows[k, 20:38].copy()
        controller.contacts(np.array(modes))
        assert controller.step(t, q, v, u) == OK
        wanted = runtime.step(t, q, v, modes)
        assert u.tobytes() == wanted.tobytes()
        answers.append(wanted)
    assert np.abs(answers[1] - answers[0]).max() > 0.1  # or the test shows nothing


@pytest.mark.slow
def test_arithmetic_that_is_reordered_stays_within_its_word(tmp_path):
    done = exported(tmp_path, "scara-helix", fast=True)
    assert done.is_good
    assert 0.0 < done.replay.worst <= done.tolerance


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@with_compiler
def test_cmake_builds_installs_and_finds_it(masses, tmp_path):
    for command in (
        ["cmake", "-S", str(masses.folder), "-B", "build", "-DCMAKE_BUILD_TYPE=Release"],
        ["cmake", "--build", "build"],
        ["build/check", str(masses.folder / "check.bin")],
        ["cmake", "--install", "build", "--prefix", str(tmp_path / "there")],
    ):
        done = run(command, tmp_path)
        assert not done.returncode, done.stdout + done.stderr
    user = tmp_path / "user"
    user.mkdir()
    (user / "main.c").write_text(
        '#include "two_mass_spring.h"\nint main(void) { two_mass_spring_t x; double u[1];\n'
        "two_mass_spring_init(&x); return two_mass_spring_step(&x, 0.0, u, u, u) > 9; }"
    )
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user C)\n"
        "find_package(two_mass_spring REQUIRED)\nadd_executable(user main.c)\n"
        "target_link_libraries(user two_mass_spring)\n"
    )
    for command in (
        ["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={tmp_path / 'there'}"],
        ["cmake", "--build", "b"],
    ):
        done = run(command, user)
        assert not done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
@with_compiler
def test_no_memory_is_asked_for_or_read_before_it_is_written(tmp_path):
    exported(tmp_path, target="x86-64")  # valgrind knows no newer processor
    program = r"""
    #include "two_mass_spring.h"
    int main(void) {
        static two_mass_spring_t x; double q[2] = {0.1, 0.2}, v[2] = {0.0, 0.1}, u[1]; int k, s = 0;
        two_mass_spring_init(&x);
        for (k = 0; k < 1000; k++) s |= two_mass_spring_step(&x, 1e-3 * k, q, v, u);
        return s || u[0] != u[0];
    }"""
    (tmp_path / "many.c").write_text(program)
    run([COMPILER, "-g", "many.c", "two_mass_spring.o", "-lm", "-o", "many"], tmp_path)
    told = run(["valgrind", "--error-exitcode=9", "--leak-check=full", "./many"], tmp_path)
    assert not told.returncode, told.stderr
    assert "total heap usage: 0 allocs" in told.stderr


def test_what_is_python_s_is_refused_by_name(tmp_path):
    scenario, _ = sampled("two-mass-spring")
    scenario = scenario.replace({"controller": lambda t, q, v: [0.0]})
    with pytest.raises(InputError, match=r"cannot go to C, which calls no Python: 'FunctionLaw'"):
        CLibrary(scenario, Runtime(scenario).exported_step)
    with pytest.raises(InputError, match="target must be host or one of aarch64, x86-64"):
        CLibrary(scenario, Runtime(scenario).exported_step, target="arm")


def test_the_command_writes_what_it_names(tmp_path, capsys):
    arguments = ["export", "two-mass-spring", "--period", "0.01", "--set", "timing.duration=0.3"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--to", "c", "--out", str(tmp_path / "here")])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "30 ticks: every input is the simulated one, bit for bit" in " ".join(out.split())
    assert all(name in out for name in os.listdir(tmp_path / "here"))
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--fast", "--out", str(tmp_path / "there")])
    assert ended.value.code == 2
    assert "add --to c" in capsys.readouterr().err


def test_a_controller_fits_in_the_memory_that_its_header_names(masses):
    """Beyond it a step must not write."""
    name = "two_mass_spring"
    header = (masses.folder / f"{name}.h").read_text()
    words = int(header.partition("double memory[")[2].partition("]")[0])
    library = ctypes.CDLL(str(masses.folder / f"lib{name}.so"))
    memory = np.full(words + 64, 7.0)
    library[f"{name}_init"](ctypes.c_void_p(memory.ctypes.data))
    step = library[f"{name}_step"]
    step.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 3]
    q, v, u = np.zeros(2), np.zeros(2), np.zeros(1)
    for k in range(5):
        assert step(memory.ctypes.data, 0.1 * k, q.ctypes.data, v.ctypes.data, u.ctypes.data) == OK
    np.testing.assert_array_equal(memory[words:], 7.0)


@pytest.mark.slow
@needs("fmpy")
@with_compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_a_unit_of_fmi_is_one_and_gives_the_bits_of_the_run(fmi, tmp_path):
    from fmpy import extract, read_model_description, simulate_fmu
    from fmpy.validation import validate_fmu

    scenario, result = sampled("coordinated-arms")
    done = export_fmu(scenario, result, tmp_path, fmi=fmi)
    assert done.replay.identical
    unit = tmp_path / "coordinated_arms.fmu"
    assert validate_fmu(str(unit)) == []
    variables = {one.name: one for one in read_model_description(str(unit)).modelVariables}
    names = [name for name in variables if name[:2] in ("q.", "v.")]
    seen = np.zeros(len(result.time), [("time", float), *((name, float) for name in names)])
    seen["time"] = result.time
    for name, column in zip(names, np.hstack([result["q"], result["v"]]).T, strict=True):
        seen[name] = column
    outputs = [name for name in variables if name.startswith("u.")]

    def answers(**changes):
        found = simulate_fmu(
            str(unit), stop_time=float(result.time[-1]), step_size=0.001, output_interval=0.001,
            input=seen, output=outputs, start_values=changes,
        )  # fmt: skip
        # what a step answers stands at its end
        return np.column_stack([found[name] for name in outputs])[1:]

    answered = answers()
    wanted = result["u"][: len(answered)]
    assert len(answered) == 60
    np.testing.assert_array_equal(answered, wanted)
    gains = [one for one in variables.values() if one.causality == "parameter"]
    known = Runtime(scenario).exported_step.gains
    assert [(one.name, float(one.start)) for one in gains] == [
        (f"{one.name}.{one.row}", one.value) for one in known
    ]
    assert {one.variability for one in gains} == {"tunable"}
    assert np.any(answers(**{gains[0].name: 2.0 * known[0].value}) != wanted)
    folder = extract(str(unit))
    if fmi == 3:
        _state_goes_to_another_unit(folder, unit, wanted, result)


def _state_goes_to_another_unit(folder, path, wanted, result):
    from fmpy import read_model_description
    from fmpy.fmi3 import FMU3Slave

    described = read_model_description(str(path))
    references = {one.name: one.valueReference for one in described.modelVariables}
    states = [reference for name, reference in references.items() if name[:2] in ("q.", "v.")]
    outputs = [reference for name, reference in references.items() if name.startswith("u.")]
    units = []
    for name in ("one", "other"):
        unit = FMU3Slave(
            guid=described.guid, unzipDirectory=folder, instanceName=name,
            modelIdentifier=described.coSimulation.modelIdentifier,
        )  # fmt: skip
        unit.instantiate()
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        units.append(unit)
    at = np.hstack([result["q"], result["v"]])

    def step(unit, k):
        unit.setFloat64(states, at[k])
        unit.doStep(float(result.time[k]), 0.001)
        return unit.getFloat64(outputs)

    one, other = units
    for k in range(20):
        step(one, k)
    kept = one.getFMUState()
    other.setFMUState(other.deserializeFMUState(one.serializeFMUState(kept)))
    for unit in (one, other):
        assert step(unit, 20) == wanted[20].tolist()
        assert step(unit, 21) == wanted[21].tolist()
    one.setFMUState(kept)
    assert step(one, 20) == wanted[20].tolist()
    for unit in units:
        unit.terminate()
        unit.freeInstance()


@pytest.mark.slow
def test_a_law_without_memory_left_is_a_status(tmp_path, monkeypatch):
    monkeypatch.setattr(step_module, "ARENA_BYTES", 256)
    done = exported(tmp_path, "coordinated-arms-squeeze")
    assert not done.is_good
    assert str(done.replay).startswith("60 ticks: some have no inputs, the first at 0 s; ")
    assert "60 ticks are refused, the first at t = 0 s" in done.notes[0]


@pytest.mark.slow
def test_ten_thousand_ticks_give_back_all_memory_that_they_ask_for(tmp_path):
    done = exported(tmp_path, "coordinated-arms-squeeze")
    rows = np.fromfile(tmp_path / "check.bin").reshape(60, -1)
    controller = loaded(done, "coordinated_arms_squeeze")
    nq = len(Robot.load("coordinated_arms_grip").coordinates)
    q, v = rows[0, 1 : 1 + nq].copy(), rows[0, 1 + nq : 1 + 2 * nq].copy()
    u = np.zeros(rows.shape[1] - 1 - 2 * nq)
    assert all(controller.step(1e-3 * k, q, v, u) == OK for k in range(10_000))


def test_names_of_strangers_end_no_comment_and_are_no_template(tmp_path):
    """Who compiles the header or runs the Python of a received scenario runs nothing of its."""
    title = '*/ #error stop */ """ @inputs@ \\'
    done = exported(tmp_path, changes={"title": title})
    assert done.replay.identical
    header, program = ((tmp_path / f).read_text() for f in ("two_mass_spring.h", "controller.py"))
    assert header.index("*/") > header.index("time must grow")
    assert "* / #error stop * / ''' @inputs@ " in header
    compile(program, "controller.py", "exec")
    assert program.count('"""') % 2 == 0
    assert "@inputs@" in program.partition("from controller")[0]


def test_a_library_is_not_written_through_a_link(tmp_path):
    (tmp_path / "own").mkdir()
    victim = tmp_path / "elsewhere.so"
    victim.write_text("mine")
    (tmp_path / "own" / "libtwo_mass_spring.so").symlink_to(victim)
    with pytest.raises(InputError, match="is a link, and nothing is written through links"):
        exported(tmp_path / "own")
    assert victim.read_text() == "mine"
