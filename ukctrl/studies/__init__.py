"""What do many runs tell that one does not?

In order:

1. ``journal``: what survives a kill, of a sweep or a search; ``study_report``: what is shown.
2. ``batch``: many runs at a time, in processes of this machine or in somebody else's executor.
3. ``sweep``: one scenario with some of its values varied, as a study in a folder.
4. ``tuning``: the gains of a controller, searched for by simulation.
5. ``comparison``: several controllers on one scenario.
6. ``sweep_analysis``: what a study tells, and its page.
"""
