"""fetch: the ONNX file of a source, its side files, and the licence text that ships with it."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action, Input, SourceFiles, SourceOnnx
from qnnbuild.digest import Json
from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.recipe import FileSource, HubSource, PypiSource, UrlSource
from qnnbuild.work.made_files import MADE

Fetched = FileSource | UrlSource | PypiSource | HubSource

MODEL = "model"
"""The output with model.onnx and its side files; or model.bin, or model.dlc."""

LICENSE = "license"
"""The output with LICENSE.txt; there when the licence is a member of the source's package."""

NETWORK = (
    *("HOME", "NETRC", "*_proxy", "*_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""How this machine reaches others. What comes is checked by digest, so none of it is in a key."""

PIP = (*NETWORK, "PATH", "PIP_*", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME")
"""Which index pip asks, and how it logs in there."""

HUB = (*NETWORK, "HF_*", "HUGGING_FACE_HUB_TOKEN", "XDG_CACHE_HOME")
"""Which hub is asked, and how one logs in there."""

FETCH_DEADLINE_S = 3600.0
"""A slow line needs that; a recipe's `deadline:` gives more."""


def fetch(
    source: Fetched,
    *,
    name: str,
    group: str = "",
    places: Mapping[str, Span] | None = None,
    license_member: str | None = None,
    deadline_s: float = 0.0,
    made: str | None = None,
) -> Action:
    """The action that brings `source` into the store.

    Equal sources give equal actions, so graphs and variants that share a file share the fetch.
    `made` is the precision of what was made elsewhere and is no ONNX file.
    """
    params = _params(source) | ({"file": MADE[made]} if made else {})
    outputs: tuple[str, ...] = (MODEL,)
    if license_member is not None:
        if params.get("member") is None:
            raise _no_package(source, (places or {}).get("license.member", source.span))
        params["license_member"] = license_member
        outputs = (MODEL, LICENSE)
    inputs: dict[str, Input] = {}
    if isinstance(source, FileSource):
        inputs["source"] = (
            SourceFiles(patterns=(source.file,)) if made else SourceOnnx(path=source.file)
        )
    kind, passes = _KINDS[type(source)]
    return Action(
        name=name,
        step="fetch",
        call=f"qnnbuild.work.fetch:{kind}",
        params=params,
        inputs=inputs,
        outputs=outputs,
        passes=passes,
        deadline_s=max(deadline_s, FETCH_DEADLINE_S),
        places=source_places(source.span, places),
        group=group,
        about=_about(source),
    )


def source_places(span: Span | None, places: Mapping[str, Span] | None) -> dict[str, Span]:
    """Only what the user said about the source and its licence."""
    said = {
        place: at
        for place, at in (places or {}).items()
        if place.partition(".")[0] in ("source", "license")
    }
    return {"source": span, **said} if span is not None else said


_KINDS: Mapping[type[Fetched], tuple[str, tuple[str, ...]]] = {
    FileSource: ("fetch_file", ()),
    UrlSource: ("fetch_url", NETWORK),
    PypiSource: ("fetch_pypi", PIP),
    HubSource: ("fetch_hub", HUB),
}


def _params(source: Fetched) -> dict[str, Json]:
    match source:
        case FileSource():
            return {}  # the file's content is an input; its name must not matter
        case UrlSource():
            return {"url": source.url, "member": source.member, "sha256": source.sha256}
        case PypiSource():
            return {"pypi": source.pypi, "member": source.member, "sha256": source.sha256}
        case HubSource():
            return {
                "hub": source.hub,
                "revision": source.revision,
                "member": source.member,
                "sha256": source.sha256,
            }


def _about(source: Fetched) -> str:
    match source:
        case FileSource():
            return f"take {source.file}"
        case UrlSource():
            return f"download {source.url}"
        case PypiSource():
            return f"download {source.pypi} and take {source.member}"
        case HubSource():
            return f"download {source.member} of {source.hub}"


def _no_package(source: Fetched, at: Span | None) -> RecipeError:
    what = "a file of the repo" if isinstance(source, FileSource) else "one file, not an archive"
    return RecipeError(
        f"the licence is to be a member of the source's package, but the source is {what}",
        at=at,
        hint="put the licence's text into the repo and name it with `file:`",
    )
