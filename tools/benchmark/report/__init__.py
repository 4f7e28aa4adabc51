"""What a rows file says: figures, tables, a picture. Knows no model."""
