"""Training: the model, the loop with optimiser and schedule, the workers of a trial, checkpoints, populations."""
