"""The pages, a folder each with a script of the same name; what they share is in ``shared``."""
