"""The guarantees of a release (`guarantees`), and their form in records (`records`)."""
