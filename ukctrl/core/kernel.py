"""Machine code that is made once: kernels stand beside each other, not inside of each other.

Numba copies what a function calls into the function's own module, where LLVM optimises it and makes
its machine code again, caller by caller; and it makes two wrappers of every function, by which
Python and C may call it. Kernels need neither: machine code finds a kernel by its symbol, as it
finds the functions of any library, and the few that Python calls have an entry for it. Short
kernels are still copied, since LLVM may make them part of what calls them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, final

from numba.core import codegen, compiler, registry

Dispatcher: Any = registry.CPUDispatcher
Library: Any = codegen.JITCodeLibrary
Compiler: Any = compiler.Compiler
SHORT = 150
"""So many lines of LLVM's language it may copy: three times what it does for speed."""
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

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        kept: Callable[[Callable[..., Any]], Any],
        for_python: bool = False,
    ) -> None:
        every = {**options, "no_cpython_wrapper": not for_python, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=every, pipeline_class=Pipeline)
        self._options, self._kept, self._for_python = options, kept, for_python
        self._cache = kept(function)
        self._entry: Kernel | None = None
        self.name = f"{function.__module__}:{function.__qualname__}"
        KERNELS.setdefault(self.name, self)

    def add_overload(self, made: Any) -> None:
        """Keep machine code."""
        arguments = tuple(made.signature.args)
        made.library.needed = Needed(self.name, arguments, made.fndesc.llvm_func_name)
        if self._for_python:
            super().add_overload(made)
        else:  # Python must not find what has no wrapper
            self.overloads[arguments] = made

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


class Pipeline(Compiler):  # type: ignore[misc]
    """Compiles into a library that kernels stand beside."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        self.state.library = Beside(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class Beside(Library):  # type: ignore[misc]
    """A function's machine code, which finds the kernels that it calls by their symbols."""

    def add_linking_library(self, library: Any) -> None:
        """Take in what the function calls, or have it loaded before."""
        needed: Needed | None = getattr(library, "needed", None)
        if needed is None or is_short(library, needed.symbol):
            super().add_linking_library(library)
        else:
            self._reload_init.add(needed)

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


def is_short(library: Any, symbol: str) -> bool:
    """Return whether LLVM may copy a function into what calls it."""
    function = library._get_module_for_linking().get_function(symbol)
    inlined = any(b"alwaysinline" in attributes for attributes in function.attributes)
    return inlined or str(function).count("\n") < SHORT
