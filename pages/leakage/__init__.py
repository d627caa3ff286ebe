"""Leakage: what a random draw does to the number."""
