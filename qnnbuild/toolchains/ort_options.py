"""Every option of the QNN plugin, as data: what it takes, what it changes, how a recipe says it.

The data is ort_options.yaml, read when the first option is asked for; what of it differs from the
plugin's documentation was measured. The plugin itself takes unknown names without a word and bad
values with at most a warning. Nothing of the data is in a key: only the options that a recipe sets
are, and of these only what changes bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import resources

FILE = "ort_options.yaml"
SET_BY = "options.ort"


class Kind(Enum):
    """Where the runtime takes an option."""

    PROVIDER = "provider"
    SESSION = "session"
    RUN = "run"
    DYNAMIC = "dynamic"


class Scope(Enum):
    """What an option changes."""

    BYTES = "bytes"  # the binary or its ctx.onnx
    RUN_TIME = "run time"  # only how a device runs them
    DUMP = "dump"  # a file beside them
    BUILD = "build"  # nothing that a recipe could want: every build sets it, or has no use for it


@dataclass(frozen=True, kw_only=True)
class Partner:
    """Another option that this one needs, or does harm beside."""

    name: str
    values: tuple[str, ...]  # of the other
    when: tuple[str, ...] = ()  # of this one; none: any but its default
    why: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class Since:
    """The first versions with something; None: nobody tells."""

    plugin: str | None = None  # onnxruntime-qnn
    qairt: str | None = None  # the libraries that it brings
    qnn_api: str | None = None  # theirs

    @property
    def said(self) -> Iterator[tuple[str, str]]:
        """Field and version, for each that is told."""
        for name in ("plugin", "qairt", "qnn_api"):
            if (version := getattr(self, name)) is not None:
                yield name, version


@dataclass(frozen=True, kw_only=True)
class Tested:
    """`how` is "host" (the real library on the machine that builds) or "device"."""

    how: str
    where: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Option:
    """`form` is "switch" (0 or 1), "number", "choice" (one of `values`), "text" or "path"."""

    name: str
    kind: Kind
    form: str
    default: str
    scope: Scope
    about: str
    tested: Tested
    standing: str | None = None  # the default where what it needs is missing
    values: tuple[str, ...] = ()
    low: int = 0
    high: int | None = None  # None: no limit of its own
    chip_limit: str | None = None  # the chip's figure that it may not exceed: "vtcm_mb"
    min_arch: int | None = None
    min_soc_model: int | None = None
    at_run: bool = False  # of scope bytes, and the app says it again
    recipe: str = ""  # the key of a recipe
    said_by: str | None = None  # None: options.ort sets it
    needs: tuple[Partner, ...] = ()
    excludes: tuple[Partner, ...] = ()
    since: Since = field(default_factory=Since)
    values_since: Mapping[str, Since] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()  # none: everywhere
    backends: tuple[str, ...] = ()  # none: all
    documented: bool = True
    read_as: str = ""  # what the library reads
    wrong: tuple[str, ...] = ()  # what the documentation tells otherwise
    seen: str = ""

    @property
    def settable(self) -> bool:
        """Whether options.ort sets it."""
        return self.said_by is None


@dataclass(frozen=True, kw_only=True)
class Release:
    """One version of the plugin, and what came with it."""

    plugin: str
    qairt: str
    ort: str
    qnn_api: str | None = None


@dataclass(frozen=True, kw_only=True)
class OptionData:
    options: tuple[Option, ...]
    releases: tuple[Release, ...]
    hosts_of: Mapping[str, tuple[str, ...]]
    """A chip's tag → the systems that run on such chips."""


@cache
def option_data() -> OptionData:
    """All of the packaged file, read once in a process."""
    from qnnbuild.toolchains.ort_option_rows import read_option_data  # YAML is not always needed

    return read_option_data(resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8"))


class Options(Mapping[str, Option]):
    """The options by name, read when the first is asked for."""

    def __getitem__(self, name: str) -> Option:
        return self._rows()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    @staticmethod
    @cache
    def _rows() -> Mapping[str, Option]:
        return {option.name: option for option in option_data().options}


BY_NAME = Options()


def of_kind(kind: Kind) -> tuple[Option, ...]:
    return tuple(option for option in BY_NAME.values() if option.kind is kind)


def settable() -> tuple[Option, ...]:
    """Those of options.ort."""
    return tuple(option for option in BY_NAME.values() if option.settable)
