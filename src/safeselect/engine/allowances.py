"""Every numerical allowance of the array engine, in one table; `tests/engine` adds it up.

Distances are whole numbers of units of 2**-32 nat, unless a line says otherwise.  Nothing here
decides what is released: a ranking is certified afterwards, with exact enclosures.  An allowance
that is too small makes a bound false, and a certificate with it; one too large costs time.

- ERROR covers LINE, for the straight line between two points of the fine table, and ROUNDINGS: 2
  for the points, 1 for the place between them, 2 for the unknown digits of V after the first 64.
- LOSS covers `draws.fixed_point` on 2 * REACH nats: 1 for the last shift, and a 2**-30th part of
  the distance for each of the two factors.  With weights it is at least twice that, and has room
  for LOG_ERROR.
- LOG_ERROR covers straight lines between points of the logarithm, 2**-23 nat for a weight and for
  the least one, and 4 units of roundings for each: see `draws.Weights`.
- WINDOW covers 1/32 nat for the width of a word, twice ERROR, and two units of a key; a weight's
  rounded logarithm takes a unit more, and a hundredth of one, and LOG_ERROR.
- FINE_WINDOW covers twice ERROR, and LOSS; with weights, LOSS for the reach of the largest, and
  LOG_ERROR.

The ordinary path is left with probability below 2**-40 a ranking: RARE_WINDOW and RARE_STEEP for
contenders by keys, or RARE_FINE and noise that the fine table lacks; 2**-42 for neighbours or gaps
that the slots do not tell apart; n * 2**-69 for tail words.
"""

from __future__ import annotations

UNIT_BITS = 32

LINE = 1 << UNIT_BITS - 15
ROUNDINGS = 16
ERROR = LINE + ROUNDINGS
"""How far tabulated noise may be off."""

REACH = 64
"""Nats: tabulated noise lies within -23 .. 23, so it cannot reorder scores farther apart."""

LOSS = 1 << 11
"""How much too small a distance of 2 * REACH nats may come out."""

LOG_ERROR = 2 * ((1 << UNIT_BITS - 23) + 4)
"""How much too large the logarithm of a weight may be."""

MOST_SPREAD = 2840
"""Nats: no logarithm of the ratio of two weights is larger."""

KEY_BITS = 9
"""A unit of a key is below 2**-9 nat, and not below 2**-10 nat."""

WINDOW = 2320
WEIGHTED_WINDOW = WINDOW + (1 << 16 - KEY_BITS)
FINE_WINDOW = 5
WEIGHTED_FINE_WINDOW = 6
"""Each in 2**-16 nat: how far above the j-th largest Y a contender may seem to lie."""

RARE_WINDOW = 42
RARE_STEEP = 42
RARE_FINE = 41
RARE_ROWS = 41
"""Binary digits of the chance that contenders, or rows to refine, are more than there is room."""
