"""The one way kernels are compiled."""

from contextlib import suppress
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from ensclust._kernels._compiling import compiling


def jit(function):
    """Compile ``function`` on first call: no GIL, results cached on disk.

    Where no cache directory can be written, the function is compiled anew in each
    process.
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
    kernel: Any = numba.njit(nogil=True, fastmath=fastmath)(function)
    if hasattr(kernel, "enable_caching"):  # with NUMBA_DISABLE_JIT it has not
        try:
            kernel._cache = _Cache(function)  # what enable_caching does
        except RuntimeError:  # no directory can be written
            compiling.is_kept = False
    return kernel


class _Cache(FunctionCache):
    """Compiled kernels on disk: files that cannot be used are as good as none."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever half a pickle comes to
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        with suppress(OSError):  # a full disk
            super().save_overload(sig, data)


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
