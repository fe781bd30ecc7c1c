"""Exact numbers: parameters as typed, and enclosures of irrational numbers, noise rates among them.

Read the files in this order: `parameters`, `interval`, `normal`.
"""
