"""Where the runs of a command are made: on some processors here, or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Annotated, TypedDict

import typer

from ukctrl.cli.terminal.lines import print_notice
from ukctrl.core.errors import InputError

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Runs at a time; absent: all processors.",
        rich_help_panel="How it runs",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on the Dask cluster of a scheduler.",
        rich_help_panel="How it runs",
    ),
]


class JobOptions(TypedDict):
    """What says where runs are made, as studies take it."""

    jobs: int | None
    executor: Executor | None
    room: int | None


@contextlib.contextmanager
def job_options(cluster: str | None, jobs: int | None) -> Iterator[JobOptions]:
    """Yield where runs are made, which is a cluster where there is an address of one.

    Raises:
        InputError: Both are given, or the cluster cannot be had.
    """
    if cluster is None:
        yield JobOptions(jobs=jobs, executor=None, room=None)
        return
    if jobs is not None:
        raise InputError("give --jobs or --cluster, and not both; a cluster has its own workers.")
    from ukctrl.studies.batch.dask_cluster import cluster as connected

    with connected(cluster, tell=print_notice) as connection:
        yield JobOptions(jobs=None, executor=connection.executor, room=connection.room)
