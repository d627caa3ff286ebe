"""Query: one query, its ranked list, and what it missed."""
