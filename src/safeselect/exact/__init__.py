"""Exact numbers: parameters as typed, enclosures of irrational numbers, and the noise rate.

Read the files in this order: `parameters`, `interval`, `rate`.
"""
