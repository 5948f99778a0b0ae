"""From logs of a real robot to a model that one may believe, as a package beside ``ukctrl``.

It stands on all of ``ukctrl``, which has its command in ``cli/identify``.

In order: ``joint_log`` (what sensors said) and ``identified_dynamics`` (what becomes of it).

Logs, in order: ``log_settings`` (the table ``[log]``), ``log_header`` and ``log_columns`` (which
column is what), ``log_table``, ``text_table``, ``array_tables`` and ``bag_table`` (formats),
``read_log``; ``log_fault``, ``time_faults``, ``channel_faults``, ``position_faults``, ``rate_fit``,
``velocity_faults``, ``log_states``, ``effort_faults`` and ``log_faults`` (what is wrong with one).
"""
