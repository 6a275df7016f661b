"""How much memory is left: of the machine, of containers, and as reported by psutil."""

import sys
from types import SimpleNamespace

import pytest

from ensclust._support import memory

MEMINFO = "MemTotal: 16 kB\nMemAvailable: 8 kB\nSwapFree: 2 kB\nHugePages: 0\n"
FREE = 10240
V1 = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
V2 = "memory.max", "memory.current", "inactive_file"
NO_LIMIT = str(2**63 - 4096)  # as version 1 has it


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a function that sets up the groups of a process: limits by folder."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    (proc / "meminfo").write_text(MEMINFO)
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_GROUPS", groups)

    def build(names, version, **limits):
        if names is not None:
            (proc / "self" / "cgroup").write_text(names)
        for folder, limit in limits.items():
            group = groups / folder.replace("__", "/").strip("/")
            group.mkdir(parents=True, exist_ok=True)
            limit_file, use_file, cached_key = version
            (group / limit_file).write_text(f"{limit}\n")
            (group / use_file).write_text("3000\n")
            (group / "memory.stat").write_text(f"anon 2000\n{cached_key} 1000\n")
        return memory.available()

    return build


@pytest.mark.parametrize(
    ("names", "version", "limits", "expected"),
    [
        ("0::/\n", V2, {}, FREE),
        ("0::/\n", V2, {"__": "max"}, FREE),
        ("0::/\n", V2, {"__": "5000"}, 3000),
        (None, V2, {"__": "5000"}, 3000),
        ("0::/a/b\n", V2, {"a": "max", "a__b": "6000"}, 4000),
        ("0::/a/b\n", V2, {"a": "5000", "a__b": "max"}, 3000),
        ("0::/a/b\n", V2, {"a": "5000", "a__b": "4000"}, 2000),
        ("0::/a\n", V2, {"a": "max", "other": "4000"}, FREE),
        ("0::/not/here\n", V2, {"__": "5000"}, 3000),  # a name from outside
        ("0::/a\n", V2, {"a": "strange"}, FREE),
        ("4:memory:/\n", V1, {"memory": "5000"}, 3000),
        ("4:memory:/\n", V1, {"memory": NO_LIMIT}, FREE),
        ("4:cpu,memory:/a/b\n1:cpu:/c\n", V1, {"memory__a": "5000"}, 3000),
        ("4:memory:/a/b\n0::/\n", V1, {"memory__a__b": "4000"}, 2000),
        ("4:memory:/docker/x\n", V1, {"memory": "5000"}, 3000),
        ("4:cpu:/a\n", V1, {"memory__a": "4000"}, FREE),
    ],
)
def test_memory_is_what_the_machine_and_all_containers_leave(
    machine, names, version, limits, expected
):
    assert machine(names, version, **limits) == expected


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Be on a system without /proc."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "nothing")


def test_elsewhere_psutil_tells(elsewhere, monkeypatch):
    psutil = SimpleNamespace(
        virtual_memory=lambda: SimpleNamespace(available=700),
        swap_memory=lambda: SimpleNamespace(free=50),
    )
    monkeypatch.setitem(sys.modules, "psutil", psutil)
    assert memory.available() == 750


def test_nothing_is_refused_where_nobody_tells(elsewhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory.available() is None
    memory.require(2.0**80, "a lot", "Nothing.")
