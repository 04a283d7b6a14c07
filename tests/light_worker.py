"""A worker process without images: all of the real one, except for what takes its time."""

from equilabel.cli import workers
from equilabel.cli.records import Record


def serve(*words):
    """Serve as the real worker does; options are fine, images are done."""
    workers.check = lambda *_, **__: ""
    workers.label_one = label_none
    workers.serve(*words)


def label_none(job, options, provenance):
    """Describe an image as done."""
    return Record(str(job.path), job.name, "done", attempts=job.attempts)
