"""What leaks, and what an index costs: on the lab's data or the user's.

The packages; neither imports the other:

``leakage``  what a random draw does to a number, beside a grouped one
``index``    the error of an approximate index, apart from that of the representation
"""
