"""Searches replayed on simulated time over trials that were recorded: `python -m study.replay RECORD`."""
