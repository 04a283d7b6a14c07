"""A worker process without images: all of the real one, except for what takes its time."""

from equilabel.cli import worker
from equilabel.cli.records import Record


def serve(*words):
    """Serve as the real worker does; options are fine, images are done."""
    worker.check = lambda options: ""
    worker.label_one = label_none
    worker.serve(*words)


def label_none(job, options, provenance):
    """Describe an image as done."""
    return Record(str(job.path), job.name, "done", attempts=job.attempts)
