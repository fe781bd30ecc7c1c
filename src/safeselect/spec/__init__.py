"""The specification: every law as published, one value at a time, in Python integers.

Read beside the papers and `proofs/`: `samplers`, `rankings`, `sessions`.  No release imports it;
`safeselect.engine` must equal it, and tests compare the two.  Running time and the number of random
bits depend on the noise and on the scores.
"""
