"""Linked module: kernels and all that they call as one LLVM module, and object code of it.

Kernels find each other by their symbols in the process that runs them. Here LLVM's form of them is
linked together with what calls them and optimised as a whole, for a processor of any kind; what is
left needs `LIBRARY_FUNCTIONS` alone. Arithmetic is IEEE's, in the order that it is written, so that
optimising changes no bit, unless it is asked to.

Kernels ask Numba's runtime for memory. `RUNTIME` answers instead, with a piece of the caller's that
a thread has named before: what was asked for last is free again first, as on a stack.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import types

from ukctrl.core.errors import InputError
from ukctrl.core.jit import optimised
from ukctrl.core.jit.argument_block import BaseTuple
from ukctrl.core.jit.kernel import KERNELS, bindings
from ukctrl.core.jit.optimised import machine_of, optimise, optimised_code

LIBRARY_FUNCTIONS = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "frexp",
    "hypot", "ldexp", "log", "log10", "log1p", "log2", "memcpy", "memmove", "memset", "modf", "pow",
    "remainder", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
))  # fmt: skip
"""What object code may call of the C library: none of it locks, waits or asks for memory."""
ENTER_ARENA = "ukctrl.arena.enter"
"""Function that names the memory which kernels may ask for, empty from then on."""
ARENA_HEADER = 64
"""Bytes at the begin of that memory: how far it is used, and where its last piece begins."""
PIECE_HEADER = 64
"""Bytes before each piece: what Numba has there, the piece before, and whether it is free."""
RUNTIME = """
@ukctrl.arena = internal thread_local global ptr null
@ukctrl.arena.size = internal constant i64 {size}

define void @{enter}(ptr %arena) {{
  store ptr %arena, ptr @ukctrl.arena
  store i64 {arena_header}, ptr %arena
  %last.at = getelementptr i64, ptr %arena, i64 1
  store i64 0, ptr %last.at
  ret void
}}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {{
  %arena = load ptr, ptr @ukctrl.arena
  %used = load i64, ptr %arena
  %last.at = getelementptr i64, ptr %arena, i64 1
  %last = load i64, ptr %last.at
  %wide = zext i32 %align to i64
  %least = icmp eq i64 %wide, 0
  %step = select i1 %least, i64 1, i64 %wide
  %headed = add i64 %size, {piece_header}
  %room = add i64 %headed, %step
  %whole = add i64 %room, 63
  %rounded = and i64 %whole, -64
  %end = add i64 %used, %rounded
  %limit = load i64, ptr @ukctrl.arena.size
  %fits = icmp ule i64 %end, %limit
  %grows = icmp uge i64 %end, %size
  %good = and i1 %fits, %grows
  br i1 %good, label %take, label %none
take:
  store i64 %end, ptr %arena
  store i64 %used, ptr %last.at
  %piece = getelementptr i8, ptr %arena, i64 %used
  store i64 1, ptr %piece
  %begin = getelementptr i8, ptr %piece, i64 {piece_header}
  %number = ptrtoint ptr %begin to i64
  %less = sub i64 %step, 1
  %over = add i64 %number, %less
  %rest = urem i64 %over, %step
  %placed = sub i64 %over, %rest
  %data = inttoptr i64 %placed to ptr
  %data.at = getelementptr i8, ptr %piece, i64 24
  store ptr %data, ptr %data.at
  %size.at = getelementptr i8, ptr %piece, i64 32
  store i64 %size, ptr %size.at
  %before.at = getelementptr i8, ptr %piece, i64 48
  store i64 %last, ptr %before.at
  %free.at = getelementptr i8, ptr %piece, i64 56
  store i64 0, ptr %free.at
  ret ptr %piece
none:
  ret ptr null
}}

define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {{
  %piece = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %piece
}}

define void @NRT_MemInfo_call_dtor(ptr %piece) {{
  %arena = load ptr, ptr @ukctrl.arena
  %last.at = getelementptr i64, ptr %arena, i64 1
  %free.at = getelementptr i8, ptr %piece, i64 56
  store i64 1, ptr %free.at
  br label %look
look:
  %last = load i64, ptr %last.at
  %some = icmp ne i64 %last, 0
  br i1 %some, label %top, label %done
top:
  %here = getelementptr i8, ptr %arena, i64 %last
  %state.at = getelementptr i8, ptr %here, i64 56
  %state = load i64, ptr %state.at
  %free = icmp eq i64 %state, 1
  br i1 %free, label %pop, label %done
pop:
  store i64 %last, ptr %arena
  %before.at = getelementptr i8, ptr %here, i64 48
  %before = load i64, ptr %before.at
  store i64 %before, ptr %last.at
  br label %look
done:
  ret void
}}

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %drop) {{
  ret ptr null
}}

define i64 @ukctrl.ask(i64 %cell, i64 %block) {{
  ret i64 0
}}
"""
"""Numba's runtime, in LLVM's language; where it has no memory left, the kernel returns an error."""
REFUSED = ("numba_", "NRT_", "Py")
"""How functions begin that a library without Python has not; what calls one gets the answer by
which it returns an error: the tick is refused."""
FAST = "reassoc nsz arcp contract"
"""How LLVM may change arithmetic where bits may differ; what is no number stays none."""
FINITE = "nnan ninf"
"""And where all numbers are finite, so that products with zero are zero."""
_ARITHMETIC = re.compile(r"= (fadd|fsub|fmul|fdiv|fneg) (?=double|<)")


class Target(NamedTuple):
    """A processor, as LLVM names it."""

    triple: str
    processor: str
    features: str = ""

    @staticmethod
    def named(name: str) -> Target:
        """Return a target by the name that users give it.

        Raises:
            InputError: There is none of this name.
        """
        if name == "host":
            features = llvm.get_host_cpu_features().flatten()
            return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
        if name not in TARGETS:
            known = ", ".join(sorted(TARGETS))
            raise InputError(f"target must be host or one of {known}; got '{name}'.")
        return TARGETS[name]


TARGETS = {
    "x86-64": Target("x86_64-unknown-linux-gnu", "x86-64"),
    "x86-64-v3": Target("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic"),
}
"""Processors by the names that users give them."""


class KernelCall(NamedTuple):
    """A kernel, and the types of its arguments."""

    kernel: Any
    kinds: tuple[Any, ...]

    @property
    def compiled(self) -> Any:
        """Its machine code and what Numba knows of it."""
        self.kernel.compile(self.kinds)
        return self.kernel.overloads[self.kinds]

    @property
    def symbol(self) -> str:
        """What its function is called."""
        return str(self.compiled.fndesc.llvm_func_name)


def link(module: Any, calls: Iterable[KernelCall], arena_size: int) -> Any:
    """Return a module of LLVM with all that another calls; only what that defines stays visible.

    Args:
        module: What calls kernels by their symbols.
        calls: The kernels.
        arena_size: Bytes of the memory that kernels may ask for.

    Raises:
        InputError: A kernel needs what no C library has.
    """
    whole = llvm.parse_assembly(str(module))
    visible = _defined(whole)
    link_definitions(whole, tuple(calls), with_deferred=True)
    sizes = {"size": arena_size, "arena_header": ARENA_HEADER, "piece_header": PIECE_HEADER}
    whole.link_in(_parsed(whole, RUNTIME.format(enter=ENTER_ARENA, **sizes)))
    whole.link_in(_parsed(whole, "".join(_refusals(whole))))
    unknown = sorted(set(undefined_symbols(whole)) - LIBRARY_FUNCTIONS)
    if unknown:
        raise InputError(f"machine code needs {', '.join(unknown)}, which no C library has.")
    make_internal(whole, visible)
    return whole


def link_definitions(whole: Any, calls: Sequence[KernelCall], *, with_deferred: bool) -> None:
    """Take into a module what it calls of kernels, and what they call.

    Args:
        whole: The module.
        calls: Its kernels.
        with_deferred: Whether deferred kernels are compiled for it; else it reads their cells.
    """
    looked = set[str]()
    while missing := sorted(set(undefined_symbols(whole)) - looked):
        libraries, cells = _libraries(calls), bindings() if with_deferred else {}
        looked.update(missing)
        for name in missing:
            if name in cells:
                part = _parsed(whole, _cell_text(name, cells[name]))
            elif name in libraries:
                part = libraries[name]._get_module_for_linking().clone()
            else:
                continue
            whole.link_in(part)


def make_internal(whole: Any, visible: Collection[str]) -> None:
    """Hide all that a module defines but for some symbols: what nobody calls is dropped then."""
    for one in (*whole.functions, *whole.global_variables):
        if not one.is_declaration and one.name not in visible:
            one.linkage = "internal"


def _defined(whole: Any) -> set[str]:
    return {one.name for one in whole.functions if not one.is_declaration}


def written_arrays(calls: Iterable[KernelCall], arena_size: int) -> dict[KernelCall, list[bool]]:
    """Return of each kernel which of the arrays among its arguments it may write to, in order.

    LLVM proves that the others are not.
    """
    by_symbol = {call.symbol: call for call in calls}
    text = "".join(f'declare void @"{symbol}"()\n' for symbol in by_symbol)
    model = next(iter(by_symbol.values())).compiled.library._get_module_for_linking()
    whole = link(_headed(model, text), by_symbol.values(), arena_size)
    # nobody calls what names the memory here: invisible, LLVM would take it to be never named
    for symbol in (*by_symbol, ENTER_ARENA):
        whole.get_function(symbol).linkage = "external"
    optimise(whole, machine_of(*Target.named("host")))
    answer = {}
    for symbol, call in by_symbol.items():
        arguments = list(whole.get_function(symbol).arguments)
        answer[call] = [
            not {b"readonly", b"readnone"} & set(arguments[i].attributes)
            for i in _data_pointers(call.kinds, 2)
        ]
    return answer


def object_code(
    module: Any,
    target: Target,
    *,
    fast: bool = False,
    straight: bool = True,
    finite: Sequence[str] = (),
) -> bytes:
    """Return position-independent object code of a module, optimised as a whole.

    Args:
        module: What `link` returned.
        target: The processor.
        fast: Whether arithmetic may be reordered and fused, so that bits may differ.
        straight: Of ``fast`` code, whether loops of known length become straight lines.
        finite: Of ``fast`` code, the functions all of whose numbers are finite, by their symbols.
    """
    text = str(module)
    if module.triple != target.triple:
        layout = f'target datalayout = "{machine_of(*target).target_data}"'
        text = text.replace(f'target datalayout = "{module.data_layout}"', layout)
        text = text.replace(
            f'target triple = "{module.triple}"', f'target triple = "{target.triple}"'
        )
    if not fast:
        return optimised_code(text, target)
    text = _fast_text(text, finite)
    if not straight:
        return optimised_code(text, target)
    # how far loops unroll is an option of a process: Numba's code must not change with it
    command = [sys.executable, "-P", optimised.__file__, *target]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"LLVM does not take the module: {done.stderr.decode()[-500:]}")
    return done.stdout


def _fast_text(text: str, finite: Sequence[str]) -> str:
    """Return a module's text, where arithmetic may be reordered and fused."""
    head, *functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    parts = [head]
    for one in functions:
        name = one.partition("(")[0]
        flags = f"{FAST} {FINITE}" if any(symbol in name for symbol in finite) else FAST
        parts.append(_ARITHMETIC.sub(rf"= \1 {flags} ", one))
    return "".join(parts)


def _libraries(calls: Iterable[KernelCall]) -> dict[str, Any]:
    """Return where kernels are defined, by their symbols."""
    kernels = [*KERNELS.values(), *(call.kernel for call in calls)]
    every = (compiled for one in kernels for compiled in one.overloads.values())
    return {compiled.fndesc.llvm_func_name: compiled.library for compiled in every}


def _cell_text(name: str, cell: Any) -> str:
    """Return the definition of the cell of a deferred kernel, which is compiled for it."""
    cell.resolve()
    symbol = KernelCall(cell.kernel, cell.arguments).symbol
    kernel = f'ptrtoint (ptr @"{symbol}" to i64)'
    return f'declare void @"{symbol}"()\n@"{name}" = constant i64 {kernel}\n'


def undefined_symbols(module: Any) -> Iterator[str]:
    """Yield what a module needs of others."""
    for one in (*module.functions, *module.global_variables):
        if one.is_declaration and not one.name.startswith("llvm."):
            yield one.name


def _refusals(module: Any) -> Iterator[str]:
    """Yield definitions of what no library has, as they were declared."""
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration or not one.name.startswith(REFUSED):
            continue
        head = next(line for line in str(one).splitlines() if one.name in line)
        if not head.startswith("declare"):
            yield f"@{one.name} = global ptr null\n"
            continue
        returned = head.partition("@")[0].split()[-1]
        answer = {"void": "void", "ptr": "ptr null"}.get(returned, f"{returned} -1")
        head = re.sub(r"\)[^)]*$", ")", head).replace("declare", "define")
        yield f"{head} {{\n  ret {answer}\n}}\n"


def _parsed(like: Any, text: str) -> Any:
    return llvm.parse_assembly(_headed(like, text))


def _headed(like: Any, text: str) -> str:
    """Return LLVM's language for the processor of another module."""
    return f'target datalayout = "{like.data_layout}"\ntarget triple = "{like.triple}"\n{text}'


def _data_pointers(kinds: Sequence[Any], begin: int) -> Iterator[int]:
    """Yield which arguments of a function are the addresses of arrays' numbers."""
    for kind in _flat(kinds):
        if isinstance(kind, types.Array):
            yield begin + 4
            begin += 5 + 2 * kind.ndim
        else:
            begin += 1


def _flat(kinds: Iterable[Any]) -> Iterator[Any]:
    for kind in kinds:
        if isinstance(kind, BaseTuple):
            yield from _flat(kind)
        else:
            yield kind
