"""Machine code that is made once: kernels stand beside each other, not inside of each other.

Numba copies what a function calls into the function's own module, where LLVM optimises it and makes
its machine code again, caller by caller; and it makes two wrappers of every function, by which
Python and C may call it. Kernels need neither: machine code finds a kernel by its symbol, as it
finds the functions of any library, and the few that Python calls have an entry for it. Short
kernels are still copied, since LLVM may make them part of what calls them. The decorators that make
kernels are those of `ukctrl.core.compiled`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, final

from llvmlite.binding import parse_bitcode
from numba.core import codegen, registry
from numba.core.caching import NullCache

Dispatcher: Any = registry.CPUDispatcher
Library: Any = codegen.JITCodeLibrary
SHORT = 150
"""So many lines of LLVM's language it may copy: three times what it does for speed."""
KEPT = "beside"
"""How what is kept on disk differs from what Numba keeps."""
KERNELS: dict[str, Kernel] = {}
"""By module and name."""


@final
class Kernel(Dispatcher):  # type: ignore[misc]  # checkers know nothing of Numba's classes
    """A compiled function, for machine code to call, and for Python through an entry.

    Args:
        function: What is compiled.
        options: How, as Numba's decorators take it.
        kept: Makes what keeps the machine code of a function on disk.
        for_python: Whether it is its own entry: no other kernel calls it.
    """

    _cache: Any

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        kept: Callable[[Callable[..., Any]], Any],
        for_python: bool = False,
    ) -> None:
        every = {**options, "no_cpython_wrapper": not for_python, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=every)
        self._options, self._kept, self._for_python = options, kept, for_python
        self._entry: Kernel | None = None
        self.name = f"{function.__module__}:{function.__qualname__}"
        KERNELS.setdefault(self.name, self)

    def add_overload(self, made: Any) -> None:
        """Keep machine code."""
        arguments = tuple(made.signature.args)
        library = made.library
        library.needed = Needed(self.name, arguments, made.fndesc.llvm_func_name)
        library._reload_init.update(made.reload_init)  # which machine code from a disk forgets
        if self._for_python:
            super().add_overload(made)
        else:  # Python must not find what has no wrapper
            self.overloads[arguments] = made

    def compile(self, arguments: Any) -> Any:
        """Make the machine code, or load it."""
        if isinstance(self._cache, NullCache):  # for few functions it is ever asked
            self._cache = self._kept(self.py_func)
        try:
            return super().compile(arguments)
        finally:
            self._cache.leave()

    def enter(self, arguments: tuple[Any, ...]) -> Any:
        """Return what Python calls with arguments of such types, which it finds from now on."""
        if self._for_python:
            return self.compile(arguments)
        if self._entry is None:
            self._entry = Kernel(self._calling(), self._options, self._kept, for_python=True)
        call = self._entry.compile(arguments)
        self._insert([kind._code for kind in arguments], call, False)
        return call

    def _calling(self) -> Any:
        """Return a function of Python that calls the kernel."""
        function = self.py_func
        code = function.__code__
        names = ", ".join(code.co_varnames[: code.co_argcount])
        name = f"enter_{function.__name__}_{code.co_firstlineno}"
        known = {"kernel": self, "__name__": function.__module__}
        source = f"def {name}({names}):\n    return kernel({names})\n"
        exec(compile(source, code.co_filename, "exec"), known)
        return known[name]

    def _compile_for_args(self, *arguments: Any) -> Any:
        """Return what Python calls with arguments that it has not called with before."""
        if self._for_python:
            return super()._compile_for_args(*arguments)
        self._compilation_chain_init_hook()
        return self.enter(tuple(self.typeof_pyval(value) for value in arguments))

    def __reduce__(self) -> Any:
        return kernel_of, (self.name,)


def kernel_of(name: str) -> Kernel:
    """Return a kernel by its module and name."""
    importlib.import_module(name.partition(":")[0])
    return KERNELS[name]


class Needed(NamedTuple):
    """Machine code that other machine code calls by its symbol, so that it is loaded before."""

    name: str
    arguments: tuple[Any, ...]
    symbol: str

    def __call__(self) -> None:
        """Load it; an error where it was made anew since, for its symbol is another then."""
        kernel = kernel_of(self.name)
        kernel.compile(self.arguments)
        if kernel.overloads[self.arguments].fndesc.llvm_func_name != self.symbol:
            raise FileNotFoundError(f"what called {self.name} was made before it.")


class Beside(Library):  # type: ignore[misc]
    """A function's machine code, which finds the kernels that it calls by their symbols."""

    needed: Needed | None = None
    _bitcode = b""
    _shared_module: Any

    def add_linking_library(self, library: Any) -> None:
        """Take in what the function calls, or have it loaded before."""
        needed: Needed | None = getattr(library, "needed", None)
        if needed is None or library.is_short():
            super().add_linking_library(library)
        else:
            self._reload_init.add(needed)

    def is_short(self) -> bool:
        """Return whether LLVM may copy the function into what calls it."""
        assert self.needed is not None
        function = self._get_module_for_linking().get_function(self.needed.symbol)
        inlined = any(b"alwaysinline" in attributes for attributes in function.attributes)
        return inlined or str(function).count("\n") < SHORT

    def serialize_using_object_code(self) -> Any:
        """Return what is kept on disk."""
        name, _, made = super().serialize_using_object_code()
        defined = (*self._final_module.functions, *self._final_module.global_variables)
        return name, KEPT, (*made, [one.name for one in defined if not one.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        """Load machine code; what callers may copy is read when there is one."""
        name, kind, made = state
        if kind != KEPT:
            return super()._unserialize(codegen, state)
        self = cls(codegen, name)
        self.enable_object_caching()
        machine_code, self._bitcode, symbols = made
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)
        return self

    def _get_module_for_linking(self) -> Any:
        if self._bitcode and self._shared_module is None:
            self._shared_module = parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()

    def _optimize_functions(self, module: Any) -> None:
        super()._optimize_functions(Definitions(module))


class Definitions:
    """A module of LLVM without the functions that it only declares: nothing is in them."""

    def __init__(self, module: Any) -> None:
        vars(self)["module"] = module

    @property
    def functions(self) -> list[Any]:
        """Those that have a body."""
        return [function for function in self.module.functions if not function.is_declaration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.module, name, value)


registry.cpu_target.target_context.codegen()._library_class = Beside
