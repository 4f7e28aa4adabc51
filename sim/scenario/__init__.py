"""What is asked: a method under one placement and one load."""
