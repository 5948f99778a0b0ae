"""Iterative learning: trials of one task, each of which corrects the next.

In order: ``ilc_update`` (from the errors of a trial to the next correction), ``learning_result``
(what trials were worth), ``learn`` (the trials), ``learning_page`` (files, page and card of a
notebook), ``command`` (the work of ``ukctrl learn``).
"""
