"""What does a run leave behind?

In order:

1. ``quantities``: what is recorded, with names and units. ``sample_store``:
   where they are kept, short or long. ``samples``: the arrays over time.
2. ``measures``: norms of errors, balances, reactions. ``metrics``: named numbers of a run.
3. ``record``: all of it, with the status. ``verdicts``: judged in words.
4. ``plain_files``: tables as text, files written whole. ``columns``: as CSV. ``hdf5_files``: to
   any disk. ``foreign_hdf5``: from anybody. ``run_id``: whose a file is. ``storage``: the files
   of a run.
5. ``result``: the record, its verdicts and its files.
"""
