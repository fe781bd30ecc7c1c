"""Evidence: the exact laws of the code that ships, walked bit by bit.

`exact_pmf` proves bounds for the law of any sampler by walking the tree of its random bits.  For a
larger program it walks the tree of the choices that the program makes with proved samplers.
"""
