"""Training: the loop, the team of workers, optimiser and schedule, checkpoints."""
