"""The mechanisms: the laws as data, and the functions that people call."""
