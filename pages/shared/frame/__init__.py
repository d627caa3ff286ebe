"""The frame of every page: navigation, the sidebar's settings, the visitor's own data."""
