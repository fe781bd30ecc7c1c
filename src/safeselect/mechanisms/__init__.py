"""The mechanisms: each a function or a class, with what it costs and what it releases."""
