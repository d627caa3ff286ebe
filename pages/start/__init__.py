"""Start: the ways in, and what is known of the chosen data."""
