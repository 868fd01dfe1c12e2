"""A person's own training files: what their columns mean, what they hold, and what of them is put aside."""
