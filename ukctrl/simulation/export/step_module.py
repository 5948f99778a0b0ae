"""An exported step as a module of LLVM: its kernels called one after the other.

The caller owns the memory: an image of the arrays that kernels write, the time of the last step,
the outputs to hold, and a piece that kernels may ask for memory. What no kernel writes is constant,
and LLVM folds it into the code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from llvmlite import ir
from numba import types

from ukctrl.core.expression.interpreter import evaluate_into
from ukctrl.core.expression.straight_line import straight_line
from ukctrl.core.jit.argument_block import (
    TARGET,
    WORD,
    WORD_BYTES,
    WordReader,
    type_of,
    write_call,
    write_trampoline,
)
from ukctrl.core.jit.linked_module import ENTER_ARENA, KernelCall, link, written_arrays
from ukctrl.core.number_text import first_sentence
from ukctrl.core.program import BoundKernel
from ukctrl.core.program.memory_image import (
    CallbackAddress,
    KernelAddress,
    MemoryImage,
    Place,
    arrays_in,
)
from ukctrl.mechanics.constraints.contact import MODE, OPEN, SLIDING, USES_PLAN
from ukctrl.robot.rigid.tree_kernels import TreeBuffers, world_rows
from ukctrl.simulation.export.exported_step import ExportedStep

BYTE, INT, DOUBLE = ir.IntType(8), ir.IntType(32), ir.DoubleType()
POINTER, DOUBLES = BYTE.as_pointer(), DOUBLE.as_pointer()
ARENA_BYTES = 1 << 16
"""Memory that kernels may ask for: of the catalogue, none uses a third."""
OK, INVALID, BACKWARDS, FIRST_STEP = range(4)
"""What a step returns: of inputs that are not taken, of time that does not grow, and of its first
kernel that refuses; the numbers of the others follow."""
POLICIES = ("hold", "zero", "damped")
"""What a step that is refused leaves as outputs: those before, zeros, or what brakes motors."""


class StateLayout(NamedTuple):
    """Where a controller's memory has what, in bytes."""

    last_t: int
    held: int
    arena: int
    size: int


@final
class StepModule:
    """A module that defines ``NAME_init``, ``NAME_moved``, ``NAME_step``, with contacts
    ``NAME_contacts``, and with gains ``NAME_gains``.

    Args:
        name: What its functions are called.
        step: What they do.
        policy: What a step that is refused leaves as outputs, one of `POLICIES`.
    """

    def __init__(self, name: str, step: ExportedStep, policy: str) -> None:
        self._name, self._step, self._policy = name, step, policy
        ports = [port.array for port in (*step.inputs, *step.outputs)]
        state = arrays_in(step.state)
        gains = {id(one.values): one.values for one in step.gains}
        arrays = (*state, *ports, *step.modes, *gains.values())
        everything = MemoryImage(step.steps, arrays)
        self.python_steps = tuple(dict.fromkeys(everything.python_steps))
        """Parts that only Python can take: with any there is no such module."""
        if self.python_steps:
            return
        self._calls = [_call_of(one) for one in everything.bound_kernels]
        self._trees = [
            argument
            for one in everything.bound_kernels
            for argument in one.arguments
            if isinstance(argument, TreeBuffers)
        ]
        written = written_arrays(self._calls, ARENA_BYTES)
        addresses = {
            array.ctypes.data
            for one, call in zip(everything.bound_kernels, self._calls, strict=True)
            for array, is_written in zip(arrays_in(one.arguments), written[call], strict=True)
            if is_written
        }
        self._image = MemoryImage(step.steps, arrays, addresses)
        begin = len(self._image.variable)
        held = begin + 64
        arena = held + -(-WORD_BYTES * sum(len(one.array) for one in step.outputs) // 64) * 64
        self.layout = StateLayout(begin, held, arena, arena + ARENA_BYTES)
        TARGET.refresh()  # where all machine code was stored, Numba has not begun yet
        self._module = TARGET.codegen()._create_empty_module(name)
        self._functions: dict[str, Any] = {}
        self._constants = self._table("constants", self._image.constant)
        self._write_init()
        self._write_step()
        if step.modes:
            self._write_contacts()
        if step.gains:
            self._write_gains()

    def linked(self) -> Any:
        """Return it with all that it calls."""
        return link(self._module, (*self._calls, self._take), ARENA_BYTES)

    @property
    def _take(self) -> KernelCall:
        """The kernel that takes the inputs."""
        inputs = (type_of(port.array) for port in self._step.inputs)
        kinds = (*map(type_of, self._step.state), types.float64, *inputs)
        return KernelCall(self._step.take, kinds)

    @property
    def messages(self) -> tuple[str, ...]:
        """What each status says, in their order."""
        return (
            "the outputs are those of the step",
            self._step.refusal,
            "time must grow from step to step",
            *(_refusal(one) for one in self._step.steps.items if isinstance(one, BoundKernel)),
        )

    # Pieces

    def _declare(self, symbol: str, kind: Any) -> Any:
        if symbol not in self._functions:
            self._functions[symbol] = ir.Function(self._module, kind, symbol)
        return self._functions[symbol]

    def _kernel(self, call: KernelCall) -> Any:
        returned = call.compiled.signature.return_type
        return self._declare(call.symbol, TARGET.call_conv.get_function_type(returned, call.kinds))

    def _trampoline(self, call: KernelCall) -> Any:
        returned = call.compiled.signature.return_type
        symbol = f"trampoline of {returned} {call.kinds}"
        if symbol not in self._functions:
            function = write_trampoline(self._module, symbol, returned, call.kinds)
            function.linkage = "internal"
            self._functions[symbol] = function
        return self._functions[symbol]

    def _come_back(self) -> Any:
        """Return what tables call where Python would help: it never does."""
        if "come back" not in self._functions:
            function = self._declare("come back", ir.FunctionType(WORD, [WORD]))
            function.linkage = "internal"
            ir.IRBuilder(function.append_basic_block()).ret(WORD(-1))
        return self._functions["come back"]

    def _table(self, name: str, content: bytes | Sequence[int]) -> Any:
        """Return words that are constant."""
        words = (
            np.frombuffer(content, dtype=np.int64).tolist()
            if isinstance(content, bytes)
            else list(content)
        ) or [0]
        table = ir.GlobalVariable(self._module, ir.ArrayType(WORD, len(words)), name)
        table.global_constant, table.linkage, table.align = True, "internal", 64
        table.initializer = ir.Constant(ir.ArrayType(WORD, len(words)), words)
        return table

    def _exported(self, suffix: str, returned: Any, kinds: Sequence[Any]) -> tuple[Any, Any]:
        """Return a function that C may call, and what writes it."""
        kind = ir.FunctionType(returned, kinds)
        function = ir.Function(self._module, kind, f"{self._name}_{suffix}")
        return function, ir.IRBuilder(function.append_basic_block())

    @staticmethod
    def _at(builder: Any, base: Any, offset: int, kind: Any) -> Any:
        return builder.bitcast(builder.gep(base, [WORD(offset)]), kind.as_pointer())

    def _store(self, builder: Any, base: Any, offset: int, value: Any) -> None:
        builder.store(value, self._at(builder, base, offset, value.type))

    # Functions

    def _write_init(self) -> None:
        moved = self._write_moved()
        function, builder = self._exported("init", ir.VoidType(), [POINTER])
        (base,) = function.args
        template = self._table("template", self._image.variable)
        copy = self._module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, WORD])
        size, plain = WORD(len(self._image.variable)), ir.IntType(1)(0)
        builder.call(copy, [base, builder.bitcast(template, POINTER), size, plain])
        self._store(builder, base, self.layout.last_t, DOUBLE(-np.inf))
        starts = np.concatenate([port.start for port in self._step.outputs])
        for k, value in enumerate(starts.tolist()):
            self._store(builder, base, self.layout.held + WORD_BYTES * k, DOUBLE(value))
        builder.call(moved, [base])
        builder.ret_void()

    def _write_moved(self) -> Any:
        """Write what corrects all addresses in a controller, which it has of itself."""
        function, builder = self._exported("moved", ir.VoidType(), [POINTER])
        (base,) = function.args
        places: dict[bool, dict[int, int]] = {False: {}, True: {}}
        for offset, target in self._image.addresses.items():
            if target is None:
                continue
            if isinstance(target, Place):
                places[target.is_constant][offset] = target.offset
                continue
            if isinstance(target, CallbackAddress):
                callee = self._come_back()
            elif isinstance(target, KernelAddress):
                callee = self._kernel(KernelCall(*target))
            else:
                callee = self._trampoline(KernelCall(*target))
            self._store(builder, base, offset, builder.ptrtoint(callee, WORD))
        for is_constant, offsets in places.items():
            if offsets:
                source = builder.bitcast(self._constants, POINTER) if is_constant else base
                self._relocate(builder, base, source, offsets, f"moved.{int(is_constant)}")
        builder.ret_void()
        return function

    def _relocate(
        self, builder: Any, base: Any, source: Any, places: dict[int, int], name: str
    ) -> None:
        """Write a loop that turns places into addresses."""
        where, what = (
            self._table(f"{name}.{k}", values)
            for k, values in enumerate(zip(*places.items(), strict=True))
        )
        begin, loop = builder.block, builder.append_basic_block(name)
        done = builder.append_basic_block(f"{name}.done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(WORD)
        k.add_incoming(WORD(0), begin)
        at, offset = (builder.load(builder.gep(one, [WORD(0), k])) for one in (where, what))
        address = builder.ptrtoint(builder.gep(source, [offset]), WORD)
        builder.store(address, builder.bitcast(builder.gep(base, [at]), WORD.as_pointer()))
        after = builder.add(k, WORD(1))
        k.add_incoming(after, loop)
        builder.cbranch(builder.icmp_signed("<", after, WORD(len(places))), loop, done)
        builder.position_at_end(done)

    def _write_step(self) -> None:
        inputs, outputs = self._step.inputs, self._step.outputs
        pointers = [DOUBLES] * (len(inputs) + len(outputs))
        function, builder = self._exported("step", INT, [POINTER, DOUBLE, *pointers])
        base, t, *places = function.args
        for one in (base, *places):
            one.add_attribute("noalias")
        refused = builder.append_basic_block("refused")
        ends: list[tuple[Any, int]] = []

        def require(good: Any, status: int) -> None:
            after = builder.append_basic_block()
            ends.append((builder.block, status))
            builder.cbranch(good, after, refused)
            builder.position_at_end(after)

        self._write_world(builder, base)
        enter = self._declare(ENTER_ARENA, ir.FunctionType(ir.VoidType(), [POINTER]))
        builder.call(enter, [builder.gep(base, [WORD(self.layout.arena)])])
        last = self._at(builder, base, self.layout.last_t, DOUBLE)
        require(builder.fcmp_ordered(">", t, builder.load(last)), BACKWARDS)
        words = [*self._image.words(self._step.state), builder.bitcast(t, WORD)]
        for pointer, port in zip(places, inputs, strict=False):
            words += [builder.ptrtoint(pointer, WORD), len(port.array)]
        self._write_kernel(builder, base, self._take, words, require, INVALID)
        for k, item in enumerate(self._step.steps.items, FIRST_STEP):
            assert isinstance(item, BoundKernel)
            with self._where_interpreted(builder, base, item, k):
                words = list(self._image.words(item.arguments))
                self._write_kernel(builder, base, _call_of(item), words, require, k)
        builder.store(t, last)
        # where each output is, where it is held, and where the caller wants it
        cells = [
            (self._image.place(port.array).offset + WORD_BYTES * k, pointer, k)
            for port, pointer in zip(outputs, places[len(inputs) :], strict=True)
            for k in range(len(port.array))
        ]
        for number, (answer, pointer, k) in enumerate(cells):
            value = builder.load(self._at(builder, base, answer, DOUBLE))
            builder.store(value, builder.gep(pointer, [WORD(k)]))
            self._store(builder, base, self.layout.held + WORD_BYTES * number, value)
        builder.ret(INT(OK))
        builder.position_at_end(refused)
        status = builder.phi(INT)
        for block, number in ends:
            status.add_incoming(INT(number), block)
        for number, (_, pointer, k) in enumerate(cells):
            value = DOUBLE(0.0)
            if self._policy == "hold":
                held = self._at(builder, base, self.layout.held + WORD_BYTES * number, DOUBLE)
                value = builder.load(held)
            elif self._policy == "damped":
                value = self._braking_input(builder, places[1], k)
            builder.store(value, builder.gep(pointer, [WORD(k)]))
        builder.ret(status)

    def _write_world(self, builder: Any, base: Any) -> None:
        """Write the world where a tree's kernels have it beside bodies: LLVM then knows it."""
        for buffers in self._trees:
            for row in world_rows(buffers):
                at = self._pointer(builder, base, self._image.place(row))
                for k, value in enumerate(row.ravel().tolist()):
                    builder.store(DOUBLE(value), builder.gep(at, [WORD(k)]))

    @contextlib.contextmanager
    def _where_interpreted(
        self, builder: Any, base: Any, item: BoundKernel, k: int
    ) -> Iterator[None]:
        """Write a formula as code; what is written within runs where that has no finite value."""
        function = None
        if item.kernel is evaluate_into:
            code, _, w, inputs, arguments, outputs, out = item.arguments
            function = straight_line(self._module, f"formula.{k}", code, w, inputs, outputs)
        if function is None:
            yield
            return
        arrays = *arguments[: len(function.args) - 1], out
        pointers = [self._pointer(builder, base, self._image.place(array)) for array in arrays]
        is_finite = builder.call(function, pointers)
        with builder.if_then(builder.not_(is_finite), likely=False):
            yield

    def _pointer(self, builder: Any, base: Any, place: Place) -> Any:
        """Return where numbers are."""
        constants = builder.bitcast(self._constants, POINTER)
        source = constants if place.is_constant else base
        return builder.bitcast(builder.gep(source, [WORD(place.offset)]), DOUBLES)

    def _braking_input(self, builder: Any, v: Any, k: int) -> Any:
        """Return an input that brakes its motor, within limits; 0 at a speed that is no number."""
        assert self._step.braking is not None
        D, low, high = self._step.braking
        total = DOUBLE(0.0)
        for i in np.flatnonzero(D[k]).tolist():
            speed = builder.load(builder.gep(v, [WORD(i)]))
            total = builder.fsub(total, builder.fmul(DOUBLE(float(D[k, i])), speed))
        for bound, beyond in ((low[k], "<"), (high[k], ">")):
            limit = DOUBLE(float(bound))
            total = builder.select(builder.fcmp_ordered(beyond, total, limit), limit, total)
        return builder.select(builder.fcmp_ordered("ord", total, total), total, DOUBLE(0.0))

    def _write_kernel(
        self,
        builder: Any,
        base: Any,
        call: KernelCall,
        words: Sequence[Any],
        require: Callable[[Any, int], None],
        status: int,
    ) -> None:
        """Write a call with arguments as words, which must not fail."""
        constants = builder.bitcast(self._constants, POINTER)
        reader = _PlacedWords(builder, (base, constants), words)
        arguments = [reader.value(kind) for kind in call.kinds]
        returned = call.compiled.signature.return_type
        code = write_call(builder, self._kernel(call), returned, call.kinds, arguments)
        require(builder.icmp_signed(">=", code, WORD(0)), status)

    def _write_contacts(self) -> None:
        """Write what takes 0 for a contact that is open, 1 for one that slides, 2 that sticks."""
        function, builder = self._exported("contacts", ir.VoidType(), [POINTER, INT.as_pointer()])
        base, modes = function.args
        for table in self._step.modes:
            at, columns = self._image.place(table).offset, table.shape[1]
            for c in range(len(table)):
                felt = builder.load(builder.gep(modes, [WORD(c)]))
                for column in range(USES_PLAN):
                    value = DOUBLE(0.0)
                    if column == MODE:
                        value = DOUBLE(self._step.sticking[c])
                        for number, mode in ((1, SLIDING), (0, OPEN)):
                            chosen = builder.icmp_signed("==", felt, INT(number))
                            value = builder.select(chosen, DOUBLE(mode), value)
                    self._store(builder, base, at + WORD_BYTES * (columns * c + column), value)
        builder.ret_void()

    def _write_gains(self) -> None:
        """Write what takes gains, all at once, which must not be negative."""
        function, builder = self._exported("gains", INT, [POINTER, DOUBLES])
        base, values = function.args
        good, read = ir.IntType(1)(1), list[Any]()
        for k, _ in enumerate(self._step.gains):
            read.append(builder.load(builder.gep(values, [WORD(k)])))
            for sign, bound in ((">=", 0.0), ("<", np.inf)):
                good = builder.and_(good, builder.fcmp_ordered(sign, read[-1], DOUBLE(bound)))
        with builder.if_then(good):
            for value, gain in zip(read, self._step.gains, strict=True):
                at = self._image.place(gain.values).offset + WORD_BYTES * gain.place
                self._store(builder, base, at, value)
        builder.ret(builder.select(good, INT(OK), INT(INVALID)))


def _call_of(one: BoundKernel) -> KernelCall:
    return KernelCall(one.kernel, tuple(map(type_of, one.arguments)))


def _refusal(one: BoundKernel) -> str:
    """Return what a step says that refuses a state."""
    name = one.kernel.__name__.strip("_").replace("_", " ")
    fault = None
    # what is computed with care of no state at all may divide by zero
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        fault = None if one.fault is None else one.fault(-1)
    words = first_sentence(type(fault).__doc__ or "")[0].rstrip(".") if fault else ""
    return f"{words or 'the law has no answer at this state'} ({name})".replace('"', "'")


@final
class _PlacedWords(WordReader):
    """The words of a kernel's arguments: constants, and places in two pieces of memory."""

    def __init__(self, builder: Any, pieces: tuple[Any, Any], words: Sequence[Any]) -> None:
        super().__init__(TARGET, builder, None)
        self._pieces, self._words = pieces, iter(words)

    def next(self) -> Any:
        """Return the next word."""
        word = next(self._words)
        if isinstance(word, Place):
            at = self._builder.gep(self._pieces[word.is_constant], [WORD(word.offset)])
            return self._builder.ptrtoint(at, WORD)
        return WORD(word) if isinstance(word, int) else word
