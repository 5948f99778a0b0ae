"""The command, in this process and in one of its own, as the tests start it."""

import pytest

NO_COMPILING = (
    "from ukctrl.core.jit import machine_code_store as code; "
    "code.SECONDS_BEFORE_NOTICE = float('inf')"
)
"""Whether a test is the first to need a kernel, of which a command tells, is for nobody to know."""
CLI = f"{NO_COMPILING}; from ukctrl.cli import main; main()"


def ended(capture, *arguments):
    """Run a command in this process; return its code and what it prints and complains of."""
    from ukctrl.cli import main

    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0), *capture.readouterr()
