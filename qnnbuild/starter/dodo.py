"""doit finds the builds of this repo here. Tasks of your own may stand here too."""

from qnnbuild.bridge.dodo import run

run(globals())
