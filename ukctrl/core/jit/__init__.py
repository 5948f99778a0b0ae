"""Just-in-time compilation: machine code of kernels, compiled once and stored.

In order: ``compile_lock`` (one process compiles), ``machine_code_store`` (the store),
``block_layout`` and ``argument_block`` (arguments as words of memory), ``array_elements`` (of
arrays), ``compiler_passes`` (the compiler's passes), ``kernel`` (compiled functions),
``optimised`` (a module's object code) and ``linked_module`` (many kernels as one object file).
Decorators, and all else that the rest of ukctrl needs, are in `ukctrl.core.compiled`.
"""
