"""Guarantees, the theorems between them, and their written form."""
