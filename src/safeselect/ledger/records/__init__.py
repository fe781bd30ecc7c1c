"""What is in a ledger: records, their hashes and signatures, budgets, and their replay."""
