"""The adaptive optimum, between two computed bounds (docs/mathematics.md, section 14)."""
