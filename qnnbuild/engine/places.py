"""Where things lie in a checkout and in its store."""

BUILD = "build"
"""The folder of what users take."""

OF_CHECKOUT = ".qnnbuild"
"""The folder of what is the checkout's own; the store, too, unless it was moved."""

RECORDS = "records.db"
"""The records' database, below the store."""
