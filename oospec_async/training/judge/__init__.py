"""What an adapter is worth: its guesses, scores by set, and the rounds that they save a target."""
