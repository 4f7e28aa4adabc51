"""How a sidecar's adapter is made: requests, a teacher's calls, rows, training, evaluation; file to file each."""
