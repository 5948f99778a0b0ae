"""A task with a sensor of one's own that fails in the way that it is told to."""

import shutil
from pathlib import Path


def faulty_task(folder):
    """Put the task and its sensor into a folder; return the task's file."""
    for path in Path(__file__).with_name("faulty").glob("*.*"):
        shutil.copy(path, folder)
    return folder / "task.toml"
