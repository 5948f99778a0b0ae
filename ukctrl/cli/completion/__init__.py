"""What may come next on the command line, and how shells ask for it.

A Tab starts the command anew, so that nothing here imports what takes long. In order:

1. ``candidates``: names of scenarios, robots and cards, and files.
2. ``complete``: from a line that is being typed to what may come next.
3. ``shells``: the scripts for bash, zsh and fish, and where they go.
"""
