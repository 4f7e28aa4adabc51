"""Studies: a grid of scenarios over one trace, with assertions, in a TOML file."""
