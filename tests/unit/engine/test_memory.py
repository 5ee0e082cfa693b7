from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.engine.memory import Memory, Meter, used_by

GB = 1_000_000_000
KB = 1024


class Kernel:
    """Its files, in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n")
        self.write("proc/vmstat", "pgfault 7\noom_kill 3\n")

    def write(self, path: str, text: object) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def group(self, line: str, mount: str) -> None:
        self.write("proc/self/cgroup", line)
        self.write("proc/self/mountinfo", mount)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


V1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:31 {} /cg rw - cgroup none rw,memory"
V2 = "35 31 0:31 {} /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"


def test_without_groups_it_is_the_machines(kernel: Kernel) -> None:
    kernel.write("proc/pressure/memory", "some avg10=4.00 total=1\nfull avg10=2.50 avg60=0.00")

    assert Meter(kernel.root).read() == Memory(
        total=16_000_000 * KB, available=9_000_000 * KB, stalled=2.5
    )


def test_a_group_of_version_2_limits_and_files_that_can_go_do_not_count(kernel: Kernel) -> None:
    kernel.group("0::/a/b", V2.format("/"))
    kernel.write("cg/a/b/memory.max", 4 * GB)
    kernel.write("cg/a/b/memory.current", 3 * GB)
    kernel.write("cg/a/b/memory.stat", f"anon 9\ninactive_file {GB}\nactive_file {GB // 2}")
    kernel.write("cg/a/b/memory.pressure", "full avg10=31.00 avg60=0.00")
    kernel.write("cg/a/b/memory.events", "oom 1\noom_kill 12")
    kernel.write("cg/a/memory.max", "max")
    kernel.write("cg/a/memory.current", 5 * GB)
    meter = Meter(kernel.root)

    assert meter.read() == Memory(
        total=4 * GB, available=int(2.5 * GB), limited_by="the control group cg/a/b", stalled=31.0
    )
    assert meter.kills() == 12


def test_a_group_around_can_be_the_narrower_one(kernel: Kernel) -> None:
    kernel.group("0::/a/b", V2.format("/"))
    for folder, limit in (("a/b", 4 * GB), ("a", 2 * GB)):
        kernel.write(f"cg/{folder}/memory.max", "max")
        kernel.write(f"cg/{folder}/memory.high", limit)
        kernel.write(f"cg/{folder}/memory.current", GB)

    assert Meter(kernel.root).read() == Memory(
        total=2 * GB, available=GB, limited_by="the control group cg/a"
    )


def test_a_group_of_version_1(kernel: Kernel) -> None:
    kernel.group("5:cpu:/x\n4:memory:/box/1\n0::/", V1.format("/box"))
    kernel.write("cg/1/memory.limit_in_bytes", 4 * GB)
    kernel.write("cg/1/memory.usage_in_bytes", 2 * GB)
    kernel.write("cg/1/memory.stat", f"inactive_file 5\ntotal_inactive_file {GB}")
    kernel.write("cg/1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5")
    kernel.write("cg/memory.limit_in_bytes", 9223372036854771712)
    meter = Meter(kernel.root)

    assert meter.read() == Memory(
        total=4 * GB, available=3 * GB, limited_by="the control group cg/1"
    )
    assert meter.kills() == 5


def test_in_a_container_what_is_mounted_is_the_group_whatever_its_path_says(
    kernel: Kernel,
) -> None:
    kernel.group("4:memory:/docker/abc", V1.format("/../other"))
    kernel.write("cg/memory.limit_in_bytes", GB)
    kernel.write("cg/memory.usage_in_bytes", GB // 4)

    assert Meter(kernel.root).read().available == GB - GB // 4


def test_more_used_than_allowed_is_nothing_left(kernel: Kernel) -> None:
    kernel.group("0::/", V2.format("/"))
    kernel.write("cg/memory.max", GB)
    kernel.write("cg/memory.current", 2 * GB)

    assert Meter(kernel.root).read().available == 0


def test_a_kernel_that_counts_no_group_counts_itself(kernel: Kernel) -> None:
    kernel.group("0::/", V2.format("/"))

    assert Meter(kernel.root).kills() == 3


def test_another_system_tells_nothing(tmp_path: Path) -> None:
    assert Meter(tmp_path).read() == Memory(total=0, available=0)
    assert Meter(tmp_path).kills() == 0


def test_a_process_counts_with_its_children(kernel: Kernel) -> None:
    kernel.write("proc/7/task/7/children", "8 9")
    kernel.write("proc/9/task/9/children", "")
    kernel.write("proc/9/task/11/children", "10")
    for pid in (7, 8, 10):
        kernel.write(f"proc/{pid}/status", "VmRSS: 999 kB\nRssAnon: 100 kB\nRssShmem: 1 kB")

    assert used_by(7, kernel.root) == 3 * 101 * KB
    assert used_by(5, kernel.root) == 0


def test_a_process_that_ends_while_it_is_looked_at_is_nothing(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's folder was there a moment ago."""

    def gone(folder: object) -> list[str]:
        raise FileNotFoundError(folder)

    monkeypatch.setattr(os, "listdir", gone)
    monkeypatch.setattr(os, "scandir", gone)

    assert used_by(5, kernel.root) == 0


def test_this_machine_tells() -> None:
    memory = Meter().read()

    assert 0 < memory.available <= memory.total
    assert used_by(os.getpid()) > 1_000_000
