"""The command in a process of its own, as the tests start it."""

NO_COMPILING = (
    "from ukctrl.core.jit import machine_code_store as code; "
    "code.SECONDS_BEFORE_NOTICE = float('inf')"
)
"""Whether a test is the first to need a kernel, of which a command tells, is for nobody to know."""
CLI = f"{NO_COMPILING}; from ukctrl.cli import main; main()"
