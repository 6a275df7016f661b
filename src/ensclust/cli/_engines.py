"""Schedulers for ``--engine dask``: threads, processes, or an existing cluster."""

from __future__ import annotations

import logging
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def dask_scheduler(address: str | None) -> Iterator[None]:
    """Activate the requested scheduler."""
    from ensclust._support.validation import import_optional  # noqa: PLC0415  heavy

    dask = import_optional("dask", "--engine dask", "dask")
    distributed = import_optional("distributed", "--engine dask", "dask")
    if address in (None, "threads"):
        active = dask.config.set(scheduler="threads")
    elif address == "processes":
        active = _processes(distributed)
    elif "://" in str(address):
        active = distributed.Client(address)
    else:
        msg = f"--scheduler {address} is not supported. Use threads, processes or tcp://..."
        raise click.UsageError(msg)
    with active:
        yield


@contextmanager
def _processes(distributed: Any) -> Iterator[None]:
    """Start workers that leave Ctrl-C and error messages to this process."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes inherit it
    try:
        cluster = distributed.LocalCluster(silence_logs=logging.CRITICAL)
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster, distributed.Client(cluster):
        yield
