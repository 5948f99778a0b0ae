"""Kernels: compiled functions that stand beside each other, and not inside of each other.

Numba copies what a function calls into the function's own module, where LLVM optimises it and emits
its machine code again, caller by caller; and it makes two wrappers of every function, by which
Python and C may call it. Kernels need neither:

- Machine code finds a kernel by its symbol, as it finds the functions of any library. Short ones
  are still copied, since LLVM may make them part of what calls them; a kernel that is only ever
  copied has no machine code of its own.
- A *deferred* kernel runs as the function of Python that it is, until that has taken about as long
  as compiling it would, or until its machine code is found stored: its callers read its address
  from a cell, which is filled in then. Both give the same bits.
- Python calls a kernel through an argument block (`ukctrl.core.jit.argument_block`) until it has
  called it so often that an entry of its own is worth compiling.

All of this stands on Numba's private classes, as those of `TESTED_NUMBA` are. With another version
`ukctrl.core.compiled` falls back to Numba's own decorator.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import importlib
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import llvmlite.binding
import numpy as np
from llvmlite import ir
from llvmlite.binding import parse_bitcode
from numba import types
from numba.core import codegen, registry
from numba.core import typing as numba_typing
from numba.core.caching import NullCache

from ukctrl.core.jit import array_elements as array_elements
from ukctrl.core.jit.argument_block import (
    ALLOWED_RETURNS,
    cgutils,
    load_arguments,
    python_result,
    result_from_word,
    store_arguments,
    trampoline,
    type_of,
    word_from_result,
    writable_arrays,
)
from ukctrl.core.jit.block_layout import pack_arguments
from ukctrl.core.jit.compiler_passes import KernelPipeline
from ukctrl.core.jit.machine_code_store import MachineCodeStore

TESTED_NUMBA = ("0.68.",)
"""Beginnings of the versions of Numba whose private classes are as this file takes them."""
Dispatcher: Any = registry.CPUDispatcher
Library: Any = codegen.JITCodeLibrary
typing: Any = numba_typing
CODEGEN: Any = registry.cpu_target.target_context.codegen()
ENGINE: Any = CODEGEN._engine
MAX_COPIED_LINES = 150
"""So many lines of LLVM's language it may copy: three times what it does for speed."""
CALLS_BEFORE_ENTRY = 100
"""A kernel that Python has called so often gets an entry: 0.1 s of compiling for 5 µs a call."""
STORED = "kernel"
"""How what is stored of a library differs from what Numba stores."""
SECONDS_BEFORE_COMPILING = 0.1
"""A deferred kernel is compiled when Python's function has taken so long [s]."""
KERNELS: dict[str, Kernel] = {}
"""By module and name."""
DEFERRABLE_RETURNS = {
    "None": types.none,
    "bool": types.boolean,
    "int": types.int64,
    "float": types.float64,
}
"""What a kernel is annotated to return that machine code may defer."""


@final
class Kernel(Dispatcher):  # type: ignore[misc]  # checkers know nothing of Numba's classes
    """A compiled function, for machine code to call, and for Python.

    Args:
        function: What is compiled.
        options: How, as Numba's decorators take it.
        for_python: Whether it is its own entry: no other kernel calls it.
        deferred: Whether it first runs as Python's function, until compiling is worth it.
    """

    _cache: Any

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        for_python: bool = False,
        deferred: bool = False,
    ) -> None:
        target_options = {**options, "no_cpython_wrapper": not for_python, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=target_options, pipeline_class=KernelPipeline)
        self._options, self._for_python, self._deferred = options, for_python, deferred
        self._entry: Kernel | None = None
        self._calls = 0
        self.has_python_entry = False
        self._in_python = np.errstate(all="ignore")(function)
        self._seconds = 0.0
        self._is_stored: dict[Any, bool] = {}
        self._cells: dict[Any, LazyBinding] = {}
        self._entrances: dict[Any, tuple[Any, int, Any]] = {}
        self._worth: dict[Any, bool] = {}
        self.name = f"{function.__module__}:{function.__qualname__}"
        # the first of a name: stored machine code finds its kernel by it
        KERNELS.setdefault(self.name, self)

    def add_overload(self, compiled: Any) -> None:
        """Register machine code."""
        arguments = tuple(compiled.signature.args)
        library = compiled.library
        library.dependency = KernelDependency(self.name, arguments, compiled.fndesc.llvm_func_name)
        library._reload_init.update(compiled.reload_init)  # which loaded machine code forgets
        if self._for_python:
            super().add_overload(compiled)
        else:  # Python must not find what has no wrapper
            self.overloads[arguments] = compiled

    def compile(self, arguments: Any) -> Any:
        """Compile for arguments of such types, or load the machine code."""
        if isinstance(self._cache, NullCache):  # for few functions it is ever asked
            self._cache = MachineCodeStore.of(self.py_func)
        try:
            return super().compile(arguments)
        finally:
            self._cache.release()

    def address(self, arguments: tuple[Any, ...]) -> tuple[int, Any]:
        """Return where its machine code for such arguments lies, and the type that it returns."""
        self.compile(arguments)
        compiled = self.overloads[arguments]
        was_emitted = compiled.library.is_emitted
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        if not was_emitted:  # it was stored as what is only copied
            self._cache.save_overload(compiled.signature, compiled)
        return int(address), compiled.signature.return_type

    def call_addresses(self, arguments: Sequence[Any]) -> tuple[int, int]:
        """Return where the entrance for such arguments lies, and where the machine code."""
        kinds = tuple(type_of(value) for value in arguments)
        address, returned = self.address(kinds)
        if returned not in ALLOWED_RETURNS:
            raise TypeError(f"kernel '{self.name}' must return nothing, a truth or a number.")
        return trampoline(returned, kinds), address

    def is_worth_compiling(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether Python's function has taken long enough, or machine code is there."""
        if self._seconds > SECONDS_BEFORE_COMPILING:
            return True
        if arguments not in self._is_stored:
            machine_code = MachineCodeStore.of(self.py_func)
            self._is_stored[arguments] = machine_code.is_stored(arguments, self.targetctx)
        return self._is_stored[arguments] or arguments in self.overloads

    def run_in_python(self, *arguments: Any) -> Any:
        """Run as Python's function; where that raises, all arrays are as they were before."""
        # a run that fails half-way must leave nothing behind: machine code repeats it
        backup = [(array, array.copy()) for array in writable_arrays(arguments)]
        began, _interpreting.depth = time.perf_counter(), _interpreting.depth + 1
        try:
            return self._in_python(*arguments)
        except BaseException:
            for array, content in backup:
                array[...] = content
            raise
        finally:
            _interpreting.depth -= 1
            self._seconds += time.perf_counter() - began

    # How machine code calls it

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return by which types machine code may call it; only a deferred one is not compiled."""
        if not (self._deferred and self._deferrable_return()):
            return super().get_call_template(args, kws)
        signature, args = self._compiler.fold_argument_types(args, kws)
        args, name = tuple(map(types.unliteral, args)), self.py_func.__name__
        returned = self._deferrable_return()
        template = typing.make_concrete_template(f"Deferred({name})", name, [returned(*args)])
        return template, signature, args, {}

    def get_overload(self, arguments: Any) -> Any:
        """Return what stands for the kernel where machine code calls it."""
        if not (self._deferred and self._deferrable_return()):
            return super().get_overload(arguments)
        cell = self.binding(tuple(arguments))
        if not cell.is_known:
            cell.is_known = True
            self.targetctx._defns[cell].append(cell.generate, tuple(arguments))
        return cell

    def _deferrable_return(self) -> Any:
        returned = self.py_func.__annotations__.get("return", "")
        return DEFERRABLE_RETURNS.get(getattr(returned, "__name__", str(returned)))

    def binding(self, arguments: tuple[Any, ...]) -> LazyBinding:
        """Return where machine code reads the address of a deferred kernel."""
        if arguments not in self._cells:
            self._cells[arguments] = LazyBinding(self, arguments)
        return self._cells[arguments]

    # How Python calls it

    def make_python_entry(self, arguments: tuple[Any, ...]) -> Any:
        """Return what Python calls with arguments of such types, which it finds from now on."""
        if self._for_python:
            return self.compile(arguments)
        if self._entry is None:
            self._entry = Kernel(self._python_caller(), self._options, for_python=True)
        call = self._entry.compile(arguments)
        self._insert([kind._code for kind in arguments], call, False)
        return call

    def _python_caller(self) -> Any:
        """Return a function of Python that calls the kernel."""
        function = self.py_func
        code = function.__code__
        names = ", ".join(code.co_varnames[: code.co_argcount])
        name = f"enter_{function.__name__}_{code.co_firstlineno}"
        namespace = {"kernel": self, "__name__": function.__module__}
        source = f"def {name}({names}):\n    return kernel({names})\n"
        exec(compile(source, code.co_filename, "exec"), namespace)
        return namespace[name]

    def _compile_for_args(self, *arguments: Any) -> Any:
        """Return what Python calls with arguments that it has no entry for."""
        if self._for_python:
            return super()._compile_for_args(*arguments)
        # first: within a function that runs in Python all does, with the same bits and nothing to
        # compile
        if _interpreting.depth and not self.has_python_entry:
            return self.py_func
        words: list[int] = [0]
        kinds: tuple[Any, ...] | None = None
        with contextlib.suppress(TypeError):  # what no block can hold
            kinds = pack_arguments(arguments, words)
        # before calls are counted: a deferred kernel may never be worth its compiling
        if self._deferred and not (kinds in self._entrances or self._is_worth(kinds, arguments)):
            return self._try_in_python
        self._compilation_chain_init_hook()
        self._calls += 1
        is_whole = len(arguments) == self.py_func.__code__.co_argcount
        # an entry of its own takes longer to compile than this many calls by the block lose
        if is_whole and self._calls < CALLS_BEFORE_ENTRY and not self.has_python_entry:
            with contextlib.suppress(TypeError):
                if kinds is not None and kinds not in self._entrances:
                    self._entrances[kinds] = self._entrance(tuple(map(type_of, arguments)))
                if kinds is not None and self._entrances[kinds][0] is not None:
                    enter, words[0], returned = self._entrances[kinds]
                    return _BlockCall(enter, words, returned)
        return self.make_python_entry(tuple(self.typeof_pyval(value) for value in arguments))

    def _is_worth(self, kinds: tuple[Any, ...] | None, arguments: Sequence[Any]) -> bool:
        """Return what `is_worth_compiling` does, from arguments and what a block tells of them."""
        if self._seconds > SECONDS_BEFORE_COMPILING:
            return True
        # Numba's types take longer than most functions that are deferred: looked for once
        if kinds is None or kinds not in self._worth:
            self._worth[kinds] = self.is_worth_compiling(tuple(map(type_of, arguments)))
        return self._worth[kinds]

    def _entrance(self, arguments: tuple[Any, ...]) -> tuple[Any, int, Any]:
        """Return what calls the kernel with a block, its address, and the type that it returns."""
        address, returned = self.address(arguments)
        if returned not in ALLOWED_RETURNS and returned != types.float64:
            return None, 0, returned
        return _FROM_PYTHON(trampoline(returned, arguments)), address, returned

    def _try_in_python(self, *arguments: Any) -> Any:
        try:
            return python_result(self.run_in_python(*arguments))
        except Exception:  # of what machine code takes for infinite, or for no number
            # arithmetic that Python refuses and machine code does not: compiled from now on
            self._seconds = np.inf
            return self(*arguments)

    def __reduce__(self) -> Any:
        return kernel_of, (self.name,)


def kernel_of(name: str) -> Kernel:
    """Return a kernel by its module and name."""
    importlib.import_module(name.partition(":")[0])
    return KERNELS[name]


_FROM_PYTHON = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class _BlockCall(NamedTuple):
    """A call of a kernel by Python, with its arguments laid out."""

    entrance: Callable[[int], int]
    words: list[int]
    returned: Any

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; the arguments are only kept alive here."""
        block = array("q", self.words)
        code = self.entrance(block.buffer_info()[0])
        if self.returned == types.none:
            return None
        if self.returned == types.boolean:
            return code == 0
        if self.returned == types.int64:
            return code
        return ctypes.c_double.from_buffer(ctypes.c_int64(code)).value


class KernelDependency(NamedTuple):
    """Machine code that other machine code calls by its symbol, so that it is loaded before."""

    name: str
    arguments: tuple[Any, ...]
    symbol: str

    def __call__(self) -> None:
        """Load it; an error where it was compiled anew since: its symbol is another one then."""
        kernel = kernel_of(self.name)
        kernel.compile(self.arguments)
        compiled = kernel.overloads[self.arguments]
        if compiled.fndesc.llvm_func_name != self.symbol:
            raise FileNotFoundError(f"what called {self.name} was compiled before it.")
        compiled.library.emit()


class BindingDependency(NamedTuple):
    """The cell of a deferred kernel, which machine code reads, so that it is there before."""

    name: str
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        """Have the linker know it."""
        kernel_of(self.name).binding(self.arguments)


@final
class LazyBinding:
    """Where machine code reads the address of a deferred kernel: 0 until it is compiled."""

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.is_known = False
        self._word = ctypes.c_int64(0)
        self.symbol = f"ukctrl.cell.{kernel.name}.{arguments}"
        address = ctypes.addressof(self._word)
        _CELLS[address] = self
        llvmlite.binding.add_symbol(self.symbol, address)

    @property
    def is_unresolved(self) -> bool:
        """Whether the kernel is not compiled yet."""
        return self._word.value == 0

    def resolve(self) -> int:
        """Compile the kernel; return its address, which callers find in the cell from now on."""
        address, returned = self.kernel.address(self.arguments)
        # callers were compiled for what the annotation says
        if returned != self.kernel._deferrable_return():
            raise TypeError(f"kernel {self.kernel.name} returns {returned}, not as annotated.")
        self._word.value = address
        return address

    def generate(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Write in LLVM's language: call what the cell holds, or hand the call over to Python."""
        context.active_code_library._reload_init.add(
            BindingDependency(self.kernel.name, self.arguments)
        )
        module, word, returned = builder.module, ir.IntType(64), signature.return_type
        cell = module.globals.get(self.symbol) or ir.GlobalVariable(module, word, self.symbol)
        resolver_type = ir.FunctionType(word, [word, word])
        ask = module.globals.get(RESOLVE_SYMBOL) or ir.Function(
            module, resolver_type, RESOLVE_SYMBOL
        )
        block = store_arguments(context, builder, signature.args, arguments)
        address = cgutils.alloca_once_value(builder, builder.load(cell))
        # the first call alone asks Python; afterwards it costs one load
        with builder.if_then(is_zero(builder, address), likely=False):
            pointer = builder.ptrtoint(block, word)
            builder.store(builder.call(ask, [builder.ptrtoint(cell, word), pointer]), address)
        kind = context.call_conv.get_function_type(returned, signature.args)
        with builder.if_else(is_zero(builder, address)) as (by_python, by_machine_code):
            with by_python:
                answer = result_from_word(context, builder, returned, builder.load(block))
                python = builder.block
            with by_machine_code:
                kernel = builder.inttoptr(builder.load(address), kind.as_pointer())
                call = context.call_conv.call_function
                _, same = call(builder, kernel, returned, signature.args, arguments)
                machine_code = builder.block
        either = builder.phi(same.type)
        either.add_incoming(answer, python)
        either.add_incoming(same, machine_code)
        return either

    def call_or_resolve(self, block: int) -> int:
        """Run as Python's function with the arguments in a block, whose first word is its answer.

        Returns 0, or the address of the machine code, which is to be called instead.
        """
        if not self.kernel.is_worth_compiling(self.arguments):
            with contextlib.suppress(Exception):
                args = load_arguments(block, self.arguments)
                returned = self.kernel.run_in_python(*args)
                ctypes.c_int64.from_address(block).value = word_from_result(returned)
                return 0
        return self.resolve()


RESOLVE_SYMBOL = "ukctrl.ask"
_CELLS: dict[int, LazyBinding] = {}
"""By the address of their word."""


def bindings() -> dict[str, LazyBinding]:
    """Return the cells of all deferred kernels, by their symbols."""
    return {cell.symbol: cell for cell in _CELLS.values()}


def resolve_bindings() -> None:
    """Compile every deferred kernel that loaded machine code may come to: for a store to ship."""
    # compiling one may bring new cells
    while empty := [cell for cell in _CELLS.values() if cell.is_unresolved]:
        for cell in empty:
            cell.resolve()


def is_zero(builder: Any, address: Any) -> Any:
    """Write in LLVM's language: whether there is no machine code yet."""
    return builder.icmp_unsigned("==", builder.load(address), ir.IntType(64)(0))


def _resolve(address: int, block: int) -> int:
    """Answer a call of machine code, to which no error can be handed back."""
    # a key may be pressed while Python compiles: then once more
    while True:
        try:
            return _CELLS[address].call_or_resolve(block)
        except KeyboardInterrupt:  # for Python, where machine code comes back to it
            # raised here it would unwind through machine code, which cannot
            threading.Timer(0.05, _thread.interrupt_main).start()


_ask_callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_resolve)
llvmlite.binding.add_symbol(RESOLVE_SYMBOL, ctypes.cast(_ask_callback, ctypes.c_void_p).value)


class _InterpreterDepth(threading.local):
    """Whether this thread runs kernels as functions of Python: those that they call, too."""

    depth = 0


_interpreting = _InterpreterDepth()


class KernelLibrary(Library):  # type: ignore[misc]
    """A function's machine code, which finds the kernels that it calls by their symbols."""

    dependency: KernelDependency | None = None
    is_emitted = False
    _is_optimised = False
    _bitcode = b""
    _shared_module: Any

    def add_linking_library(self, library: Any) -> None:
        """Take in what the function calls, or have it loaded before."""
        dependency: KernelDependency | None = getattr(library, "dependency", None)
        if dependency is None or library.is_copied():
            super().add_linking_library(library)
        else:
            library.emit()
            self._reload_init.add(dependency)

    def is_copied(self) -> bool:
        """Return whether LLVM may copy the function into what calls it."""
        assert self.dependency is not None
        function = self._get_module_for_linking().get_function(self.dependency.symbol)
        # short functions gain by inlining; long ones only make every caller compile longer
        # (decision 0118)
        return _is_inlined(function) or str(function).count("\n") < MAX_COPIED_LINES

    def _optimize_functions(self, module: Any) -> None:
        """Leave all to the passes over the whole module, which find the same to do."""
        # Numba would optimise each function by itself before the whole: more time for the same code
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise the function; what is always inlined is optimised as part of its callers."""
        defined = (one for one in self._final_module.functions if not one.is_declaration)
        if not any(_is_inlined(one) and one.linkage.name == "external" for one in defined):
            self._optimise()

    def _optimise(self) -> None:
        """Run LLVM's passes once; Numba would before prepare for pruning counts of references."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._is_optimised = True

    def _finalize_final_module(self) -> None:
        """Leave it at LLVM's language: many functions are only ever copied into others."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def emit(self) -> None:
        """Have machine code, so that others may call it by its symbol."""
        if self.is_emitted:
            return
        self.is_emitted = True
        if self._bitcode:
            self._final_module = parse_bitcode(self._bitcode)
            assert self.dependency is not None
            self._final_module.get_function(self.dependency.symbol).linkage = "external"
        elif not self._is_optimised:
            self._optimise()
        super()._finalize_final_module()
        _set_pending_environments(self._final_module)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 where there is none of this name."""
        self._ensure_finalized()
        if not self.is_emitted:
            with contextlib.suppress(NameError):
                self._module_in_hand().get_function(name)
                self.emit()
        return int(super().get_pointer_to_function(name))

    def _module_in_hand(self) -> Any:
        return self._get_module_for_linking() if self._bitcode else self._final_module

    def serialize_using_object_code(self) -> Any:
        """Return what is stored: LLVM's form for callers that copy it, and the machine code."""
        self._ensure_finalized()
        if self.dependency is None or not self.is_copied():
            self.emit()
        bitcode = self._get_module_for_linking().as_bitcode()
        if not self.is_emitted:
            return self.name, STORED, (b"", bitcode, [])
        symbols = (*self._final_module.functions, *self._final_module.global_variables)
        defined = [one.name for one in symbols if not one.is_declaration]
        return self.name, STORED, (self._get_compiled_object(), bitcode, defined)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """Load machine code; what callers may copy is read when there is one."""
        name, kind, stored = state
        if kind != STORED:
            return super()._unserialize(codegen, state)
        self = cls(codegen, name)
        self.enable_object_caching()
        machine_code, self._bitcode, symbols = stored
        # else only the source of it is there: it was copied everywhere
        if machine_code:
            self.is_emitted = True
            self._set_compiled_object(machine_code)
            super(KernelLibrary, self)._finalize_final_module()
            ENGINE._defined_symbols.update(symbols)
        else:
            self._finalized = True
        return self

    def _get_module_for_linking(self) -> Any:
        if self._bitcode and self._shared_module is None:
            self._shared_module = parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()


def _is_inlined(function: Any) -> bool:
    return any(b"alwaysinline" in attributes for attributes in function.attributes)


_PENDING: dict[str, Any] = {}
"""By their names in machine code that is not emitted: the environments of functions."""
_set_env = CODEGEN.set_env


def _set_environment(name: str, environment: Any) -> None:
    if ENGINE.is_symbol_defined(name):
        _set_env(name, environment)
    else:
        _PENDING[name] = environment


def _set_pending_environments(module: Any) -> None:
    for variable in module.global_variables:
        if variable.name in _PENDING:
            _set_env(variable.name, _PENDING[variable.name])


CODEGEN.set_env = _set_environment
CODEGEN._library_class = KernelLibrary


_SIGNATURES: dict[Any, Any] = {}
"""By Numba's function and the types of its arguments: the signature that it chose."""
Function: Any = types.BaseFunction
_choose = Function.get_call_type


def _signature(self: Any, context: Any, arguments: Any, keywords: Any) -> Any:
    """Return what Numba chooses, which tries dozens of its templates each time, once a process."""
    if keywords:
        return _choose(self, context, arguments, keywords)
    key = self, arguments
    if key not in _SIGNATURES:
        _SIGNATURES[key] = _choose(self, context, arguments, keywords)
    return _SIGNATURES[key]


Function.get_call_type = _signature
