"""The one way kernels are compiled."""

import numba


def jit(function):
    """Compile ``function`` on first call: no GIL, results cached on disk.

    Where no cache directory can be written, ``cache=True`` raises at decoration;
    the function is then compiled anew in each process.
    """
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
