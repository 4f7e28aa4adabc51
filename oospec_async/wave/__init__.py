"""The sidecar's wave: the questions, the joining of answers, and what is asked next. No torch here."""
