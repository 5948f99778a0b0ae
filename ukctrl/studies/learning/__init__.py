"""Iterative learning: trials of one task, each of which corrects the next.

In order: ``update`` (from the errors of a trial to the next correction), ``practice`` (what trials
were worth), ``learn`` (the trials), ``practice_page`` (files, page and card of a notebook).
"""
