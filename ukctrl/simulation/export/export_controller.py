"""A folder with all that a designed controller needs outside of this library's own runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Matrix
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.output_folders import remove_file
from ukctrl.simulation.effects.effect import kind_of
from ukctrl.simulation.export.exported_step import ExportedStep
from ukctrl.simulation.export.plant_step import plant_rows, plant_step
from ukctrl.simulation.export.robot_files import FOLDER, copy_robot_files
from ukctrl.simulation.export.ros_trajectory import driven_joints, joint_trajectory
from ukctrl.simulation.export.runtime import Replay, Runtime, replay
from ukctrl.simulation.result.atomic_files import (
    card_text,
    output_folder,
    toml_text,
    write_atomically,
)
from ukctrl.simulation.result.column_files import Columns, write_csv, write_parquet
from ukctrl.simulation.result.quantities import FIELDS, Labels
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario

QUANTITIES = ("q", "v", "a", "u", "q_measured", "v_measured", "u_commanded")
"""What the table has columns of; the last three only where what the law sees or says is not what
is."""


def motion_table(result: Result) -> Columns:
    """Return the motion and inputs of a run: ``time``, ``q.<coordinate>``, ``u.<motor>``, ..."""
    columns = {"time": np.array(result.time)}
    for name in QUANTITIES:
        if name in result.samples.arrays:
            names = result.labels.names[FIELDS[name].dims[0]]
            columns |= {f"{name}.{entry}": result[name][:, k] for k, entry in enumerate(names)}
    return columns | _contacts(result)


def _contacts(result: Result) -> dict[str, Array]:
    """Return what contacts that only push did when the law was asked: 0 open, 1 slides, 2 sticks.

    What its answer changes at that moment comes after.
    """
    report = result.provenance.get("contacts", {})
    columns, numbers = {}, {"opens": 0.0, "slides": 1.0, "sticks": 2.0}
    for name, begins in report.get("begin", {}).items():
        mode = np.full(len(result.time), numbers[begins])
        for t, contact, becomes in report["first"]:
            if contact == name and becomes in numbers:
                # strictly later: at that moment the law had not answered yet
                mode[result.time > t] = numbers[becomes]
            # it strikes, and sticks unless it is told to slide or open
            elif contact == name:
                mode[result.time > t] = 2.0
        columns[f"contact.{name}"] = mode
    return columns


def column_units(labels: Labels) -> dict[str, str]:
    """Return the unit of every column of `motion_table`, and of those that it may lack."""
    units = {"time": "s"}
    for name in QUANTITIES:
        names, unit_names = labels.names[FIELDS[name].dims[0]], FIELDS[name].units(labels)
        units |= {f"{name}.{entry}": unit for entry, unit in zip(names, unit_names, strict=True)}
    return units


ExportedPart = Literal["controller", "plant"]
"""What of a loop is handed over."""
POINT_SECONDS = 0.01
"""Time between the points of a joint trajectory, unless asked otherwise [s]: drives interpolate."""


class ExportedController(NamedTuple):
    """Folder that was written, and what its self-check said."""

    folder: Path
    files: Mapping[str, str]
    """What each file is, by its name."""
    replay: Replay | None
    """The controller of the folder beside the run; None where this machine cannot run it."""
    notes: tuple[str, ...]
    """What was left out, and why."""
    tolerance: float = 0.0
    """By how much inputs may differ from those of the run [N m, N]; 0: they have the same bits."""

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against the controller, as far as this machine could try."""
        if self.replay is None:
            return True
        return self.replay.ticks > 0 and self.replay.worst <= self.tolerance


def export_controller(
    scenario: Scenario,
    result: Result,
    folder: AnyPath,
    *,
    points: float = POINT_SECONDS,
    trust: bool = False,
) -> ExportedController:
    """Write a controller, as a card and as a class, and its run as tables.

    | file | what it is |
    |---|---|
    | ``controller.toml`` | the controller with its gains, for ``--controller`` |
    | ``scenario.toml`` | what it was designed on, fully resolved |
    | ``robot`` | a folder with the files of its robots |
    | ``controller.py`` | the class to call in one's own loop, and its self-check |
    | ``motion.csv`` | states, accelerations and inputs, a row a sample |
    | ``motion.parquet`` | the same with units, where PyArrow is installed |
    | ``trajectory.yaml`` | the motion of the driven joints for ROS 2 |

    Args:
        scenario: What was run; with a sampled controller, and one output sample a tick.
        result: Its run.
        folder: Where to write; made when it does not exist.
        points: Time between the points of the joint trajectory [s].
        trust: Whether the scenario needs Python code that its files name.

    Raises:
        InputError: The scenario's controller is not sampled, or its samples are not its ticks;
            the run has none; or the folder cannot be written to.
    """
    runtime, timing = runtime_to_export(scenario, result), scenario.timing
    folder, table = Path(folder), motion_table(result)
    stride = max(1, round(points / timing.sample))
    files = {
        "controller.toml": "the controller and its gains, for --controller",
        "scenario.toml": "what it was designed on",
        FOLDER: "the files of its robots",
        "controller.py": "the class for your own loop, and its self-check",
        "motion.csv": f"states and inputs, {len(result.time)} rows of {timing.sample:g} s",
    }
    with output_folder("the controller", folder):
        write_atomically(folder / "controller.toml", _card(scenario).encode())
        settings = copy_robot_files(scenario.to_table(), folder, trust=trust)
        write_atomically(folder / "scenario.toml", toml_text(settings).encode())
        write_atomically(folder / "controller.py", _script(scenario, runtime, trust).encode())
        write_csv(table, folder / "motion.csv")
        if write_parquet(table, folder / "motion.parquet", column_units(result.labels)):
            files["motion.parquet"] = "the same, with units"
        comparison, notes = _self_check(runtime, folder, trust)
        if driven_joints(runtime.robot):
            text = joint_trajectory(result, runtime.robot, stride)
            write_atomically(folder / "trajectory.yaml", text.encode())
            files["trajectory.yaml"] = "ROS 2 trajectory_msgs/JointTrajectory of the driven joints"
        else:
            # an old one would be the motion of another robot
            remove_file(folder / "trajectory.yaml")
            notes.append("no trajectory.yaml: no motor acts on a joint of one freedom.")
    notes += [
        f"scenario.toml reads '{path}': take it along, with the files that it names, and correct "
        "the path."
        for path in _absolute_files(settings)
    ]
    notes += _run_notes(result)
    return ExportedController(folder, files, comparison, tuple(notes))


def export_c_library(
    scenario: Scenario,
    result: Result,
    folder: AnyPath,
    *,
    part: ExportedPart = "controller",
    target: str = "host",
    fast: bool = False,
    on_refusal: str = "hold",
) -> ExportedController:
    """Write a part of a loop as a C library, which needs the C library's mathematics alone.

    Args:
        scenario: What was run; with a sampled controller, and one output sample a tick.
        result: Its run.
        folder: Where to write; made when it does not exist.
        part: The controller, or the plant: the true robot, in steps of a fixed length.
        target: The processor: ``host``, ``x86-64``, ``x86-64-v3`` or ``aarch64``.
        fast: Whether arithmetic may be reordered, so that bits may differ from those of a run.
        on_refusal: What a tick that is refused leaves as inputs: those before (``hold``),
            ``zero``, or what brakes the motors (``damped``).

    Raises:
        InputError: As of `export_controller` or `plant_step`; or a part of the law or the robot is
            Python's.
    """
    from ukctrl.simulation.export.c_library import CLibrary

    (step, rows), folder = _step_and_rows(scenario, result, part), Path(folder)
    library = CLibrary(scenario, step, target=target, fast=fast, on_refusal=on_refusal)
    with output_folder(f"the {part}", folder):
        files = _write_card(scenario, part, folder) | library.write(folder, rows)
        comparison, note = library.replay(folder, rows)
    notes = [note] * bool(note) + _run_notes(result)
    tolerance = library.tolerance(rows)
    return ExportedController(folder, files, comparison, tuple(notes), tolerance)


def export_fmu(
    scenario: Scenario,
    result: Result,
    folder: AnyPath,
    *,
    part: ExportedPart = "controller",
    fmi: int = 3,
    targets: Sequence[str] = ("x86-64",),
    fast: bool = False,
    on_refusal: str = "hold",
) -> ExportedController:
    """Write a part of a loop as a functional mock-up unit for co-simulation, ``NAME.fmu``.

    Args:
        scenario: What was run, as for `export_c_library`.
        result: Its run.
        folder: Where to write; made when it does not exist.
        part: As of `export_c_library`.
        fmi: Version of FMI, 2 or 3.
        targets: Processors that it has binaries for, such as ``("x86-64", "aarch64")``.
        fast: As of `export_c_library`.
        on_refusal: As of `export_c_library`.

    Raises:
        InputError: As of `export_c_library`; or there is no C compiler for a processor.
    """
    from ukctrl.simulation.export.c_library import CLibrary
    from ukctrl.simulation.export.fmu import functional_mockup_unit

    (step, rows), folder = _step_and_rows(scenario, result, part), Path(folder)
    # units are made for families of processors, and not for this very one
    library = CLibrary(scenario, step, target="x86-64", fast=fast, on_refusal=on_refusal)
    content = functional_mockup_unit(library, fmi, targets)
    with tempfile.TemporaryDirectory() as place:
        library.write(Path(place), rows)
        comparison, note = library.replay(Path(place), rows)
    with output_folder(f"the {part}", folder):
        files = _write_card(scenario, part, folder)
        write_atomically(folder / f"{library.name}.fmu", content)
    files[f"{library.name}.fmu"] = f"for co-simulation by FMI {fmi}.0, {len(content) // 1000} kB"
    notes = [note] * bool(note) + _run_notes(result)
    tolerance = library.tolerance(rows)
    return ExportedController(folder, files, comparison, tuple(notes), tolerance)


def _step_and_rows(
    scenario: Scenario, result: Result, part: ExportedPart
) -> tuple[ExportedStep, Matrix]:
    """Return what is handed over, and what a run says that it does."""
    if part == "plant":
        return plant_step(scenario), plant_rows(result)
    runtime = runtime_to_export(scenario, result)
    runtime.restart()
    return runtime.exported_step, tick_rows(result, runtime)


def _write_card(scenario: Scenario, part: ExportedPart, folder: Path) -> dict[str, str]:
    """Write the card of a controller; return what each file is."""
    if part == "plant":
        return {}
    write_atomically(folder / "controller.toml", _card(scenario).encode())
    return {"controller.toml": "the controller and its gains, for --controller"}


def tick_rows(result: Result, runtime: Runtime) -> Matrix:
    """Return the ticks of a run, a row each: time, ``q``, ``v``, contacts and inputs.

    States are those that the law has seen, inputs those that it has asked for.
    """
    table = motion_table(result)
    seen = {"q": "q_measured", "v": "v_measured", "u": "u_commanded"}
    names = {"q": runtime.coordinates, "v": runtime.dofs, "u": runtime.inputs}
    labels = {
        key: [
            measured if (measured := f"{seen[key]}.{name}") in table else f"{key}.{name}"
            for name in entries
        ]
        for key, entries in names.items()
    }
    feet = [f"contact.{name}" for name in runtime.contacts]
    columns = ["time", *labels["q"], *labels["v"], *feet, *labels["u"]]
    rows = np.column_stack([table[name] for name in columns])
    return rows[: int(np.count_nonzero(table["time"] < runtime.end))]


def runtime_to_export(scenario: Scenario, result: Result) -> Runtime:
    """Return the controller of a scenario that was run, to be handed over.

    Raises:
        InputError: Its controller is not sampled, or has an observer; its samples are not its
            ticks; the run has none; or the robot has no motors.
    """
    timing = scenario.timing
    if timing.control is None or timing.sample != timing.control:
        raise InputError(
            "a controller is handed over with the period at which it is called: timing.control and "
            f"timing.sample must be equal; got {timing.control} and {timing.sample:g} s. Give "
            "--period, or set both."
        )
    shaken = [kind_of(effect) for effect in scenario.effect if effect.moves_ticks]
    if shaken:
        raise InputError(
            f"effect '{shaken[0]}' moves the ticks away from the samples, so that no table of the "
            "run can be compared; leave it out of what is handed over."
        )
    if scenario.observer is not None:
        raise InputError(
            "a controller is handed over as a function of positions and speeds; this one has an "
            "observer, which is not handed over. Remove observer and sensing, and feed it from one."
        )
    if not len(result.time):
        raise InputError(f"the run has no samples to hand over: {result.message}")
    runtime = Runtime(scenario)
    if not runtime.inputs:
        raise InputError(
            f"robot '{runtime.robot.name}' must have motors for a controller to be handed over; it "
            "has none."
        )
    return runtime


def _run_notes(result: Result) -> list[str]:
    if result.status == "completed":
        return []
    return [f"the run ended as {result.status}: {result.message}"]


def _self_check(runtime: Runtime, folder: Path, trust: bool) -> tuple[Replay, list[str]]:
    """Return the controller that the folder makes beside its run, and what to note.

    Where the folder makes none, that is the controller that was written.
    """
    notes = []
    try:
        # by the folder alone: what it lacks is missed here and not on the machine of the robot
        runtime = Runtime.load(folder, trust=trust)
    except UkctrlError as error:
        notes.append(f"the folder cannot be read back: {error}")
    return replay(runtime, folder / "motion.csv"), notes


def _card(scenario: Scenario) -> str:
    """Return the scenario's controller as the text of a card."""
    table = scenario.to_table()["controller"]
    title = table.get("title") or table.get("kind", "a controller")
    return card_text(
        table,
        title=f"{title}, as designed on {scenario.name or scenario.title}",
        source=table.get("source") or "ukctrl",
    )


def _absolute_files(value: object) -> list[str]:
    """Return the files of this machine that a scenario's table names."""
    if isinstance(value, str):
        return [value] if Path(value).is_absolute() and Path(value).is_file() else []
    inner = value.values() if isinstance(value, Mapping) else value
    if not isinstance(inner, Iterable):
        return []
    return list(dict.fromkeys(path for item in inner for path in _absolute_files(item)))


def _script(scenario: Scenario, runtime: Runtime, trust: bool) -> str:
    """Return the text of the class; what files call things stands in it as data alone."""
    return SCRIPT.format(
        version=version("ukctrl"),
        period=f"{scenario.timing.control:g}",
        title=ascii(scenario.title),
        robot=ascii(runtime.robot.name),
        q=ascii(runtime.coordinates),
        v=ascii(runtime.dofs),
        u=ascii(runtime.inputs),
        trust=", trust=True" if trust else "",
    )


SCRIPT = '''\
"""A controller, made by ukctrl {version}.

    from controller import controller

    loop = controller()             # reads the files beside this one, and compiles
    u = loop.step(t, q, v)          # every {period} s; reads no file

t   time since the start of the task [s]
q   measured configuration, in the order of COORDINATES
v   measured velocity, in the order of VELOCITIES
u   inputs to hold until the next tick, in the order of INPUTS

As a program it steps through motion.csv and tells whether it answers what the simulation did.
"""

from pathlib import Path

from ukctrl import Runtime, one_blas_thread, replay

HERE = Path(__file__).resolve().parent
TASK, ROBOT = {title}, {robot}
COORDINATES = {q}
VELOCITIES = {v}
INPUTS = {u}


def controller() -> Runtime:
    """Return the controller at the start of its task."""
    return Runtime.load(HERE{trust})


if __name__ == "__main__":
    with one_blas_thread():  # threads would only slow such small matrices down
        print(replay(controller(), HERE / "motion.csv"))
'''
