"""Index: index error apart from representation error."""
