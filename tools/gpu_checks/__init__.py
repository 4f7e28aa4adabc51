"""The checks of ``tools/gpu_check.py``, one a file. Every model is made here of random weights; nothing is fetched."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read where huggingface_hub is imported, which is later
