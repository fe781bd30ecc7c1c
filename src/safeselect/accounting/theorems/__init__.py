"""Bounds for compositions from the literature, each computed with directed rounding."""
