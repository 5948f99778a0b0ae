"""What does a run leave behind?

In order:

1. ``quantities``: what is recorded, with names and units. ``sample_store``: where they are kept,
   short or long. ``samples``: the arrays over time.
2. ``sample_measures``: norms of errors, balances, reactions. ``metrics``: named numbers of a run.
   ``logged_channels``: the log of a real robot beside them.
3. ``run_record``: all of it, with the status. ``verdicts``: judged in words.
4. ``atomic_files``: tables as text, files written whole. ``column_files``: as CSV. ``hdf5_writer``:
   to any disk. ``untrusted_hdf5``: from anybody. ``run_id``: whose a file is. ``result_files``: the
   files of a run.
5. ``result``: the record, its verdicts and its files.
"""
