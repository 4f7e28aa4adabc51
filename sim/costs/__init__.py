"""What a trace says: which forwards were recorded, and how long any forward takes."""
