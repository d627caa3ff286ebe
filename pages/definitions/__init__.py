"""Definitions: one ranking under every convention."""
