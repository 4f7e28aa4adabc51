"""What ``tools/record_gpu_timing.py`` measures: the target, the sidecar, and the host between them. One a file."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read where huggingface_hub is imported, which is later
