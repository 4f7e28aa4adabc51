"""Why a download failed, where a user can mend it: read off the words of whichever library failed."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM)  # of a path; firewalls say so too
_ERRNO = re.compile(r"(?:\[Errno |\(os error )(\d+)[\])](?:[^'\n]{0,80}'(/[^'\n]+)')?")


def words_of(error: BaseException) -> str:
    """What an exception says, and those that it came from."""
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or at.__context__
    return "\n".join(map(str, chain))


def known_trouble(words: str, folder: Path, elsewhere: str, trusted: str) -> str | None:
    """Half a sentence with the reason, the path and what to do; None for other troubles.

    ``folder``: where the files were to lie. ``elsewhere``, ``trusted``: the variables that name another such folder,
    and a file of certificates.
    """
    for number, path in _ERRNO.findall(words):
        if int(number) in _FULL or (int(number) in _CLOSED and path) or int(number) == errno.EROFS:
            first = "make room there" if int(number) in _FULL else "make it writable"
            return f"{path or folder}: {os.strerror(int(number))}; {first}, or name another folder with {elsewhere}"
    if "CERTIFICATE_VERIFY_FAILED" in words:
        why = re.search(r"certificate verify failed: ([^(\n]+)", words)
        return (
            f"its certificate is refused ({why[1].strip() if why else 'not trusted'}); "
            f"name the certificates to trust, such as your proxy's, with {trusted}"
        )
    return None
