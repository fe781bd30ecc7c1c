"""Guarantees (`guarantees`), their written form (`records`), and what a release says of itself and
of the code that made it (`statement`)."""
