"""Where weights are kept on this machine, also for a user without a home."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path

import platformdirs

from oospec_async.errors import OospecError


def cache_dir() -> Path:
    """`$OOSPEC_CACHE`, else the user's cache: on Linux `$XDG_CACHE_HOME/oospec`, else `~/.cache/oospec`.

    A user without a home, as in a container, gets one among the temporary files, and is told so. Raises OospecError.
    """
    own = os.environ.get("OOSPEC_CACHE")
    try:
        return Path(own).expanduser() if own else platformdirs.user_cache_path("oospec")
    except RuntimeError:
        return _temporary()


def hub_cache() -> Path:
    """The hub's own; for a user without a home, where it would be a folder named ``~``, one within ours."""
    from huggingface_hub import constants

    return cache_dir() / "hub" if constants.HF_HUB_CACHE.startswith("~") else Path(constants.HF_HUB_CACHE)


@functools.cache
def _temporary() -> Path:
    folder = Path(tempfile.gettempdir()) / f"oospec-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():  # weights of others are not to be trusted
        raise OospecError(f"{folder}: belongs to another user; name a folder for the cache with OOSPEC_CACHE")
    print(f"this user has no home: weights are kept in {folder} (OOSPEC_CACHE names another folder)", file=sys.stderr)
    return folder
