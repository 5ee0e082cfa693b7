"""Which client an address gets; what is said where its package is not installed."""

from __future__ import annotations

import sys

import pytest

from qnnbuild.model.remote_cache import RemoteCache
from qnnbuild.remote.cache import Trouble
from qnnbuild.remote.http import HttpCache
from qnnbuild.remote.objects import ObjectCache
from qnnbuild.remote.opening import open_cache


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://cache.example.com", HttpCache),
        ("file:///shared", ObjectCache),
    ],
)
def test_each_address_has_its_client(url: str, kind: type) -> None:
    cache = open_cache(RemoteCache(url=url), {"NETRC": "/dev/null"})
    cache.close()

    assert type(cache) is kind


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(Trouble) as caught:
        open_cache(RemoteCache(url="s3://bucket"), {})

    assert str(caught.value).endswith("which s3:// needs: pip install 'qnnbuild[s3]'")
