"""Plain `doit` builds every recipe of this repo; `doit list` says what there is.

pyproject.toml names qnnbuild's loader for doit. Tasks of your own may stand here, too, as functions
called `task_NAME`, and may need ours by their names: `"task_dep": ["bundle/silero-vad@SM8750"]`.
"""

from qnnbuild.bridge.dodo import run

run(globals())  # brings the loader where no pyproject.toml or doit.cfg names it
