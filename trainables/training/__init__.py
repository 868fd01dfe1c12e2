"""Training: the loop, the workers of a trial, optimiser and schedule, checkpoints."""
