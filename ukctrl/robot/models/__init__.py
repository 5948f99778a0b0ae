"""Where the model of rigid bodies comes from: files, several files, linkages.

In order: ``source`` (a checked text and its model); on it ``text`` (what the text says that the
model does not) and ``joined_models``; ``maximal`` (a linkage as free bodies) and ``particles``.
"""
