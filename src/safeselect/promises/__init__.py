"""Guarantees (`guarantees`), and their written form with all that a release says of itself
(`records`)."""
