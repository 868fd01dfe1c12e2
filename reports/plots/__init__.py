"""The report's pictures: a file for each kind of picture, or for a few similar kinds."""
