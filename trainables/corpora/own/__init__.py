"""A user's own training files: the roles of their columns, their content, and the rows that are held out."""
