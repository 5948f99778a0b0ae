"""What does the command line show, and how is it stopped?

In order: ``lines`` lays out texts, tables and verdicts for a terminal or a pipe; ``summaries`` says
what commands with little to say print, ``check_text``, ``analyze_text`` and
``studies_text`` what the others do; ``progress_bars`` shows how far work is; ``interrupt`` watches
for Ctrl-C.
"""
