"""Memory image: what a sequence of kernels reads and writes, as pieces of memory that can move.

Words that are addresses are known by who wrote them: the blocks of kernels, and the tables of
sequences. They are told as places in the image, or as functions.
"""

from __future__ import annotations

import bisect
import ctypes
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.jit.argument_block import WORD_BYTES, type_of
from ukctrl.core.jit.block_layout import address_of
from ukctrl.core.program.bound_kernel import BoundKernel
from ukctrl.core.program.kernel_sequence import (
    ANSWER,
    BLOCK,
    LINKED,
    TRAMPOLINE,
    KernelSequence,
    live_sequences,
)

ALIGNMENT = 64
"""Bytes at which pieces begin."""


class Place(NamedTuple):
    """A word that is the address of something in the image."""

    offset: int
    is_constant: bool
    """Whether it is among what no kernel writes."""


class KernelAddress(NamedTuple):
    """A word that is the address of a kernel for arguments of such types."""

    kernel: Any
    kinds: tuple[Any, ...]


class TrampolineAddress(NamedTuple):
    """A word that is the address of what takes apart the block of such a kernel."""

    kernel: Any
    kinds: tuple[Any, ...]


class CallbackAddress(NamedTuple):
    """A word that is the address by which machine code comes back to Python."""


@final
class MemoryImage:
    """The memory of a sequence, with the contents that it has now.

    Args:
        sequence: What is run.
        arrays: Arrays that others read or write.
        written: Addresses of arrays that some kernel may write; absent: all.

    Attributes:
        variable: Bytes that a run may change; where addresses are, zero.
        constant: Bytes that it does not.
        addresses: What stands at some places of ``variable``, by their offsets; None is 0.
        bound_kernels: All that is run, sequences within kernels included.
        python_steps: Names of steps that machine code cannot take.
    """

    def __init__(
        self,
        sequence: KernelSequence,
        arrays: Iterable[Any],
        written: Collection[int] | None = None,
    ) -> None:
        self._live = {address_of(one.lines): one for one in live_sequences()}
        self._lengths: dict[int, int] = {}
        self._tables: dict[int, KernelSequence] = {}
        self._written = written
        self._variable = set[int]()
        self.bound_kernels: list[BoundKernel] = []
        self.python_steps: list[str] = []
        for array in arrays:
            self._add(array)
            self._variable.add(address_of(array))
        self._add_sequence(sequence)
        runs = list(self._merged())
        self._begins = [begin for begin, *_ in runs]
        self._runs: list[tuple[int, Place]] = []
        pieces: dict[bool, bytearray] = {False: bytearray(), True: bytearray()}
        for begin, length, is_constant in runs:
            piece = pieces[is_constant]
            self._runs.append((length, Place(len(piece), is_constant)))
            piece += ctypes.string_at(begin, length) + bytes(-length % ALIGNMENT)
        self.addresses = dict(self._all_addresses())
        for offset in self.addresses:
            pieces[False][offset : offset + WORD_BYTES] = bytes(WORD_BYTES)
        self.variable, self.constant = bytes(pieces[False]), bytes(pieces[True])

    def place(self, array: Any) -> Place:
        """Return the place of an array."""
        return self._place(address_of(array)) if array.size else Place(0, False)

    def _place(self, address: int) -> Place:
        i = bisect.bisect_right(self._begins, address) - 1
        length, place = self._runs[i]
        if i < 0 or address >= self._begins[i] + length:
            raise LookupError(f"no array of the sequence is at {address:#x}.")
        return place._replace(offset=place.offset + address - self._begins[i])

    def words(self, arguments: Sequence[Any]) -> Iterator[int | Place]:
        """Yield the words of a kernel's arguments, as `pack_arguments`, addresses as places."""
        for value in arguments:
            if isinstance(value, tuple):
                yield from self.words(value)
            elif isinstance(value, np.ndarray):
                yield self.place(value)
                yield from value.shape
            elif isinstance(value, float):
                yield struct.unpack("q", struct.pack("d", value))[0]
            else:
                yield int(value)

    def _add_sequence(self, sequence: KernelSequence) -> None:
        self.python_steps += sequence.python_steps()
        for item in sequence.items:
            if isinstance(item, BoundKernel):
                self.bound_kernels.append(item)
                for array in arrays_in(item.arguments):
                    self._add(array)

    def _add(self, array: Any) -> None:
        address = address_of(array)
        if array.size:
            self._lengths[address] = max(array.nbytes, self._lengths.get(address, 0))
        sequence = self._live.get(address)
        if sequence is None or address in self._tables:
            return
        self._tables[address] = sequence
        self._variable.add(address)
        for item in sequence.items:
            if isinstance(item, BoundKernel):
                self._lengths[item.block] = WORD_BYTES * len(item.words)
                self._variable.add(item.block)
        self._add_sequence(sequence)

    def _merged(self) -> Iterator[tuple[int, int, bool]]:
        """Yield where memory begins, how long it is, and whether it is constant.

        Views of one array are one piece of it.
        """
        begin = end = 0
        is_constant = True
        for address in sorted(self._lengths):
            if address >= end:
                if end:
                    yield begin, end - begin, is_constant
                begin, end, is_constant = address, address, True
            end = max(end, address + self._lengths[address])
            free = self._written is None or address in self._written
            is_constant = is_constant and not free and address not in self._variable
        if end:
            yield begin, end - begin, is_constant

    def _all_addresses(self) -> Iterator[tuple[int, Any]]:
        """Yield what stands in tables and blocks, by its offset."""
        for address, sequence in self._tables.items():
            table = self._place(address).offset
            yield table + WORD_BYTES * TRAMPOLINE, CallbackAddress()
            # what it was linked to is a function of this process
            yield table + WORD_BYTES * LINKED, None
            for k, item in enumerate(sequence.items, 1):
                if not isinstance(item, BoundKernel):
                    continue
                kinds = tuple(type_of(value) for value in item.arguments)
                line, block = table + (1 + ANSWER) * WORD_BYTES * k, self._place(item.block)
                yield line + WORD_BYTES * TRAMPOLINE, TrampolineAddress(item.kernel, kinds)
                yield line + WORD_BYTES * BLOCK, block
                yield block.offset, KernelAddress(item.kernel, kinds)
                for i, word in enumerate(self.words(item.arguments), 1):
                    if isinstance(word, Place):
                        yield block.offset + WORD_BYTES * i, word


def arrays_in(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield the arrays among arguments, from tuples of tuples."""
    for value in arguments:
        if isinstance(value, tuple):
            yield from arrays_in(value)
        elif isinstance(value, np.ndarray):
            yield value
