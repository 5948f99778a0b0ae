"""Run short motions and keep what comes of each: by machine code, or with kernels run by Python.

    python tests/twin/runs.py TASKS.json OUTCOMES.pickle

With ``NUMBA_DISABLE_JIT=1`` every kernel is a function of Python. What then computes in another way
than machine code is what kernels leave to libraries: products of matrices and factorisations (BLAS
and LAPACK, of which NumPy and SciPy each bring their own, and Numba uses SciPy's), sums over an
array, which NumPy takes in another order, and functions of NumPy that are not the C library's. Such
calls are noted, so that a difference without one is a difference of ours.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import math
import pickle
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Task = Mapping[str, Any]
"""``name``, and ``scenario`` of the catalogue with ``changes``, or its ``toml``."""
NUMBERS = np.random.default_rng(0).uniform(-8.0, 8.0, (4000, 2))
ALIKE = {
    "arctan": math.atan, "cos": math.cos, "exp": math.exp, "expm1": math.expm1, "sin": math.sin,
    "sinh": math.sinh, "tanh": math.tanh,
}  # fmt: skip
"""Functions of NumPy, of one number, whose bits may be those of the C library's."""
EXACT = {
    "abs", "arange", "array", "ascontiguousarray", "bool_", "copysign", "empty", "eye", "float64",
    "floor", "inf", "int64", "isfinite", "isnan", "max", "min", "nan", "nextafter", "ones", "pi",
    "rint", "round", "searchsorted", "sign", "sqrt", "uint64", "zeros",
}  # fmt: skip
"""What rounds correctly, or not at all."""
FACTORISATIONS = ("cholesky", "inv", "lstsq", "qr", "solve", "svd")


class Outcome(NamedTuple):
    """What came of a scenario."""

    status: str
    """That of the result, or ``refused``."""
    message: str
    verdicts: tuple[str, ...]
    """The whole, its reasons, and every verdict with its level."""
    loop: Mapping[str, Any]
    """What the provenance says of it."""
    arrays: Mapping[str, Array]
    libraries: tuple[str, ...]
    """Where kernels left something to a library."""


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write the files of a scenario."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def outcome(task: Task, folder: Path) -> Outcome:
    """Run a task; one that is refused has a message and nothing else."""
    from ukctrl import Scenario, simulate
    from ukctrl.core.errors import UkctrlError

    NOTED.clear()
    try:
        if "toml" in task:
            write(task["files"], folder)
            scenario = Scenario.from_toml(task["toml"], base=folder)
        else:
            scenario = Scenario.load(task["scenario"], task["changes"])
        result = simulate(scenario)
    except UkctrlError as error:
        return Outcome("refused", f"{type(error).__name__}: {error}", (), {}, {}, ())
    levels = [f"{one.subject}: {one.level}" for one in result.verdicts]
    told = (result.belief.verdict, *levels)
    samples = result.samples
    names = ("time", *samples.arrays, *samples.signals)
    arrays = {name: np.array(samples[name]) for name in names}
    loop = result.provenance["loop"]
    return Outcome(result.status, result.message, told, loop, arrays, tuple(sorted(NOTED)))


NOTED: set[str] = set()
DECORATORS = ("compiled", "inlined", "allocating", "python_entry_only")
"""By which kernels are known."""


def note_libraries() -> None:
    """Have kernels, which are functions of Python here, note what they leave to libraries.

    To be called before anything of ukctrl is imported.
    """
    import ukctrl.core.compiled as module

    kernels = set()

    def noting(decorate: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        kernels.add(function.__code__)
        made, used = decorate(function), libraries(function)
        if not used:
            return made

        @functools.wraps(made)
        def kernel(*given: Any) -> Any:
            NOTED.update(used)
            return made(*given)

        return kernel

    for name in DECORATORS:
        setattr(module, name, functools.partial(noting, getattr(module, name)))
    for name in FACTORISATIONS:
        setattr(np.linalg, name, _noted(getattr(np.linalg, name), kernels))


def _noted(function: Callable[..., Any], kernels: set[Any]) -> Callable[..., Any]:
    """Return a function of LAPACK's that notes the kernel which calls it: few that name one do."""

    @functools.wraps(function)
    def noted(*given: Any, **named: Any) -> Any:
        code = sys._getframe(1).f_code
        if code in kernels:
            NOTED.add(f"{code.co_name}: {function.__name__}")
        return function(*given, **named)

    return noted


def libraries(function: Callable[..., Any]) -> set[str]:
    """Return what a kernel computes by a library whenever it runs, factorisations left out."""
    found = set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.add("@")
        power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
        if power and isinstance(node.right, ast.Constant):  # which machine code multiplies out
            found.add(f"**{node.right.value}")
        numpys = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np"
        if numpys and node.attr not in {"linalg", *EXACT, *alike()}:
            found.add(f"np.{node.attr}")
    return {f"{function.__name__}: {each}" for each in found}


@functools.cache
def alike() -> frozenset[str]:
    """Return the functions of NumPy that have the bits of the C library's on this machine."""
    same = {
        name for name, theirs in ALIKE.items()
        if all(float(getattr(np, name)(x)) == theirs(x) for x in NUMBERS[:, 0])
    }  # fmt: skip
    angles = all(float(np.arctan2(y, x)) == math.atan2(y, x) for y, x in NUMBERS)
    return frozenset(same | {"arctan2"} if angles else same)


def main(arguments: Sequence[str]) -> None:
    """Run the tasks of a file."""
    from numba import config

    if config.DISABLE_JIT:
        note_libraries()
    tasks, out = Path(arguments[0]), Path(arguments[1])
    outcomes = [outcome(task, tasks.parent) for task in json.loads(tasks.read_text())]
    out.write_bytes(pickle.dumps([one._asdict() for one in outcomes]))


if __name__ == "__main__":
    main(sys.argv[1:])
