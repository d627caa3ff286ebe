"""The explorer's pages, one file each; what they share is in ``shared``."""
