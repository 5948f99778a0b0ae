"""Optimised code: object code of a module of LLVM, as a whole.

    python optimised.py TRIPLE PROCESSOR FEATURES < module.ll > code.o

As a program it turns loops of known length into straight lines, however long, by options that hold
for a whole process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm

STRAIGHT_LINES = ("-unroll-threshold=16000", "-unroll-full-max-count=64")
"""Instructions that a loop may become, and how often it may run; LLVM has 300 and 8."""


def machine_of(triple: str, processor: str, features: str) -> Any:
    """Return what writes code for a processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, features=features, opt=3, reloc="pic", codemodel="default"
    )


def optimise(module: Any, machine: Any) -> None:
    """Optimise a module for a machine, in place."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def optimised_code(text: str, target: Sequence[str], rounds: int = 1) -> bytes:
    """Return position-independent object code of a module's text.

    Args:
        text: The module in LLVM's language.
        target: Triple, processor and features.
        rounds: How often it is optimised.
    """
    module, machine = llvm.parse_assembly(text), machine_of(*target)
    for _ in range(rounds):
        optimise(module, machine)
    return bytes(machine.emit_object(module))


def main() -> None:
    """Read a module, and write its code."""
    for option in STRAIGHT_LINES:
        llvm.set_option("optimised", option)
    # once a loop has become a line, those within have known lengths
    code = optimised_code(sys.stdin.read(), sys.argv[1:], rounds=2)
    sys.stdout.buffer.write(code)


if __name__ == "__main__":
    main()
