"""Data of training and tasks: NLI pairs, documents, own files; the built-in scenes corpus; fetching published data."""
