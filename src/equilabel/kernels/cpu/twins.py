"""Plain Python functions with a twin of a few machine instructions, which kernels use instead.

`numba.extending.overload` would do as well, but compiles a function for every such call: a tenth
of the time that the first `label` takes.
"""

from numba import types
from numba.extending import lower_builtin, type_callable


def twin(function, typed):
    """Let numba write machine instructions wherever a kernel calls a function.

    Parameters
    ----------
    function : callable
        Plain Python, for reading and for runs without a compiler.
    typed : callable
        Returns the signature of a call from the types of its arguments, which are converted to it.

    Returns
    -------
    callable
        A decorator of the function that writes the instructions, as of `numba.extending.intrinsic`.
    """

    def register(code):
        type_callable(function)(lambda context: typed)
        lower_builtin(function, types.VarArg(types.Any))(code)
        return code

    return register
