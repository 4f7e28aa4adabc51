"""Reports: one web page each, that needs nothing from a network and says of every figure what stands behind it."""
