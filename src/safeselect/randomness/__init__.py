"""Random bits for a release: sources, the guard around each of them, and `Bits`.

The files in the order of reading: `guard`, `source`, `foreign`, `bits`.
"""
