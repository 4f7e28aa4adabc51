"""What every picture shares: colours, the look of a figure, web pages, and picture files."""
