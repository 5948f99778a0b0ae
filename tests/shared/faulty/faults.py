"""A sensor that fails in the middle of a run, in the way that it is told to."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.simulation.effects import Sensor, SensorEffect


@spec
class Fault(SensorEffect):
    what: str = "nothing"
    scale: float = 1.0
    kills: str = ""

    def attach(self, context, rng):
        if self.what == "refuses":
            raise InputError("the fault does not fit.")
        if self.what == "dies at once":
            os.abort()
        return Faulty(self.what, Path(self.kills))


class Faulty(Sensor):
    def __init__(self, what, kills):
        self.what, self.kills = what, kills

    def read(self, t, q, v):
        match self.what if t > 0.02 else "nothing":
            case "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "is killed" | "is starved":  # as often as there are files in a folder
                for file in sorted(self.kills.iterdir()):
                    with contextlib.suppress(FileNotFoundError):
                        file.unlink()
                        if self.what == "is starved":
                            raise MemoryError
                        os.kill(os.getpid(), signal.SIGKILL)
            case "exits":
                sys.exit(7)
            case "raises":
                raise LookupError("no reading is left")
            case "interrupts":
                raise KeyboardInterrupt
            case "runs out of memory":
                raise MemoryError
            case "hangs":
                time.sleep(1000.0)
            case "waits":
                time.sleep(0.01)
            case "diverges":
                return q, v + 1e7 * t
        return q, v
