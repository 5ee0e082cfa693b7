"""Who we are to a server: a token out of the environment, or netrc. Never shown, never kept."""

from __future__ import annotations

import base64
import netrc
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from qnnbuild.model.remote_cache import HEADER, TOKEN
from qnnbuild.remote.cache import Trouble

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def credentials(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The header that tells the server of `url` who we are; none when it knows nobody."""
    token = environment.get(TOKEN, "").strip()
    if token:
        if not token.isprintable() or not token.isascii():
            raise Trouble(f"{TOKEN} holds letters that no header may have")
        return _with(token, environment.get(HEADER, "").strip().lower())
    known = _netrc(urlsplit(url).hostname or "", environment)
    if known is None:
        return {}
    return {"authorization": "Basic " + base64.b64encode(":".join(known).encode()).decode()}


def _with(token: str, header: str) -> dict[str, str]:
    """Some servers have a header of their own for a key: BuildBuddy's is x-buildbuddy-api-key."""
    if header in ("", "authorization"):
        return {"authorization": f"Bearer {token}"}
    if not _NAME.fullmatch(header):
        raise Trouble(f"{HEADER} is no name of a header")
    return {header: token}


def _netrc(host: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    file = environment.get("NETRC") or Path("~/.netrc").expanduser()
    try:
        found = netrc.netrc(file).authenticators(host)
    except FileNotFoundError:
        return None
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
        # what the error says may be a line of the file
        raise Trouble("netrc cannot be read") from error
    if found is None or found[2] is None:
        return None
    return found[0] or "", found[2]
