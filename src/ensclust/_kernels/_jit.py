"""The one way kernels are compiled."""

import numba
from numba.core import event

from ensclust._kernels._compiling import compiling


def jit(function):
    """Compile ``function`` on first call: no GIL, results cached on disk.

    Where no cache directory can be written, ``cache=True`` raises at decoration;
    the function is then compiled anew in each process.
    """
    return _compiled(function, fastmath=False)


def fused_jit(function):
    """Do as :func:`jit`; a product and a sum may be one instruction, rounded once.

    That doubles the speed of products. The order of sums stays as written, so results
    are equal on all processors that have such an instruction, whatever the width of
    their vectors: x86-64 since 2013, ARM64.
    """
    return _compiled(function, fastmath={"contract"})


def _compiled(function, *, fastmath):
    try:
        return numba.njit(nogil=True, cache=True, fastmath=fastmath)(function)
    except RuntimeError:
        compiling.is_kept = False
        return numba.njit(nogil=True, fastmath=fastmath)(function)


class _Watch(event.Listener):
    """Hears when Numba compiles, which is not when it finds a kernel in its cache."""

    def on_start(self, event):
        if _is_ours(event):
            compiling.begin()

    def on_end(self, event):
        if _is_ours(event):
            compiling.end()


def _is_ours(event) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("ensclust.")


event.register("numba:compile", _Watch())
