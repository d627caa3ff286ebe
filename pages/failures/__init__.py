"""Failures: the queries that miss, and why."""
