"""The release of qnnbuild that made a bundle, as the bundle tells it."""

VERSION = "0.1.0"
"""As in pyproject.toml: a module, so that it is part of the keys of what tells it."""
