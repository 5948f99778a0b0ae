"""What may come next on the command line, and how shells ask for it.

A Tab starts the command anew, so that nothing here imports what takes long. In order:

1. ``index``: what files may hold, from their schemas, kept in ``index.json``; ``keys``: the keys of
   a scenario, from that and from its file.
2. ``names``: names of scenarios, robots and cards, files, choices.
3. ``answer``: from a line that is being typed to what may come next.
4. ``shells``: the scripts for bash, zsh and fish, and where they go.
"""
