"""Contract tests for every entry of a registry. The project's own tests inherit them, and so can those of a plugin."""
