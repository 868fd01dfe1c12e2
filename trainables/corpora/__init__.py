"""Text in: NLI pairs, documents, task data; the built-in scenes corpus; fetching what is published."""
