"""Linked sequence: the kernels of a table as one function, which LLVM has optimised as a whole.

A table runs any kernels without a compiler (decision 0117). Where one has run for as long as
linking takes, all that it calls is linked in the background: LLVM then knows every length, copies
short kernels into their callers, and makes formulas straight lines, with the same bits. What is
made is stored under the structure of the table, and no number of a robot or law is in it: later
processes run it from their start.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from ukctrl.core import cache_folder
from ukctrl.core.compiled import config
from ukctrl.core.expression.interpreter import evaluate_into
from ukctrl.core.expression.straight_line import folded, straight_line
from ukctrl.core.jit import optimised
from ukctrl.core.jit.argument_block import (
    TARGET,
    WORD,
    WordReader,
    type_of,
    write_call,
)
from ukctrl.core.jit.kernel import ENGINE
from ukctrl.core.jit.linked_module import (
    KernelCall,
    Target,
    link_definitions,
    make_internal,
    undefined_symbols,
)
from ukctrl.core.jit.machine_code_store import MADE_WITH, source_content
from ukctrl.core.program import BoundKernel, KernelSequence
from ukctrl.core.program.kernel_sequence import ANSWER, BLOCK, LINKED, TRAMPOLINE
from ukctrl.core.program.memory_image import arrays_in

SECONDS_BEFORE_LINKING = 5.0
"""Runs of a table take so long before it is linked, about what linking takes [s]."""
POLL_SECONDS = 0.5
"""After so long it is looked whether that is done [s]."""
STALE_SECONDS = 300.0
"""Who has been linking for longer is taken for dead [s]."""
MAX_KNOWN = 500
"""So many structures of tables are remembered that are not linked."""
NOT_ENTERED = np.iinfo(np.int64).min
"""What no kernel of a table has returned yet that has not run; most limits never bind."""
DOUBLES = ir.DoubleType().as_pointer()
COLUMNS = 3
"""Words of a line of a table."""
MAX_COUNTED = 0.1
"""At most so much of the time between two looks is counted: in more, something was compiled [s]."""


@final
class LinkedTables:
    """The tables of a run, which become functions once they have run for long enough.

    Args:
        sequences: What runs often, with tables within; none of them runs while a method is called.
    """

    def __init__(self, sequences: Sequence[KernelSequence]) -> None:
        tables = [one for one in sequences if len(one.items) > 1]
        self._codes = [(LinkedCode.of(one), one) for one in tables]
        self._not_entered = [one for one in _tables_within(sequences) if len(one.items) > 1]
        for one in self._not_entered:
            one.lines[1, ANSWER] = NOT_ENTERED
        self._last = 0.0

    def begin(self) -> None:
        """Let tables run what they are linked to, and count the time from now on."""
        self._last = time.monotonic()
        for code, sequence in self._codes:
            sequence.lines[0, LINKED] = code.address

    def pass_time(self) -> None:
        """Count the time since the last call, and go on as `begin`."""
        seconds = time.monotonic() - self._last
        for code, sequence in self._codes:
            code.count(seconds, sequence)
        waiting = list[KernelSequence]()
        for one in self._not_entered:
            if one.lines[1, ANSWER] == NOT_ENTERED:
                waiting.append(one)
            else:
                self._codes.append((LinkedCode.of(one), one))
        self._not_entered = waiting
        self.begin()


def _tables_within(sequences: Iterable[KernelSequence]) -> list[KernelSequence]:
    """Return the tables that kernels of others run, each once."""
    within = dict[int, KernelSequence]()
    for sequence in sequences:
        nested = [item.nested for item in sequence.items if isinstance(item, BoundKernel)]
        for one in filter(None, nested):
            within |= {id(table): table for table in (one, *_tables_within([one]))}
    return list(within.values())


@final
class LinkedCode:
    """The function of tables of one structure.

    Attributes:
        address: Where it is, or 0.
    """

    _known: ClassVar[dict[Any, LinkedCode]] = {}
    _making: ClassVar[Any] = threading.Lock()
    _linking: ClassVar[Any] = threading.Lock()

    def __init__(self, structure: tuple[Any, ...]) -> None:
        self.address = 0
        self._seconds = 0.0
        self._asked = -np.inf
        name = f"linked-{_digest(structure)[:32]}"
        self._symbol = f"ukctrl.{name}"
        folder = cache_folder.writable_folder(str(config.CACHE_DIR))
        self._is_hopeless = folder is None or not sys.executable
        self._file = (folder or Path()) / f"{name}.code"
        self._claim = self._file.with_suffix(".claim")
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ordered = False
        self._load()

    @classmethod
    def of(cls, sequence: KernelSequence) -> LinkedCode:
        """Return that of a table."""
        structure = tuple(_structure(sequence))
        with cls._making:
            if len(cls._known) >= MAX_KNOWN:
                cls._known = {one: code for one, code in cls._known.items() if code.address}
            if structure not in cls._known:
                cls._known[structure] = cls(structure)
            return cls._known[structure]

    def count(self, seconds: float, sequence: KernelSequence) -> None:
        """Count how long tables like this one have run; link them where that is worth it."""
        if self.address or self._is_hopeless:
            return
        self._seconds += min(seconds, MAX_COUNTED)
        if self._seconds < SECONDS_BEFORE_LINKING:
            return
        instant = time.monotonic()
        if instant - self._asked < POLL_SECONDS:
            return
        self._asked = instant
        self._load()
        # one after the other: who computes wants the other cores, too
        if not (self.address or self._is_ordered or LinkedCode._is_linking()):
            self._order(sequence)

    @classmethod
    def _is_linking(cls) -> bool:
        """Return whether a process of this one still links."""
        processes = (code._process for code in list(cls._known.values()))
        return any(one is not None and one.poll() is None for one in processes)

    def _load(self) -> None:
        """Load it, where it is stored."""
        if self._process is not None:
            self._process.poll()  # or what has ended stays in the system's list
        if self._is_hopeless or not self._file.exists():
            return
        with contextlib.suppress(OSError, ValueError, KeyError):
            head, _, code = self._file.read_bytes().partition(b"\n")
            # a symbol that nobody has would end the process
            self._is_hopeless = not all(map(llvm.address_of_symbol, json.loads(head)["needs"]))
            if not self._is_hopeless:
                ENGINE._ee.add_object_file(llvm.ObjectFileRef.from_data(code))
                ENGINE.finalize_object()
                self.address = int(ENGINE.get_function_address(self._symbol))

    def _order(self, sequence: KernelSequence) -> None:
        """Have a process link it, unless another one does; the file appears when it is done."""
        self._is_ordered = True
        with contextlib.suppress(OSError):
            if time.time() - self._claim.stat().st_mtime > STALE_SECONDS:
                self._claim.unlink()
        try:
            self._claim.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
        except OSError:
            self._is_hopeless = True
            return
        try:
            self._begin_linking(sequence)
        # a run goes on without: it only takes longer
        except (OSError, RuntimeError):
            self._is_hopeless = True
            self._claim.unlink(missing_ok=True)

    def _begin_linking(self, sequence: KernelSequence) -> None:
        with self._linking:
            module = _linked_module(sequence, self._symbol)
        head = json.dumps({"needs": sorted(undefined_symbols(module))})
        command = [*Target.named("host"), head, str(self._file), str(self._claim)]
        with tempfile.TemporaryFile() as bitcode:
            bitcode.write(module.as_bitcode())
            bitcode.seek(0)
            # a process of its own: LLVM takes seconds, in which no other thread may use it; it goes
            # on when this one ends, for those that come
            self._process = subprocess.Popen(
                [sys.executable, "-P", optimised.__file__, *command],
                stdin=bitcode,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )


def _structure(sequence: KernelSequence) -> Iterator[Any]:
    """Yield what the function of a table depends on."""
    for item in sequence.items:
        if not isinstance(item, BoundKernel) or not item.trampoline:
            yield None
            continue
        yield *_identity(item.kernel), item.kinds, *_known_words(item.arguments)
        if item.kernel is evaluate_into:
            code, _, w, inputs, _, outputs, _ = item.arguments
            parts = code, folded(code, w, inputs), inputs, outputs
            yield from (part.tobytes() for part in parts)


@functools.cache
def _identity(kernel: Any) -> tuple[str, str]:
    """Return what tells a kernel from all others, also from one of its name in another process, or
    one that was made by the same lines with other constants.
    """
    return kernel.name, source_content(kernel.py_func)


def _known_words(arguments: Sequence[Any]) -> Iterator[int | None]:
    """Yield the words of a block: the lengths of arrays, and None of what is read there."""
    for value in arguments:
        if isinstance(value, tuple):
            yield from _known_words(value)
        elif isinstance(value, np.ndarray):
            yield None
            yield from value.shape
        else:
            yield None


def _digest(structure: Sequence[Any]) -> str:
    """Return under what the function of a table is stored."""
    content = f"{MADE_WITH} {Target.named('host')} {structure}"
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def _linked_module(sequence: KernelSequence, symbol: str) -> Any:
    """Return a module of LLVM with a function that does what `run` does with a table like it.

    It takes the address of the table, and returns what `run` does.
    """
    TARGET.refresh()  # where all machine code was stored, Numba has not begun yet
    module = TARGET.codegen()._create_empty_module(symbol)
    calls = _write_lines(module, symbol, sequence)
    whole = llvm.parse_assembly(str(module))
    link_definitions(whole, calls, with_deferred=False)
    make_internal(whole, {symbol})
    # the linker of a process goes by names, also of what is internal: a kernel that is loaded later
    # would call what LLVM has made of it here
    for k, one in enumerate((*whole.functions, *whole.global_variables)):
        if not one.is_declaration and one.name != symbol:
            one.name = f"{symbol}.{k}"
    return whole


def _write_lines(module: Any, symbol: str, sequence: KernelSequence) -> list[KernelCall]:
    function = ir.Function(module, ir.FunctionType(WORD, [WORD]), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    table = builder.inttoptr(function.args[0], WORD.as_pointer())
    failed, calls = _write_failure(module), list[KernelCall]()
    for k, item in enumerate(sequence.items, 1):
        if not isinstance(item, BoundKernel) or not item.trampoline:
            _end_below_zero(builder, builder.call(failed, [table, WORD(k), WORD(-1)]))
            continue
        call = KernelCall(item.kernel, tuple(map(type_of, item.arguments)))
        calls.append(call)
        at = builder.gep(table, [WORD(COLUMNS * k + BLOCK)])
        block = builder.inttoptr(builder.load(at), WORD.as_pointer())
        is_finite = _write_formula(module, builder, block, item, f"formula.{k}")
        interpreted = contextlib.nullcontext()
        if is_finite is not None:
            interpreted = builder.if_then(builder.not_(is_finite), likely=False)
        with interpreted:
            words = _BlockWords(builder, block, _known_words(item.arguments))
            arguments = [words.value(kind) for kind in call.kinds]
            returned = call.compiled.signature.return_type
            kernel = module.globals.get(call.symbol) or ir.Function(
                module, TARGET.call_conv.get_function_type(returned, call.kinds), call.symbol
            )
            code = write_call(builder, kernel, returned, call.kinds, arguments)
            with builder.if_then(builder.icmp_signed("<", code, WORD(0)), likely=False):
                _end_below_zero(builder, builder.call(failed, [table, WORD(k), code]))
    builder.ret(WORD(0))
    return calls


def _end_below_zero(builder: Any, answer: Any) -> None:
    """Write: return an answer that is below zero."""
    with builder.if_then(builder.icmp_signed("<", answer, WORD(0))):
        builder.ret(answer)


def _write_failure(module: Any) -> Any:
    """Write what has Python help with a line: notes what the kernel returned, and asks."""
    kind = ir.FunctionType(WORD, [WORD.as_pointer(), WORD, WORD])
    function = ir.Function(module, kind, "failed")
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("cold")
    builder, (table, line, code) = ir.IRBuilder(function.append_basic_block()), function.args
    at = builder.add(builder.mul(line, WORD(COLUMNS)), WORD(ANSWER))
    builder.store(code, builder.gep(table, [at]))
    address = builder.load(builder.gep(table, [WORD(TRAMPOLINE)]))
    ask = builder.inttoptr(address, ir.FunctionType(WORD, [WORD]).as_pointer())
    number = builder.load(builder.gep(table, [WORD(BLOCK)]))
    builder.ret(builder.call(ask, [builder.add(number, line)]))
    return function


def _write_formula(module: Any, builder: Any, block: Any, item: BoundKernel, symbol: str) -> Any:
    """Write a formula as code; return whether its values are finite, or None where it is none."""
    if item.kernel is not evaluate_into:
        return None
    code, _, w, inputs, arguments, outputs, out = item.arguments
    function = straight_line(module, symbol, code, w, inputs, outputs, reads_constants=True)
    if function is None:
        return None
    # where in the block the address of each array is
    places, at = dict[int, int](), 1
    for array in arrays_in(item.arguments):
        places.setdefault(id(array), at)
        at += 1 + array.ndim
    used = *arguments[: len(function.args) - 2], w, out
    words = (builder.load(builder.gep(block, [WORD(places[id(array)])])) for array in used)
    return builder.call(function, [builder.inttoptr(word, DOUBLES) for word in words])


@final
class _BlockWords(WordReader):
    """The words of a block, of which some are known."""

    def __init__(self, builder: Any, block: Any, known: Iterator[int | None]) -> None:
        super().__init__(TARGET, builder, builder.gep(block, [WORD(1)]))
        self._known = known

    def next(self) -> Any:
        """Return the next word."""
        word, known = super().next(), next(self._known)
        return word if known is None else WORD(known)
