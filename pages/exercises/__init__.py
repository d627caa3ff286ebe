"""Exercises: the lab's tasks, checked at once."""
