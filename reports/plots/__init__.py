"""The report's pictures, a file for each kind, or for a few that are drawn alike."""
