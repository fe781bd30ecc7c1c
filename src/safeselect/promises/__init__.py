"""What a release promises (`guarantees`), and how it is written down (`records`)."""
