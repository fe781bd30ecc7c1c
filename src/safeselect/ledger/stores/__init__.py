"""Where the lines of a ledger are kept: a file, under its lock, or the memory of a process."""
