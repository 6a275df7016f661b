"""Files that are replaced whole or not at all."""

import io
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ensclust._support.validation import check_path


def is_device(path: Path) -> bool:
    """Whether ``path`` is a pipe or device: written to, never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


class NotWrittenError(OSError):
    """A file could not be written; the message names it."""


class ClosedOutput(io.TextIOBase):
    """Replaces a closed standard output: writing to it raises."""

    def write(self, _: str) -> int:
        """Raise."""
        msg = "standard output is closed. Open it, or name an output file (-o)."
        raise NotWrittenError(msg)


def check_stdout() -> None:
    """Raise if standard output is closed, before work that would be lost."""
    if sys.stdout is None or isinstance(sys.stdout, ClosedOutput):
        ClosedOutput().write("")


@contextmanager
def writing(path: str | os.PathLike) -> Iterator[None]:
    """Name the file in errors of the system about writing it."""
    try:
        yield
    except (BrokenPipeError, NotWrittenError):
        raise
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}."
        raise NotWrittenError(msg) from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` once everything is written."""
    if is_device(path):
        with writing(path), path.open("wb") as handle:
            yield handle
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with writing(path):
            with part.open("x+b") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file, creating its directory if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as handle:
        handle.write(content.encode() if isinstance(content, str) else content)


def reserve(path: Path) -> None:
    """Allocate the space of a sparse file, so that a full disk raises now.

    Later, when writing through a memory map, it would kill the process.
    """
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def check_writable(path: str | os.PathLike) -> None:
    """Raise now if a file could not be written to ``path`` later."""
    check_path(path)
    given, path = os.fspath(path), Path(path)
    if given.endswith(os.sep) or path.is_dir():
        msg = f"{given} is a directory; the output must be a file."
        raise IsADirectoryError(msg)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        msg = f"{path} cannot be written: directory {path.parent} does not exist."
        raise FileNotFoundError(msg)
    for place in [path] if is_device(path) else [folder, path]:
        if place.exists() and not os.access(place, os.W_OK):
            msg = f"{path} cannot be written: no permission to write to {place}."
            raise PermissionError(msg)


def refuse_input(path: Path, source: str | os.PathLike | None) -> None:
    """Raise if an output would replace the input or become part of it."""
    if source is None or not Path(source).exists():
        return
    if path.exists() and path.samefile(source) and not is_device(path):
        msg = f"{path} is the input. Choose another output file."
        raise ValueError(msg)
    if Path(source).is_dir() and Path(source).resolve() in path.resolve().parents:
        msg = f"{path} is inside the input {source}. Choose an output file elsewhere."
        raise ValueError(msg)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path`` that replaces it once all is written.

    For directories, and for files written by several processes. An existing file at
    ``path`` is left alone until then; an existing directory is never replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        msg = f"directory {path} already exists. Delete it or choose another name."
        raise FileExistsError(msg)
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with writing(path):
            yield part
            part.replace(target)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)
