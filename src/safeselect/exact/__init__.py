"""Exact numbers: parameters as typed, enclosures of what is irrational, and the rate of the noise.

The files in the order of reading: `parameters`, `interval`, `rate`.
"""
