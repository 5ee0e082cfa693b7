"""`python -m qnnbuild` is `qnnbuild`."""

import os
import sys

# -m puts the current folder in front: a repo's yaml.py would be read in the place of YAML's.
# Of the standard library only what has been read by now may help here, for the same reason.
if sys.path[0] in ("", os.getcwd()) and not os.path.exists("qnnbuild/__main__.py"):  # noqa: PTH109, PTH110
    del sys.path[0]

from qnnbuild.start import main

sys.exit(main())
