"""What do many runs tell that one does not?

1. `batch`: many runs at a time, in processes of this machine or in somebody else's executor.
2. `sweep`: one scenario with some of its values varied, as a study in a folder.
3. `insight`: what a study tells, and its page.
4. `tuning`: the gains of a controller, searched for by simulation.
5. `comparison`: several controllers on one scenario; `journal_file` is what survives a kill.
"""
