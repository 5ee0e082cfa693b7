"""Work that does what work must not do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from qnnbuild.work.run import Run, WorkError


def well(run: Run) -> None:
    (run.outputs["o"] / "value").write_text("well")


def hands_on(run: Run) -> None:
    """Its input as its output, once it has added to it what is wanted."""
    model = run.inputs["i"] / "model"
    with model.open("ab") as file:
        file.write(bytes(run.params["adds"]))
    model.rename(run.outputs["o"] / "model")


def says_what_is_wrong(run: Run) -> None:
    raise WorkError(
        "input 'x' has rank 3", place="inputs.x", facts=[("model", "rank 4")], hint="write four"
    )


def raises(run: Run) -> None:
    sys.stdout.write("about to fail\n")
    raise ZeroDivisionError("a mistake of ours")


def crashes(run: Run) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def forgets_its_output(run: Run) -> None:
    sys.stdout.write("all is well\n")


def hangs_with_a_child(run: Run) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(str(run.params["pids"])).write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)


def leaves_something_running(run: Run) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(600)"]
    left = subprocess.Popen(argv, start_new_session=True)
    Path(str(run.params["pids"])).write_text(str(left.pid))
    well(run)


def hangs_the_first_time(run: Run) -> None:
    if Path(str(run.params["pids"])).exists():
        well(run)
    else:
        hangs_with_a_child(run)


def makes_a_link(run: Run) -> None:
    (run.outputs["o"] / "value").symlink_to("/etc/hostname")


def shows_its_world(run: Run) -> None:
    said = [sorted(os.environ), sorted(p.name for p in Path().iterdir())]
    (run.outputs["o"] / "value").write_text(repr(said))


def warns(run: Run) -> None:
    run.warn("input 'x' is not used", place="inputs.x")
    (run.outputs["o"] / "value").write_text("fine")


def spoils_its_input(run: Run) -> None:
    path = run.inputs["i"] / "a.txt"
    path.write_text("spoiled")
    (run.outputs["o"] / "value").write_text(path.read_text())


def is_killed(run: Run) -> None:
    """As often as it is asked for, as the kernel does it; it counts itself in a file."""
    count = Path(str(run.params["count"]))
    with count.open("a") as file:
        file.write("x")
    if len(count.read_text()) <= int(run.params["times"]):
        os.kill(os.getpid(), signal.SIGKILL)
    well(run)


def makes_large_outputs(run: Run) -> None:
    """One byte again and again in each; with "bad" among them, a link in that one."""
    for name, output in run.outputs.items():
        (output / "large").write_bytes(name[:1].encode() * ((1 << 24) + 1))
        if name == "bad":
            (output / "link").symlink_to("/etc/hostname")


def removes_its_outputs(run: Run) -> None:
    for output in run.outputs.values():
        output.rmdir()
