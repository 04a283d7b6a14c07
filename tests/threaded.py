"""Images whose pieces join late, and processes that are forked."""

import os
import signal
import time

import numpy as np

from equilabel import label


def snake(rows=40, columns=70):
    """Draw a curve that crosses every border between pieces, and joins only at its end."""
    image = np.ones((rows, columns), "u1")
    image[1::4, :-1] = image[3::4, 1:] = 0
    return image


def comb(rows=40, columns=70, across=False):
    """Draw lines that are joined in the last row alone."""
    image = np.zeros((rows, columns), "u1")
    image[:, ::2] = 1
    image[-1] = 1
    return np.ascontiguousarray(image.T) if across else image


SHAPES_THAT_JOIN_LATE = {"snake": snake(), "comb": comb(), "comb across": comb(across=True)}


def check_child(image, expected):
    """Label an image in a child that is forked, and compare the labels there."""
    child = os.fork()
    if child == 0:
        try:
            np.testing.assert_array_equal(label(image), expected)
            os._exit(0)
        finally:
            os._exit(1)
    assert wait(child, seconds=30) == 0


def wait(child, seconds):
    """Return the exit code of a process, or kill it and return None if it takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
