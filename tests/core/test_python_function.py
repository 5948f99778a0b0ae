"""A function of Python in a scenario: its name, its likes, and how other processes get it."""

from __future__ import annotations

import functools
import pickle
import threading

from ukctrl.core.python_function import PythonFunction


def double(x):
    return 2.0 * x


def test_another_process_gets_a_function_without_a_name_whole():
    scale = 3.0
    sent = pickle.loads(pickle.dumps(PythonFunction(lambda x: scale * x)))
    assert sent(2.0) == 6.0


def test_it_is_called_as_it_is_or_function():
    assert PythonFunction(double).name == "double"
    assert PythonFunction(lambda x: x).name == "function"
    assert PythonFunction(functools.partial(double, 1.0)).name == "partial"
    assert PythonFunction(PythonFunction(double)).function is double


def test_functions_of_one_name_differ_in_text_where_they_compute_something_else():
    laws = [PythonFunction(lambda x, gain=gain: gain * x) for gain in (1.0, 2.0)]
    texts = {repr(law) for law in laws}
    assert len(texts) == 2
    assert laws[0] != laws[1]
    assert repr(laws[0]) == repr(PythonFunction(laws[0].function))
    assert PythonFunction(double) == PythonFunction(double)


def test_one_that_holds_what_no_process_can_have_is_like_no_other():
    locks = [threading.Lock() for _ in range(2)]
    # both alive at once: another may come to lie where one was
    functions = [PythonFunction(lambda lock=lock: lock.locked()) for lock in locks]
    assert len(set(map(repr, functions))) == 2
