"""Compare: which of several runs is better, and on which queries."""
