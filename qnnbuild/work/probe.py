"""Small work for `qnnbuild doctor`: does this machine do what every build asks of it?"""

from __future__ import annotations

from pathlib import Path

from qnnbuild.work.ort_session import Wanted, create
from qnnbuild.work.run import Run

ADDR_NO_RANDOMIZE = 0x0040000  # <sys/personality.h>
SM8750 = "69"


def addresses(run: Run) -> None:
    """Say whether this process was started without address randomisation."""
    personality = int(Path("/proc/self/personality").read_text(encoding="ascii"), 16)
    fixed = personality & ADDR_NO_RANDOMIZE
    (run.outputs["said"] / "text").write_text("fixed" if fixed else "addresses are random")


def compiles(run: Run) -> None:
    """Say how large a context binary of one addition is, or why there is none."""
    import onnx

    graph = onnx.parser.parse_graph("probe (float[1, 8] x) => (float[1, 8] y) { y = Add (x, x) }")
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9
    )
    folder = run.outputs["said"]
    onnx.save(model, folder / "probe.onnx")
    entries = {
        "ep.context_enable": "1",
        "ep.context_file_path": "probe_ctx.onnx",
        "session.disable_cpu_ep_fallback": "1",
    }
    options = {"backend_type": "htp", "soc_model": SM8750}
    wanted = Wanted(folder=folder, model="probe.onnx", options=options, entries=entries)
    outcome = create(wanted, Path("probe.log"))
    made = list(folder.glob("*.bin"))
    if outcome.created and made:
        said = f"made a binary of {made[0].stat().st_size:,} bytes"
    else:
        said = outcome.error or outcome.crash or "no error and no binary"
    (folder / "text").write_text(said.strip(), encoding="utf-8")
