"""The report's pictures, a file for each kind."""
