"""A recipe as resolved for one variant and chip: placeholders filled, defaults in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import Span

Scalar = str | int | float | bool

DUMPS, ARCHIVES, ON_DEVICE = "dumps", "archives", "on-device"
"""The folders below build/ that are no model's."""


@dataclass(frozen=True, kw_only=True)
class License:
    spdx: str
    redistribute: bool = True  # False: built, marked, and left out of index.json's published list
    file: str | None = None  # the text, a file of the repo
    member: str | None = None  # the text, a member of the source's package


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """An ONNX file of the repo; its side files come along."""

    file: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class UrlSource:
    url: str
    sha256: str  # of the ONNX itself, also when it is a member of an archive
    member: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class PypiSource:
    pypi: str  # name==version
    member: str
    sha256: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class HubSource:
    hub: str  # org/name
    revision: str  # 40 hex digits
    member: str
    sha256: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class ExportSource:
    """The user's own command; what it makes is an ONNX file (and side files) of its folder."""

    run: tuple[str, ...]
    needs: tuple[str, ...]  # files of the repo, patterns allowed
    makes: str  # the ONNX file of this graph, relative to `folder`
    folder: str = ""  # where the command runs, relative to the repo's root: the recipe's folder
    requirements: str | None = None  # pinned; installed into an environment of its own
    also: tuple[str, ...] = ()  # more files that it makes, patterns, relative to `folder`
    span: Span | None = field(default=None, compare=False)


Source = FileSource | UrlSource | PypiSource | HubSource | ExportSource


@dataclass(frozen=True, kw_only=True)
class InputSpec:
    """One input at the graph's border. What is None stays as the ONNX file has it."""

    shape: tuple[int, ...] | None = None
    dtype: str | None = None  # numpy's name: float32, int32, …
    layout: str | None = None  # NCHW, NTF, …: told to converters, never guessed
    range: tuple[float, float] | None = None  # for random samples; integers include both ends


@dataclass(frozen=True, kw_only=True)
class OutputSpec:
    dtype: str | None = None


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """Whole numbers in place of floats. Bits are of weights and activations; None: stays float."""

    weights: int | None = 8  # 4, 8, 16
    activations: int | None = 8  # 8, 16; None: weights only
    bias: int = 32
    per_channel: bool = True  # costs nothing measurable and gains 4 to 20 dB: docs/precisions.md
    symmetric_weights: bool = True
    symmetric_activations: bool = False
    method: str = "minmax"  # entropy, percentile, moving_average
    percentile: float | None = None
    sixteen_bit_operators: tuple[str, ...] = ()  # operators whose activations get 16 bit
    sixteen_bit_nodes: tuple[str, ...] = ()  # patterns of node names, the same
    float_operators: tuple[str, ...] = ()  # operators that stay as they are
    float_nodes: tuple[str, ...] = ()
    overrides: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    """Tensor → what onnxruntime's get_qnn_qdq_config takes as init_overrides."""
    encodings: str | None = None  # an AIMET file of the repo, form 0.6.1 or 1.0.0


@dataclass(frozen=True, kw_only=True)
class RawInput:
    """What a raw file holds, since it does not say."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Images:
    """How images become one input: resized, cropped, scaled, in the layout that the graph takes."""

    input: str
    resize: tuple[int, int] | None = None  # height, width
    crop: tuple[int, int] | None = None  # height, width, from the middle
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)  # in the scale of `scale`
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    scale: float = 255.0  # pixels are divided by it first
    layout: str = "NCHW"  # or NHWC
    colour: str = "RGB"  # or BGR, L


@dataclass(frozen=True, kw_only=True)
class PythonFeeds:
    """A file of the user's with a function that yields feeds: dicts of input name → array."""

    file: str
    function: str = "feeds"
    needs: tuple[str, ...] = ()
    requirements: str | None = None


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Where inputs for calibration or for verifying come from. All None and empty: random ones."""

    files: tuple[str, ...] = ()  # npz, npy, raw, images or an input_list; patterns, in this order
    exported: tuple[str, ...] = ()  # the same among what the export makes beside the ONNX file
    raw: Mapping[str, RawInput] = field(default_factory=dict)
    images: Images | None = None
    python: PythonFeeds | None = None
    random: int | None = None  # so many random ones, told as synthetic
    at_least: int = 1
    at_most: int | None = None
    may_be_constant: tuple[str, ...] = ()  # inputs that are allowed to never change, or be zero


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measure of the user's own: a file with a function of (outputs, references, inputs)."""

    name: str
    file: str
    function: str = "metric"
    needs: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What the shipped binary must reach, over all samples; None: no such bar."""

    min_sqnr_db: float | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    min_cosine: float | None = None
    min_top1: float | None = None  # share of samples, 0 to 1
    top_k: int | None = None
    min_top_k: float | None = None


@dataclass(frozen=True, kw_only=True)
class OutputBars:
    """All that one output must reach, in place of the graph's bars; or why it is not judged."""

    bars: Bars = field(default_factory=Bars)
    excused: str | None = None  # the reason


@dataclass(frozen=True, kw_only=True)
class Verify:
    """How the binary is run before it ships. `chips`: generations, all, none, or selectors."""

    samples: Samples = field(default_factory=Samples)
    reference: tuple[str, ...] = ()  # recorded outputs of the original framework, .npz, patterns
    chips: tuple[str, ...] = ("generations",)
    bars: Bars = field(default_factory=Bars)  # of every output that `outputs` does not name
    on_device: bool = field(default=False, compare=False)  # a folder that runs it on a phone
    by_precision: bool = field(default=False, compare=False)  # the recipe gives no bars
    outputs: Mapping[str, OutputBars] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExpectedFailure:
    """A target that is known not to work: no bundle; an error once it works."""

    reason: str
    issue: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wrapped:
    """`precision: compiled`: the source is a context binary, the graph one of those in it."""

    graph: str | None = None  # its name in the binary; None: the graph's own
    float_io: bool = False  # quantized inputs and outputs become floats at the border
    original: Source | None = None  # the ONNX file that it was compiled from


@dataclass(frozen=True, kw_only=True)
class Genie:
    """`precision: genie`: the source is a DLC that Genie runs, on its device alone."""

    override: str | None = None  # the backend's JSON, which Genie finds beside the DLC


@dataclass(frozen=True, kw_only=True)
class Lora:
    """Binary sections that change a compiled graph when it runs, one at a time."""

    adapters: Mapping[str, str]  # name → file of the repo
    default: str | None = None  # None: as it was compiled


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How an app runs a graph. None: as the plugin does by itself."""

    perf_mode: str | None = None
    rpc_control_latency: int | None = None  # microseconds
    workload_type: str | None = None  # Default or Efficient
    kvcache_rewind: int | None = None  # Genie: 0 forgets, 1 goes on


@dataclass(frozen=True, kw_only=True)
class MeasuredBy:
    """A package for QNN's CPU backend on this host, where an SDK measures the ranges of a graph."""

    interface: str
    library: str | None = None
    xml: str | None = None
    sources: tuple[str, ...] = ()  # in the place of `library`, with `xml`


@dataclass(frozen=True, kw_only=True)
class OpPackage:
    """An operator of the user's own, and the files that know it. All are files of the repo."""

    op: str  # the operator's type in the ONNX file; its domain is whatever the file says
    interface: str  # the function of each library that tells what is in it
    library: str | None = None  # for x86-64 Linux, where it is compiled; None: `sources` are built
    on_device: Mapping[str, str] = field(default_factory=dict)  # CPU or HTP → library
    xml: str | None = None  # the definition: names, inputs, outputs, types
    sources: tuple[str, ...] = ()  # patterns allowed
    converter: str | None = None  # what tells an SDK's converter shapes: a library, or its source
    measured_by: MeasuredBy | None = None
    built_with: str | None = None  # the SDK that builds `sources`; None: the graph's own toolchain


@dataclass(frozen=True, kw_only=True)
class Graph:
    """One ONNX network of a model, as one target wants it."""

    name: str
    source: Source
    in_binary: str = ""  # its name in a binary that variants share; empty: `name`
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)
    outputs: Mapping[str, OutputSpec] = field(default_factory=dict)  # empty: all, as they are
    constants: Mapping[str, float | int | bool | tuple[float | int | bool, ...]] = field(
        default_factory=dict
    )  # inputs that become constants
    cast: Mapping[str, str] = field(default_factory=dict)  # dtype → dtype inside: float64: float32
    repairs: tuple[str, ...] = ()  # names of general rewrites: work/repairs
    simplify: bool = True
    max_fold_bytes: int = 64 << 20  # growth by constant folding beyond this is told
    precision: str = "fp16"  # the word that stands in names: w8a16, auto, w8a8-3f2a91
    quantization: Quantization | None = (
        None  # None for float and qdq; with auto what all tries share
    )
    auto_from: tuple[str, ...] = ()  # precision: auto: the words to try, cheapest first
    wrapped: Wrapped | None = None
    genie: Genie | None = None
    calibration: Samples | None = None
    verify: Verify = field(default_factory=Verify)
    expect_failure: ExpectedFailure | None = None  # for this chip and variant
    cpu_fallback: str = "refuse"  # or "allow"
    samples: tuple[str, ...] = ()  # .npz files of the repo: inputs for comparing on the CPU
    options: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)  # by toolchain
    run: RunOptions = field(default_factory=RunOptions, compare=False)
    """Of no use to any action but the bundle: graphs that only differ here are one graph."""
    lora: Lora | None = field(default=None, compare=False)  # of no use to others, either
    dumps: tuple[str, ...] = ()  # op_trace, qnn_graph, input_graph, dlc, saver, schematic
    backend: str = "htp"  # or gpu; cpu, saver and ir are words of QNN's that run no app's model
    op_packages: tuple[OpPackage, ...] = ()
    deadline_s: float = 900.0
    axes_used: tuple[str, ...] = ()  # axes that change this graph
    source_axes: tuple[str, ...] = ()  # axes that change its source
    only_for: tuple[str, ...] = ()  # patterns under `only:` that were applied for this chip
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)
    """Where the user wrote what: "graph", "source", "inputs.x", "options.ort.vtcm_mb", …"""

    @property
    def on_npu_alone(self) -> bool:
        """Whether the CPU runs nothing: no node that is left, and nothing at its border."""
        return self.cpu_fallback != "allow" and not (self.wrapped and self.wrapped.float_io)


@dataclass(frozen=True, kw_only=True)
class ContextOptions:
    embed: bool = False  # the binary inside ctx.onnx
    node_name_prefix: str = ""  # of the EPContext nodes' names
    share_weights: tuple[str, ...] = ()
    """Of a chip's graphs, "graphs": those of one variant, "variants": the variants of one graph."""
    chip_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """One binary for many chips: names of groups → selectors. Empty: one binary a chip."""


@dataclass(frozen=True, kw_only=True)
class ArchiveName:
    """What a bundle is called as a single file, without its ending."""

    name: str  # filled, but for {chip} and {target}
    written: str = field(compare=False)  # with all placeholders


@dataclass(frozen=True, kw_only=True)
class BundleOptions:
    files: tuple[str, ...] = ()  # files of the repo that go along, patterns allowed
    exported: tuple[str, ...] = ()  # the same among what exports make beside the ONNX files
    info: Mapping[str, str] = field(default_factory=dict)  # of info.txt; {chip} still in it
    sdk_libraries: tuple[str, ...] = ()  # systems whose libraries of the SDK go along
    context_archive: ArchiveName | None = None
    library_archive: ArchiveName | None = None


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A system on chip. QNN's soc_model and the kernel's ids are two number spaces; never mixed."""

    name: str  # part number, Android's ro.soc.model
    marketing: tuple[str, ...]
    soc_model: int
    arch: int  # HTP generation: 68, 69, 73, 75, 79, 81, 85
    vtcm_mb: int
    hvx_threads: int | None
    fp16: bool
    bf16: bool = False
    kernel_ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()  # "phones", "auto", "iot", "xr", "pc", "wearable"
    reads_back_as: Mapping[str, Scalar] = field(default_factory=dict)
    """What a binary says of itself where the library differs from the row: {soc_type:, arch:}."""
    seen: str = ""  # where each fact is from, conflicts and how they were decided


@dataclass(frozen=True, kw_only=True)
class Target:
    """model × variant × chip × toolchain, as resolved."""

    model: str
    variant: str  # "" when the recipe has no variants, else the axes' values joined with "-"
    axes: Mapping[str, str]
    chip: Chip
    toolchain: str
    license: License
    graphs: tuple[Graph, ...]
    context: ContextOptions
    bundle: BundleOptions
    group: str = ""  # of chips that have one binary in common; "": the chip has its own
    description: str = ""
    homepage: str = ""
    recipe: str = ""  # the recipe's path
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)
