"""The one exception that means "the user can mend this"."""

from __future__ import annotations


class OospecError(Exception):
    """Bad input or a refused configuration.

    The message is one line that names the file or field and says what to do. Command lines print it and exit with
    code 2; library users catch it.
    """
