"""The gain that is best on average over a fuzzy uncertainty, in closed form.

Not a rule base: the law is an ordinary one with a guarantee, and only what is *expected* of it is
taken over a fuzzy ``number`` that says how large the uncertainty may be; ``gain`` chooses by that.
"""
