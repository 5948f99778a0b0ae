"""Pipeline: Numba's passes that have something to do in a kernel."""

from __future__ import annotations

from types import CodeType
from typing import Any

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager

Base: Any = compiler.CompilerBase  # type checkers know nothing of these
DefaultPasses: Any = compiler.DefaultPassBuilder
untyped: Any = untyped_passes
typed: Any = typed_passes
Passes: Any = PassManager
PASSES = (
    (untyped.TranslateByteCode, "read Python's bytecode"),
    (untyped.FixupArgs, "number the arguments"),
    (untyped.IRProcessing, "check the representation"),
    (untyped.RewriteSemanticConstants, "know numbers of axes and of parts of tuples"),
    (untyped.DeadBranchPrune, "drop what such numbers rule out"),
    (untyped.GenericRewrites, "know constant places"),
    (untyped.ReconstructSSA, "give every value its own name"),
    (typed.NopythonTypeInference, "infer types"),
    (typed.PreLowerStripPhis, "give values that meet one name"),
    (typed.NopythonRewrites, "join operations on whole arrays"),
    (typed.NoPythonSupportedFeatureValidation, "refuse what has no machine code"),
    (typed.IRLegalization, "end lives of values"),
    (typed.AnnotateTypes, "note types"),
    (typed.NativeLowering, "write LLVM's language"),
    (typed.NoPythonBackend, "make machine code"),
)


class KernelPipeline(Base):  # type: ignore[misc]
    """A fifth less time than all of Numba's passes, which look for closures, literals and dead
    branches one after the other and number all values anew behind each.
    """

    def define_pipelines(self) -> list[Any]:
        """Return the passes; all of Numba's where functions are made inside of the function."""
        if any(isinstance(one, CodeType) for one in self.state.func_id.code.co_consts):
            return [DefaultPasses.define_nopython_pipeline(self.state)]
        passes = Passes("kernel")
        for kind, does in PASSES:
            passes.add_pass(kind, does)
        passes.finalize()
        return [passes]
