"""Dask clusters whose scheduler and workers are processes that can be killed."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager

COMMAND = [sys.executable, "-m"]


@contextmanager
def cluster(folder, workers):
    """Start the scheduler and the workers of a cluster, as processes that can be killed."""
    file = folder / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file]
    quiet = {"stderr": subprocess.DEVNULL, "cwd": folder}
    scheduler = ["distributed.cli.dask_scheduler", *map(str, words)]
    processes = [subprocess.Popen([*COMMAND, *scheduler], **quiet)]
    try:
        address = address_in(file, processes[0])
        words = [address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        worker = ["distributed.cli.dask_worker", *words]
        processes += [subprocess.Popen([*COMMAND, *worker], **quiet) for _ in range(workers)]
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def address_in(file, scheduler):
    """Wait for the file of a scheduler, which exists before all of it is written."""
    while True:  # ended by the time limit of all tests
        try:
            return json.loads(file.read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):
            assert scheduler.poll() is None
            time.sleep(0.02)
