"""Kernels in a table give what they give when Python calls them, and say where they fail."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from ukctrl.core.compiled import compiled, config
from ukctrl.core.jit.argument_block import RAISED
from ukctrl.core.program import BoundKernel, KernelSequence, run
from ukctrl.core.program.kernel_sequence import FAULT, STOP, _run_in_python


class Pair(NamedTuple):
    first: np.ndarray
    more: tuple


@compiled
def mixed(pair, flags, numbers, scale, shift, even, out):
    """Uses every kind of argument once."""
    for i in range(len(out)):
        out[i] = scale * pair.first[i, 0] + pair.more[1][i] + shift
        if flags[i] and even:
            out[i] += numbers[i]


@compiled
def count(cell, limit):
    cell[0] += 1
    return limit - cell[0]


@compiled
def holds(cell, limit):
    return cell[0] < limit


@compiled
def raises(values):
    if values[0] > 0.0:
        raise ValueError("kernels must not")


def in_python(kernel):
    return getattr(kernel, "py_func", kernel)


def test_a_kernel_gets_what_it_was_given_and_sees_what_becomes_of_it():
    first, second = np.arange(6.0).reshape(3, 2), np.array([0.1, 0.2, 0.3])
    flags, numbers, out = np.array([True, False, True]), np.array([7, 8, 9]), np.zeros(3)
    given = Pair(first, (1.5, second)), flags, numbers, 2.0, -1, True
    program = KernelSequence([BoundKernel(mixed, *given, out)])
    for change in (0.0, 3.0):
        first += change
        program()
        expected = np.zeros(3)
        in_python(mixed)(*given, expected)
        np.testing.assert_array_equal(out, expected)


def test_the_first_kernel_that_fails_ends_a_program_and_says_why():
    cell = np.zeros(1, dtype=np.int64)
    calls = [
        BoundKernel(count, cell, 3),
        BoundKernel(holds, cell, 2, fault=lambda code: KeyError(f"full: {code}")),
        BoundKernel(count, cell, 10),
    ]
    program = KernelSequence(calls)
    program()
    assert (cell[0], program.lines[1:, 2].tolist()) == (2, [2, 0, 8])
    with pytest.raises(KeyError, match="full: -1"):
        program()
    assert cell[0] == 3  # the last one was not called
    with pytest.raises(RuntimeError, match="kernel 'count' failed with -1"):
        KernelSequence([calls[0]])()


def test_a_truth_of_numpy_counts_as_one_where_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(config, "DISABLE_JIT", True)
    cell = np.ones(1, dtype=np.int64)
    call = BoundKernel(in_python(holds), cell, 2)
    assert call.run_in_python() == 0
    cell[0] = 2
    assert call.run_in_python() == -1


def test_a_kernel_that_raises_is_a_failure_and_no_silence():
    program = KernelSequence(
        [BoundKernel(raises, np.ones(1), fault=lambda code: ArithmeticError(str(code)))]
    )
    interpreted = ValueError, "kernels must not"  # by Python its own error is there to be seen
    kind, text = interpreted if config.DISABLE_JIT else (ArithmeticError, str(RAISED))
    with pytest.raises(kind, match=text):
        program()


def test_steps_of_python_run_between_kernels_in_their_order():
    cell, seen = np.zeros(1, dtype=np.int64), []
    step = BoundKernel(count, cell, 100)
    steps = KernelSequence(
        [step, step, lambda: seen.append(int(cell[0])), step, lambda: seen.append("end")]
    )
    steps()
    steps()
    assert seen == [2, "end", 5, "end"]
    assert steps.python_owners == ("function", "function")
    assert KernelSequence([]).python_owners == ()


def test_a_step_of_python_tells_whose_it_is():
    class _Own:
        def inside(self):
            return lambda: self.method()

        def method(self):
            pass

    assert KernelSequence([_Own().inside(), _Own().method]).python_owners == ("Own", "Own")


def test_python_may_do_what_a_kernel_could_not():
    cell, asked = np.zeros(1, dtype=np.int64), []
    steps = KernelSequence(
        [BoundKernel(count, cell, 1, fault=asked.append), BoundKernel(count, cell, 100)]
    )
    steps()
    assert asked == []
    steps()
    assert asked == [-2]
    assert cell[0] == 4  # the second kernel went on


@pytest.mark.parametrize("loop", [run, _run_in_python], ids=["compiled", "in Python"])
def test_a_loop_asks_python_for_help_where_a_kernel_failed_and_nowhere_else(loop):
    cell, asked, seen = np.zeros(1, dtype=np.int64), [], []
    steps = KernelSequence(
        [
            BoundKernel(
                count, cell, 1, fault=asked.append
            ),  # fails from the second run on, with help
            lambda: seen.append(int(cell[0])),
            BoundKernel(count, cell, 6),  # fails in the third, without
            BoundKernel(count, cell, 100),
        ]
    )
    assert [loop(steps.lines), asked, seen] == [0, [], [1]]
    assert steps.lines[1:, 2].tolist() == [0, -1, 4, 97]  # a function of Python counts as -1
    assert [loop(steps.lines), asked, seen] == [0, [-3], [1, 4]]
    assert [loop(steps.lines), cell[0]] == [FAULT, 8]  # the last one was not called
    with pytest.raises(RuntimeError, match="kernel 'count' failed with -2"):
        steps.raise_fault()


def test_an_error_in_python_ends_the_table_and_keeps_its_place():
    def fails():
        raise LookupError("not here")

    cell = np.zeros(1, dtype=np.int64)
    steps = KernelSequence([fails, BoundKernel(count, cell, 100)])
    with pytest.raises(LookupError, match="not here") as caught:
        steps()
    assert caught.traceback[-1].name == "fails"
    assert cell[0] == 0
    assert steps.fault is None


def test_what_failed_first_is_kept_until_somebody_asks():
    cell = np.zeros(1, dtype=np.int64)
    steps = KernelSequence([BoundKernel(count, cell, 0, fault=lambda code: ValueError(str(code)))])
    assert [run(steps.lines), run(steps.lines)] == [FAULT, FAULT]
    with pytest.raises(ValueError, match="-1"):
        steps.raise_fault()


class Refused(Exception):
    """An error that tells when it is gone."""


@pytest.mark.parametrize("in_kernel", [True, False])
def test_an_error_that_nobody_has_any_more_is_gone_with_the_arrays_of_its_frames(in_kernel):
    def refuses(code=0):
        array = np.zeros(3)
        arrays.append(weakref.ref(array))
        error = Refused(str(array))
        errors.append(weakref.ref(error))
        try:
            if in_kernel:
                return error
            raise error
        finally:
            del error

    arrays, errors = [], []
    cell = np.zeros(1, dtype=np.int64)
    step = BoundKernel(count, cell, 0, fault=refuses) if in_kernel else refuses
    steps = KernelSequence([step])
    gc.disable()
    try:
        with contextlib.suppress(Refused):
            steps()
        assert [found() for found in (*errors, *arrays)] == [None, None]
    finally:
        gc.enable()


def test_an_interruption_ends_more_than_a_fault():
    def interrupted():
        raise KeyboardInterrupt

    steps = KernelSequence([interrupted])
    assert run(steps.lines) == STOP
    with pytest.raises(KeyboardInterrupt):
        steps.raise_fault()


@pytest.mark.parametrize(
    "value",
    [np.zeros((3, 3))[:, :2], np.zeros(2, dtype=complex), "text", None],
    ids=["part of rows", "complex", "text", "None"],
)
def test_what_a_kernel_cannot_take_is_refused(value):
    with pytest.raises(TypeError, match="a kernel takes"):
        BoundKernel(raises, value)


@pytest.mark.parametrize("move", [copy.deepcopy, pickle.dumps])
def test_a_call_is_never_copied_for_it_knows_addresses(move):
    with pytest.raises(TypeError, match="addresses of this process"):
        move(BoundKernel(raises, np.zeros(1)))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_table_runs_where_a_number_says_so_and_its_faults_are_those_of_the_whole(mode):
    chosen, cells = np.array([float(mode)]), np.zeros((3, 1), dtype=np.int64)

    def fail():
        raise ValueError("the third is for nobody")

    every = [
        KernelSequence([BoundKernel(count, cells[0], 9)]),
        KernelSequence([BoundKernel(count, cells[1], 9)]),
        KernelSequence([fail]),
    ]
    whole = KernelSequence(steps.when_equal(chosen, k) for k, steps in enumerate(every))
    assert whole.python_owners == ("function",)
    if mode == 2:
        with pytest.raises(ValueError, match="for nobody"):
            whole()
    else:
        whole()
    np.testing.assert_array_equal(cells[:, 0], [mode == 0, mode == 1, False])


def test_steps_tell_whether_they_run_all_of_others():
    cell = np.zeros(1, dtype=np.int64)
    first, second = BoundKernel(count, cell, 9), BoundKernel(count, cell, 9)
    assert KernelSequence([first, second]).contains_all(KernelSequence([second]))
    assert not KernelSequence([first]).contains_all(KernelSequence([first, second]))
