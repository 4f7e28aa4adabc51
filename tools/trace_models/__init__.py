"""What ``tools/model_trace.py`` models: outputs, hints and times that no run has recorded. One part a file."""
