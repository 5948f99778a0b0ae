"""A controller or a plant as a C library: a header, object code, and what builds and checks it."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.core.files import AnyPath
from ukctrl.core.files.output_folders import remove_file
from ukctrl.core.jit.linked_module import Target, object_code
from ukctrl.core.tie_breaking import max_abs
from ukctrl.robot.joint_layout import identifier
from ukctrl.simulation.export.exported_step import ExportedStep
from ukctrl.simulation.export.runtime import Replay
from ukctrl.simulation.export.step_module import OK, POLICIES, StepModule
from ukctrl.simulation.result.atomic_files import write_atomically
from ukctrl.simulation.scenario import Scenario

TOLERANCE = 1e-12
"""By which inputs may differ from those of the run, in parts of the largest, where bits may."""
LINKERS = ("cc", "gcc", "clang", "ld")
"""What makes a shared library of object code, the first that there is."""
FINITE_KERNELS = ("tree_kernels",)
"""Kernels whose numbers are finite at every state that a step takes, squares of speeds included."""
STRAIGHT_SIZE = 10
"""Robots with more coordinates keep their loops in ``fast`` code: as straight lines they are longer
than a processor's cache, and a humanoid's tick took 2.5 times as long."""
RUNS_HERE = ("host", "x86-64", "x86-64-v3")


@final
class CLibrary:
    """Object code of a controller or a plant, with all that a C program needs to call it.

    Args:
        scenario: What it is of.
        step: What one call does.
        target: The processor: ``host``, or a name of `TARGETS`.
        fast: Whether arithmetic may be reordered, so that bits may differ from those of a run.
        on_refusal: What a step that is refused leaves as outputs: those before (``hold``),
            ``zero``, or what brakes the motors (``damped``).

    Raises:
        InputError: A part of the law or the robot is Python's, or there is no such target.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: ExportedStep,
        *,
        target: str = "host",
        fast: bool = False,
        on_refusal: str = "hold",
    ) -> None:
        if on_refusal not in POLICIES:
            raise InputError(
                f"on_refusal must be one of {', '.join(POLICIES)}; got '{on_refusal}'."
            )
        if on_refusal == "damped" and step.braking is None:
            raise InputError(
                "on_refusal = 'damped' needs a controller of motors that always push along the "
                "same velocities; choose 'hold' or 'zero'."
            )
        Target.named(target)  # an unknown one is told before anything is compiled
        self.name = identifier(scenario.name or "unnamed").lower()
        if step.subject == "plant":  # beside its controller in one program
            self.name += "_plant"
        self.step, self._scenario = step, scenario
        self._target, self._fast, self._policy = target, fast, on_refusal
        module = StepModule(self.name, step, on_refusal)
        if module.python_steps:
            raise InputError(
                f"the {step.subject} of '{scenario.name}' cannot go to C, which calls no Python: "
                f"{quoted(module.python_steps)} of it {_is(module.python_steps)} Python's."
            )
        self.messages = module.messages
        self.layout = module.layout
        self._linked = module.linked()
        self.code = self.code_for(target)
        self.sizes = tuple(
            sum(len(port.array) for port in ports) for ports in (step.inputs, step.outputs)
        )
        """How many numbers go in and come out."""

    def code_for(self, target: str) -> bytes:
        """Return its object code for a processor, as `Target.named` knows them."""
        processor = Target.named(target)
        ports = (*self.step.inputs, *self.step.outputs)
        straight = max(len(port.array) for port in ports) <= STRAIGHT_SIZE
        return object_code(
            self._linked, processor, fast=self._fast, straight=straight, finite=FINITE_KERNELS
        )

    def write(self, folder: Path, rows: Matrix) -> dict[str, str]:
        """Write all files; return what each is, by its name.

        Args:
            folder: Where.
            rows: Ticks to check: time, inputs, the contacts' modes and outputs.
        """
        name = self.name
        texts = {
            f"{name}.h": (self.header(), "the interface: three functions and their units"),
            "CMakeLists.txt": (self.filled(CMAKE), "builds the library and check; find_package"),
            "check.c": (self.filled(CHECK), "a program that compares the ticks of check.bin"),
        }
        if self.step.subject == "controller":
            python = self.filled(PYTHON), "the library in Python, with NumPy alone"
            texts["controller.py"] = python
        write_atomically(folder / f"{name}.o", self.code)
        write_atomically(folder / "check.bin", rows.astype("<f8").tobytes())
        for file, (text, _) in texts.items():
            write_atomically(folder / file, text.encode())
        files = {file: words for file, (_, words) in texts.items()}
        size, ticks = f"{len(self.code) / 1000:.0f} kB", len(rows)
        files |= {
            f"{name}.o": f"object code for {self._target}, {size}",
            "check.bin": f"{ticks} ticks of the run",
        }
        shared = self._shared_library()
        if shared:
            write_atomically(folder / f"lib{name}.so", shared)
            files[f"lib{name}.so"] = "the same as a shared library"
        else:
            remove_file(folder / f"lib{name}.so")
        return dict(sorted(files.items()))

    def _shared_library(self) -> bytes:
        """Return it as a shared library; nothing where no linker here is for this processor."""
        linker = next(filter(None, map(shutil.which, LINKERS)), None)
        if linker is None or self._target not in RUNS_HERE:
            return b""
        return built({"tick.o": self.code}, linker, "-shared", "tick.o")[0]

    def replay(self, folder: Path, rows: Matrix) -> tuple[Replay | None, str]:
        """Step the shared library through ticks; None where this machine cannot.

        Returns:
            How it compares, and what is to be said of ticks that it refuses.
        """
        if not (folder / f"lib{self.name}.so").exists():
            return None, (
                f"the ticks were not compared: this machine cannot run a library for "
                f"{self._target}, or has no linker. The program check does that where it runs."
            )
        sizes = [len(port.array) for port in self.step.inputs]
        outputs = [np.zeros(len(port.array)) for port in self.step.outputs]
        path, n_arrays = folder / f"lib{self.name}.so", len(sizes) + len(outputs)
        library = LoadedLibrary(path, self.name, self.layout.size, n_arrays)
        worst, at, spent, refused = 0.0, float("nan"), list[float](), list[tuple[float, int]]()
        for row in np.ascontiguousarray(rows):
            ends = np.cumsum([*sizes, self._n_contacts])
            *inputs, modes, wanted = np.split(row[1:], ends)
            if len(modes):
                library.contacts(modes)
            began = time.perf_counter()
            status = library.step(float(row[0]), *inputs, *outputs)
            spent.append(time.perf_counter() - began)
            if status != OK:
                refused.append((float(row[0]), status))
            apart = np.inf if status != OK else max_abs(np.concatenate(outputs) - wanted)
            if not apart <= worst:
                worst, at = apart, float(row[0])
        mean = 1e6 * float(np.mean(spent[1:] or spent or [0.0]))
        note = ""
        if refused:
            t, status = refused[0]
            note = (
                f"{len(refused)} ticks are refused, the first at t = {t:.4g} s: "
                f"{self.messages[status]}. The run asks Python there, which a library has not."
            )
        compared = "input" if self.step.subject == "controller" else "state"
        return Replay(len(rows), worst, at, mean, compared), note

    @property
    def _n_contacts(self) -> int:
        return len(self.step.contacts)

    @property
    def _is_exact(self) -> bool:
        return self._target == "host" and not self._fast

    def tolerance(self, rows: Matrix) -> float:
        """Return by how much outputs may differ from those of ticks."""
        largest = float(np.abs(rows[:, -self.sizes[1] :]).max(initial=0.0))
        return 0.0 if self._is_exact else TOLERANCE * largest

    @property
    def title(self) -> str:
        """What the scenario is called."""
        return self._scenario.title

    @property
    def period(self) -> float:
        """Time between ticks [s]."""
        assert self._scenario.timing.control is not None
        return self._scenario.timing.control

    @property
    def first_output(self) -> int:
        """Number of the first output among `variables`, from 1."""
        return 1 + self.sizes[0] + self._n_contacts

    def variables(self) -> list[Variable]:
        """Return all that a step takes and gives, in this order."""
        step = self.step
        contacts = [Variable(f"contact.{name}", "", "input", 2.0) for name in step.contacts]
        inputs, outputs = (
            [
                Variable(f"{port.symbol}.{name}", unit, kind, float(value))
                for port in ports
                for name, unit, value in zip(port.names, port.units, port.start, strict=True)
            ]
            for ports, kind in ((step.inputs, "input"), (step.outputs, "output"))
        )
        gains = [
            Variable(f"{one.name}.{one.row}", one.unit, "parameter", one.value)
            for one in step.gains
        ]
        return [*inputs, *contacts, *outputs, *gains]

    def header(self) -> str:
        """Return the text of the header."""
        inputs, outputs, contacts = self.step.inputs, self.step.outputs, self.step.contacts
        entries = [(port.symbol, port.meaning, port.names, port.units) for port in inputs]
        if contacts:
            meaning = f"what contacts do, for {self.name}_contacts"
            entries.append(("contact", meaning, contacts, ("",) * len(contacts)))
        entries += [(port.symbol, port.meaning, port.names, port.units) for port in outputs]
        if gains := self.step.gains:
            labels = tuple(f"{one.name}.{one.row}" for one in gains)
            meaning = f"what {self.name}_gains changes, none below 0, whose law is then not checked"
            entries.append(("gains", meaning, labels, tuple(one.unit for one in gains)))
        lines = list[str]()
        for symbol, meaning, names, units in entries:
            named = (
                f"{name} [{unit}]" if unit else name
                for name, unit in zip(names, units, strict=True)
            )
            text = f"{symbol}[{len(names)}]  {meaning}: {in_comment(', '.join(named))}"
            lines += textwrap.wrap(text, 92, initial_indent="   ", subsequent_indent="         ")
        return self.filled(HEADER, order="\n".join(lines))

    def filled(self, template: str, **more: str) -> str:
        """Return a text with what this controller is in the places of names between @."""
        step, (n_in, n_out), nc = self.step, self.sizes, self._n_contacts
        ports = *step.inputs, *step.outputs
        last = "the step" if step.subject == "plant" else "the tick"
        leaves = {
            "hold": f"that of {last} before with status 0",
            "zero": "zeros",
            "damped": "what brakes each motor, -D v",
        }[self._policy]
        names = {port.symbol: repr(tuple(port.names)) for port in ports}
        values = {
            "NAME": self.name.upper(), "name": self.name, "version": version("ukctrl"),
            "title": in_comment(f"'{self._scenario.title}'"), "target": self._target,
            "subject": step.subject, "period": f"{self.period:g}", "leaves": leaves,
            "n_in": str(n_in), "n_out": str(n_out), "nc": str(nc),
            "call": ", ".join(port.symbol for port in ports),
            "results": " and ".join(port.symbol for port in step.outputs),
            "parameters": ", ".join(
                [f"const double *{port.symbol}" for port in step.inputs]
                + [f"double *{port.symbol}" for port in step.outputs]
            ),
            "sizes": "\n".join(
                f"#define {self.name.upper()}_{port.symbol.upper()} {len(port.array)}"
                for port in ports
            ),
            "row_call": self._places("row + 1", "out"),
            "unit_call": self._places("unit->value + 1", f"unit->value + {self.first_output}"),
            "starts": ", ".join(repr(one.start) for one in self.variables()),
            "ng": str(len(step.gains)),
            "words": str(-(-self.layout.size // 8)),
            "statuses": "\n".join(f"   {k:3d}  {text}" for k, text in enumerate(self.messages)),
            "messages": ",\n".join(f'    "{text}"' for text in self.messages),
            "tolerance": "0.0" if self._is_exact else f"{TOLERANCE:g}",
            "coordinates": names["q"], "velocities": names["v"], "inputs": names["u"],
            "contact_names": repr(tuple(step.contacts)),
            **more,
        }  # fmt: skip

        def fill(text: str) -> str:
            # in one pass: what a stranger's names say is no template
            return re.sub(r"@(\w+)@", lambda found: values[found[1]], text)

        values["contacts"] = fill(CONTACTS) if nc else ""
        values["gains"] = fill(GAINS) if step.gains else ""
        values["gain_names"] = repr(tuple(f"{one.name}.{one.row}" for one in step.gains))
        values["set_contacts"] = fill(SET_CONTACTS) if nc else ""
        return fill(template)

    def _places(self, inputs: str, outputs: str) -> str:
        """Return the arguments of a call in C, where all inputs follow each other, and outputs."""
        texts = list[str]()
        for base, ports in ((inputs, self.step.inputs), (outputs, self.step.outputs)):
            at = 0
            for port in ports:
                texts.append(f"{base} + {at}" if at else base)
                at += len(port.array)
        return ", ".join(texts)


class Variable(NamedTuple):
    """What a step takes or gives, one number of it."""

    name: str
    unit: str
    kind: str
    """input, output or parameter."""
    start: float
    """What it is before the first step."""


@final
class LoadedLibrary:
    """The shared library of a controller, in this process."""

    def __init__(self, path: AnyPath, name: str, state_bytes: int, n_arrays: int = 3) -> None:
        library: Any = ctypes.CDLL(str(Path(path).resolve()))
        self._step = library[f"{name}_step"]
        self._step.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * n_arrays]
        self._state = (ctypes.c_double * -(-state_bytes // 8))()
        self._library, self._name = library, name
        library[f"{name}_init"](ctypes.byref(self._state))

    def contacts(self, modes: Vector) -> None:
        """Tell what contacts do: 0 open, 1 slides, 2 sticks."""
        felt = (ctypes.c_int * len(modes))(*modes.astype(int).tolist())
        self._library[f"{self._name}_contacts"](ctypes.byref(self._state), felt)

    def change_gains(self, values: Vector) -> int:
        """Change the gains; return 0, or another status where nothing is changed."""
        change, place = self._library[f"{self._name}_gains"], ctypes.c_void_p(values.ctypes.data)
        status: int = change(ctypes.byref(self._state), place)
        return status

    def step(self, t: float, *arrays: Vector) -> int:
        """Read the inputs of a step and write its outputs; return its status."""
        pointers = (array.ctypes.data for array in arrays)
        status: int = self._step(ctypes.byref(self._state), t, *pointers)
        return status


def in_comment(text: str) -> str:
    """Return text as it may stand in a comment of C or Python, which a stranger's must not end."""
    return ascii(text)[1:-1].replace('"', "'").replace("*/", "* /")


def built(files: Mapping[str, bytes], *command: str) -> tuple[bytes, str]:
    """Return what a compiler or linker makes of files, and what it says where it makes nothing.

    It works in a folder of its own, and writes nowhere else.
    """
    with tempfile.TemporaryDirectory() as place:
        for name, content in files.items():
            (Path(place) / name).write_bytes(content)
        whole = [*command, "-o", "made.so", "-lm"]
        done = subprocess.run(whole, cwd=place, capture_output=True, text=True, check=False)
        return (b"", done.stderr) if done.returncode else (Path(place, "made.so").read_bytes(), "")


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


CONTACTS = """
/* Tell what the contacts do, before a step: 0 open, 1 slides, 2 sticks (all, after init). */
void @name@_contacts(@name@_t *@subject@, const int contacts[@NAME@_CONTACTS]);
"""
GAINS = """
/* Change the gains, between steps; 0, or 1 and nothing is changed. */
int @name@_gains(@name@_t *@subject@, const double gains[@NAME@_GAINS]);
"""
SET_CONTACTS = """
        for (i = 0; i < @nc@; i++) contacts[i] = (int)row[1 + @n_in@ + i];
        @name@_contacts(&controller, contacts);"""
HEADER = """\
/* The @subject@ of @title@, made by ukctrl @version@ for @target@.

   @name@_t @subject@;             the caller's memory; any number of them
   @name@_init(&@subject@);        at the start of the task, and to begin it again
   @name@_step(&@subject@, t, @call@);        every @period@ s; returns a status

   t     time since the start of the task [s], which grows from call to call
@order@

   No call asks for memory, locks, waits or reads a file. Two threads may step two of them. A step
   whose status is not 0 has left the @subject@ as it was, and in @results@ @leaves@:
@statuses@
*/
#ifndef @NAME@_H
#define @NAME@_H

#define @NAME@_PERIOD @period@
@sizes@
#define @NAME@_CONTACTS @nc@
#define @NAME@_GAINS @ng@

#ifdef __cplusplus
extern "C" {
#endif

typedef struct { double memory[@words@]; } @name@_t;

void @name@_init(@name@_t *@subject@);
void @name@_moved(@name@_t *@subject@);    /* after its memory was copied elsewhere */
int @name@_step(@name@_t *@subject@, double t, @parameters@);
@contacts@@gains@
static inline const char *@name@_message(int status)
{
    static const char *const messages[] = {
@messages@
    };
    const int count = (int)(sizeof messages / sizeof *messages);
    return status >= 0 && status < count ? messages[status] : "unknown status";
}

#ifdef __cplusplus
}
#endif

#endif
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(@name@ VERSION 1.0 LANGUAGES C)
include(GNUInstallDirs)

add_library(@name@ STATIC @name@.o)
set_source_files_properties(@name@.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(@name@ PROPERTIES LINKER_LANGUAGE C)
target_include_directories(@name@ PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(@name@ PUBLIC m)

add_executable(check check.c)
set_target_properties(check PROPERTIES C_STANDARD 99)
target_link_libraries(check PRIVATE @name@)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/@name@)
install(TARGETS @name@ EXPORT @name@-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES @name@.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT @name@-targets FILE @name@-config.cmake DESTINATION ${package})
"""
CHECK = """\
/* Steps the @subject@ through a run, and compares @results@.

   cc -O2 check.c @name@.o -lm -o check && ./check [check.bin]                              */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "@name@.h"

enum { WIDTH = 1 + @n_in@ + @nc@ + @n_out@, ROUNDS = 20 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static @name@_t controller;
    const double tolerance = @tolerance@; /* in parts of the largest; 0: of the same bits */
    double out[@n_out@], row[WIDTH], *rows, *times, worst = 0.0, largest = 0.0;
    size_t ticks = 0, room = 1024, k, differ = 0, refused = 0;
    int round, i, status = 0;
#if @NAME@_CONTACTS
    int contacts[@NAME@_CONTACTS];
#endif
    FILE *file = fopen(argc > 1 ? argv[1] : "check.bin", "rb");

    if (!file) {
        fprintf(stderr, "check.bin must be beside the program, or its first argument\\n");
        return 2;
    }
    rows = malloc(room * sizeof row);
    while (rows && fread(row, sizeof row, 1, file) == 1) {
        if (ticks == room) {
            double *more = realloc(rows, 2 * room * sizeof row);
            if (!more) break;
            rows = more;
            room *= 2;
        }
        memcpy(rows + WIDTH * ticks++, row, sizeof row);
    }
    fclose(file);
    times = malloc((ticks + 1) * ROUNDS * sizeof *times);
    if (!rows || !times || !ticks) return 2;
    for (round = 0; round < ROUNDS; round++) {
        @name@_init(&controller);
        for (k = 0; k < ticks; k++) {
            const double *wanted = rows + WIDTH * (k + 1) - @n_out@;
            double began;
            memcpy(row, rows + WIDTH * k, sizeof row);@set_contacts@
            began = now();
            status = @name@_step(&controller, row[0], @row_call@);
            times[ticks * (size_t)round + k] = now() - began;
            if (round) continue;
            refused += status != 0;
            differ += memcmp(out, wanted, sizeof out) != 0;
            for (i = 0; i < @n_out@; i++) {
                worst = fmax(worst, fabs(out[i] - wanted[i]));
                largest = fmax(largest, fabs(wanted[i]));
            }
        }
    }
    qsort(times, ticks * ROUNDS, sizeof *times, compare);
    printf("%zu ticks: %zu with other bits, %zu refused, worst difference %.3g of %.3g; ", ticks,
           differ, refused, worst, largest);
    printf("us a step: least %.2f, half %.2f, 99.9 %% %.2f\\n", times[0],
           times[ticks * ROUNDS / 2], times[(size_t)(0.999 * (double)(ticks * ROUNDS))]);
    free(times);
    free(rows);
    return refused || (tolerance > 0.0 ? !(worst <= tolerance * largest) : differ != 0);
}
"""
PYTHON = '''\
"""The controller of @title@, made by ukctrl @version@ for @target@: its C library in Python.

    from controller import Controller

    loop = Controller()
    u = loop.step(t, q, v)          # every @period@ s

It needs NumPy, and lib@name@.so beside it. As a program it steps through check.bin.
"""

import ctypes
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
COORDINATES = @coordinates@
VELOCITIES = @velocities@
INPUTS = @inputs@
CONTACTS = @contact_names@
GAINS = @gain_names@
MESSAGES = (
@messages@,
)
_LIBRARY = ctypes.CDLL(str(HERE / "lib@name@.so"))
_LIBRARY.@name@_step.argtypes = [ctypes.c_void_p, ctypes.c_double] + 3 * [ctypes.c_void_p]


class Refused(ArithmeticError):
    """The law has no inputs at this state; `held` has what to give instead."""

    def __init__(self, status, held):
        super().__init__(MESSAGES[status])
        self.status, self.held = status, held


class Controller:
    """The controller at the start of its task."""

    def __init__(self):
        self._state = (ctypes.c_double * @words@)()
        self._u = np.zeros(len(INPUTS))
        self.restart()

    def restart(self):
        """Begin the task again."""
        _LIBRARY.@name@_init(ctypes.byref(self._state))

    def change_gains(self, values):
        """Change the gains, in the order of GAINS."""
        values = np.ascontiguousarray(values, dtype=float)
        if values.shape != (len(GAINS),):
            raise ValueError(f"there are {len(GAINS)} gains")
        place = ctypes.c_void_p(values.ctypes.data)
        if len(GAINS) and _LIBRARY.@name@_gains(ctypes.byref(self._state), place):
            raise ValueError("gains must be finite, and none below 0")

    def step(self, t, q, v, contacts=None):
        """Return the inputs to hold until the next tick."""
        q, v = (np.ascontiguousarray(x, dtype=float) for x in (q, v))
        if q.shape != (len(COORDINATES),) or v.shape != (len(VELOCITIES),):
            raise ValueError(f"q and v must have {len(COORDINATES)} and {len(VELOCITIES)} entries")
        if contacts is not None:
            felt = (ctypes.c_int * len(CONTACTS))(*[int(x) for x in contacts])
            _LIBRARY.@name@_contacts(ctypes.byref(self._state), felt)
        places = (x.ctypes.data for x in (q, v, self._u))
        status = _LIBRARY.@name@_step(ctypes.byref(self._state), t, *places)
        if status:
            raise Refused(status, self._u.copy())
        return self._u.copy()


if __name__ == "__main__":
    sizes = np.cumsum([1, len(COORDINATES), len(VELOCITIES), len(CONTACTS)])
    rows = np.fromfile(HERE / "check.bin", dtype="<f8").reshape(-1, sizes[-1] + len(INPUTS))
    loop, differ = Controller(), 0
    for row in rows:
        t, q, v, contacts, u = np.split(row, sizes)
        answer = loop.step(t[0], q, v, contacts if CONTACTS else None)
        differ += answer.tobytes() != u.tobytes()
    print(f"{len(rows)} ticks: {differ} with other bits.")
'''
