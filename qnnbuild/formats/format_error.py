"""The one error of the readers."""

from __future__ import annotations


class FormatError(ValueError):
    """The bytes are not what they claim to be, or stop too early; the text tells a user which."""
