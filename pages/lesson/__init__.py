"""Lesson: the lab, step by step."""
