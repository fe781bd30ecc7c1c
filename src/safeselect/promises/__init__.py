"""The guarantees of a release (`guarantees`), and how they are written down (`records`)."""
