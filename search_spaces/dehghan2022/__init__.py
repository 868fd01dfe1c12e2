"""Dehghan and Amasyali 2022, "SupMPN: Supervised Multiple Positives and Negatives Contrastive Learning"."""
