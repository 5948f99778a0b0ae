"""The memory of a sequence can be laid out anew: every address in it is told."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.core.program.kernel_sequence import LINKED, run_if_equal
from ukctrl.core.program.memory_image import (
    CallbackAddress,
    KernelAddress,
    MemoryImage,
    Place,
    TrampolineAddress,
)


@compiled
def add(one, other, out):
    for i in range(len(out)):
        out[i] = one[i] + other[i]


def words(content):
    return np.frombuffer(content, dtype=np.int64)


def numbers(content, place, count):
    return np.frombuffer(content, dtype=float, count=count, offset=place.offset)


def test_views_of_one_array_are_one_piece_and_what_nobody_writes_is_constant():
    whole, other = np.arange(6.0), np.array([7.0, 8.0])
    sequence = KernelSequence([BoundKernel(add, whole[:2], other, whole[3:5])])
    image = MemoryImage(sequence, (), {whole[3:].ctypes.data})
    out, fixed = image.place(whole[3:5]), image.place(other)
    # a gap between two views belongs to none of them
    assert not out.is_constant
    assert fixed.is_constant
    assert image.place(whole[:2]).is_constant
    np.testing.assert_array_equal(numbers(image.constant, fixed, 2), other)
    np.testing.assert_array_equal(numbers(image.variable, out, 2), [3.0, 4.0])
    overlapping = KernelSequence([BoundKernel(add, whole[:4], other, whole[3:5])])
    image = MemoryImage(overlapping, (), {whole[3:].ctypes.data})
    assert image.place(whole[3:5]).offset - image.place(whole[:4]).offset == 24
    assert not image.place(whole[:4]).is_constant
    assert not MemoryImage(sequence, (other,), set()).place(other).is_constant


def test_words_of_arguments_are_numbers_and_places():
    a, b, out = np.zeros(2), np.zeros((2, 3)), np.zeros(0)
    image = MemoryImage(KernelSequence([BoundKernel(add, a, a, a)]), (b,))
    found = list(image.words(((a, 1.5), b, out, True, 7)))
    place = image.place(a)
    assert found[:2] == [place, 2]
    assert np.int64(found[2]).view(float) == 1.5
    assert found[3:6] == [image.place(b), 2, 3]
    assert found[6:] == [Place(0, False), 0, 1, 7]
    with pytest.raises(LookupError, match="no array of the sequence"):
        image.place(np.zeros(3))


def test_tables_within_kernels_are_told_with_all_their_addresses():
    one, chosen = np.zeros(2), np.zeros(1)
    inner = KernelSequence([BoundKernel(add, one, one, one)])
    image = MemoryImage(KernelSequence([inner.when_equal(chosen, 0)]), ())
    table = image.place(inner.lines).offset
    kinds = {offset: type(what) for offset, what in image.addresses.items()}
    assert kinds[table] is CallbackAddress
    assert kinds[table + 24] is TrampolineAddress
    block = image.addresses[table + 32]
    assert kinds[block.offset] is KernelAddress
    assert [image.addresses[block.offset + 8 * k] for k in (1, 3, 5)] == [image.place(one)] * 3
    assert not words(image.variable)[[offset // 8 for offset in image.addresses]].any()
    assert [one.kernel for one in image.bound_kernels] == [run_if_equal, add]
    assert image.python_steps == []


class Part:
    def step(self):
        """Do nothing."""


def test_what_a_table_was_linked_to_stays_in_this_process():
    chosen, inner = np.zeros(1), KernelSequence([BoundKernel(add, *np.ones((3, 2)))] * 2)
    inner.lines[0, LINKED] = 123456789
    image = MemoryImage(KernelSequence([inner.when_equal(chosen, 0)]), ())
    assert 123456789 not in words(image.variable)
    assert 123456789 not in words(image.constant)


def test_steps_of_python_are_named():
    image = MemoryImage(KernelSequence([Part().step, BoundKernel(add, *np.zeros((3, 2)))]), ())
    assert image.python_steps == ["Part"]
