"""`python -m qnnbuild` is `qnnbuild`."""

import sys

from qnnbuild.cli import main

sys.exit(main())
