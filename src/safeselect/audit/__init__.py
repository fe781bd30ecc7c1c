"""Evidence: the exact laws of the code that ships, walked bit by bit.

`exact_pmf` proves bounds for the law of any sampler by walking the tree of its random bits, and
for larger programs by walking the tree of choices that they make with samplers proved so.
"""
