"""What was foretold of real models against their compiles: `python -m tools.atlas.foretold`.

Prints a line for each graph of the current repo whose model is prepared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tools.atlas.compiling import Compiler
from tools.atlas.measure import ALONE, generations, soc_models
from tools.atlas.rates import OfModel, of_model
from tools.atlas.zoo import models_at_hand


def of_zoo() -> Iterator[OfModel]:
    """One that does not compile at all is told and left out."""
    compiler = Compiler()
    for name, path in models_at_hand():
        try:
            yield of_model(name, path, compiler, soc_models()[ALONE], generations()[ALONE])
        except ValueError as error:
            sys.stderr.write(f"{error}\n")


def data_of(one: OfModel) -> dict[str, object]:
    return {
        "what": one.name,
        "of": f"{one.nodes} nodes",
        "cpu": one.cpu.as_list(),
        "fusions": one.fusions.as_list(),
    }


if __name__ == "__main__":
    for found in of_zoo():
        sys.stdout.write(f"\n{json.dumps(data_of(found))}\n")
