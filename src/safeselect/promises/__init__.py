"""Guarantees (`guarantees`), their written form (`records`), what a release says of itself
(`statement`), and which code made it (`provenance`)."""
