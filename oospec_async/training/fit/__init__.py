"""Training rows to an adapter: packed requests, their loss, the optimiser's steps and what is on disk."""
