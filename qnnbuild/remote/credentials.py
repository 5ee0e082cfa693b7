"""Who we are to a server: a token out of the environment, or netrc. Never shown, never kept."""

from __future__ import annotations

import base64
import netrc
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from qnnbuild.model.remote_cache import TOKEN
from qnnbuild.remote.cache import Trouble


def authorization(url: str, environment: Mapping[str, str]) -> str | None:
    """The value of an Authorization header for the server of `url`; None when it knows nobody."""
    token = environment.get(TOKEN, "").strip()
    if token:
        if not token.isprintable() or not token.isascii():
            raise Trouble(f"{TOKEN} holds letters that no header may have")
        return f"Bearer {token}"
    known = _netrc(urlsplit(url).hostname or "", environment)
    if known is None:
        return None
    return "Basic " + base64.b64encode(":".join(known).encode()).decode()


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
