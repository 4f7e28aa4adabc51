"""The kernel's lock on an open file or folder: it goes with the process, however that ends, and leaves no file behind.

The package ``filelock`` was tried and not taken: it leaves a second file beside each that it guards, and it refuses
to guard the file itself where that is reached by a link.
"""

from __future__ import annotations

from typing import IO


def lock(file: IO[bytes] | IO[str] | int, *, wait: bool = False) -> bool:
    """Whether this process alone has the file now, until it is closed. Raises OSError where files cannot be locked."""
    import fcntl  # not on Windows, where everything else can be imported

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
