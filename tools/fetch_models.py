"""Fetch models ahead of time: `python tools/fetch_models.py [MODEL ...]`; by default the default pair."""

import sys

from oospec_async.models.fetch import main

if __name__ == "__main__":
    sys.exit(main())
