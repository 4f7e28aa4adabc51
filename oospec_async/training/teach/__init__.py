"""A teacher and the calls that it makes, one line a request."""
