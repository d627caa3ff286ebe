"""Overview: the number, its curves, and where it fails."""
