"""How all kernels are compiled."""

from contextlib import suppress
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from ensclust._kernels._compiling import compiling


def jit(function):
    """Compile ``function`` on first call: no GIL, results cached on disk.

    If no cache directory is writable, the function is compiled again in each process.
    """
    return _compiled(function, fastmath=False)


def inlined_jit(function):
    """Like :func:`jit`, for what one other kernel calls: compiled as a part of that.

    This takes less time than to compile both. Products and sums are fused if they are
    in the other kernel.
    """
    return _compiled(function, fastmath=False, inline="always")


def fused_jit(function):
    """Like :func:`jit`, but a product and a sum may be fused, with one rounding.

    That doubles the speed of products. The order of sums stays as written, so results
    are equal on all processors that have such an instruction, whatever the width of
    their vectors: x86-64 since 2013, ARM64.
    """
    return _compiled(function, fastmath={"contract"})


def _compiled(function, **options):
    # Nobody calls kernels from C.
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    kernel: Any = numba.njit(**options)(function)
    if hasattr(kernel, "enable_caching"):  # not with NUMBA_DISABLE_JIT
        try:
            kernel._cache = _Cache(function)  # what enable_caching does
        except RuntimeError:  # no directory can be written
            compiling.is_kept = False
    return kernel


class _Cache(FunctionCache):
    """Compiled kernels on disk; files that cannot be used count as missing."""

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever half a pickle raises
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        with suppress(OSError):  # a full disk
            super().save_overload(sig, data)


class _Watch(event.Listener):
    """Listens for compilation; loading a kernel from the cache is none."""

    def on_start(self, event):
        if _is_ours(event):
            compiling.begin()

    def on_end(self, event):
        if _is_ours(event):
            compiling.end()


def _is_ours(event) -> bool:
    return event.data["dispatcher"].py_func.__module__.startswith("ensclust.")


event.register("numba:compile", _Watch())
