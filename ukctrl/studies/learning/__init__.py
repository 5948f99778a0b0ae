"""Iterative learning: trials of one task, each of which corrects the next.

In order: ``update`` (from the errors of a trial to the next correction), ``learn`` (the trials),
``practice`` (what they were worth, and its files).
"""
