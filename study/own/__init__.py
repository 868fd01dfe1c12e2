"""A study of a person's own data, up to the space file that it runs."""
