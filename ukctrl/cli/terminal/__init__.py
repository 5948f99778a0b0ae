"""What does the command line show, and how is it stopped?

In order: `lines.py` lays out texts, tables and verdicts for a terminal or a pipe; a `..._text.py`
says what a command prints; `summaries.py` has those that are short; `progress_bars.py` shows how
far work is; `stop.py` watches for Ctrl-C.
"""
