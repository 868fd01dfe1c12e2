"""Giorgi et al. 2020, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations"."""
