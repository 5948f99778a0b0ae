"""What a study shows: how often it fails and why, how good it is, and which factors matter.

Statistics are of the study's table alone, and simulate nothing again.
"""
