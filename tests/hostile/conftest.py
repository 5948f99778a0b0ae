"""A good result, and how `report` answers when a stranger has changed it."""

from __future__ import annotations

import resource

import pytest

from ukctrl import Scenario, simulate
from ukctrl.cli import main


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """A short run, saved."""
    out = tmp_path_factory.mktemp("good")
    simulate(Scenario.load("two-mass-spring", {"timing.duration": 0.05})).save(out)
    return (out / "result.nc").read_bytes()


@pytest.fixture(name="refused")
def _refused(capfd):
    def check(folder, says):
        """Check that the result is refused in one line that says so, and takes little memory."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(SystemExit) as ended:
            main(["report", str(folder)])
        out, err = capfd.readouterr()
        assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
        assert says in err
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # [kB]

    return check
