"""JSON and JSON lines; every file is replaced whole or not at all."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ensclust._support.whole_files import write


def read_json(path: Path, default: Any = None) -> Any:
    """Return the content of a file, or ``default`` if it does not exist."""
    return json.loads(path.read_text()) if path.exists() else default


def write_json(path: Path, value: Any, **layout) -> None:
    """Write JSON; ``layout`` is passed to :func:`json.dumps`."""
    write(path, json.dumps(value, **layout) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, compressed if the name ends in .gz."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in text.splitlines()]


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write JSON lines; the same lines give the same bytes."""
    content = "".join(
        json.dumps(line, separators=(",", ":")) + "\n" for line in lines
    ).encode()
    write(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
