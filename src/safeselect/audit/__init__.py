"""An audit of one release, and what `safeselect verify` finds of the code on a machine."""
