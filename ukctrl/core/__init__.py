"""What does everything stand on? Errors, files and units, formulas, compiled linear algebra.

In order: ``errors``, ``arrays`` (types of arrays), ``number_text`` (numbers for people),
``message_text`` (what messages quote), ``arguments`` and
``argument_errors`` (of another type, or with labels),
``python_function`` (in place of a part), ``subprocess_safety`` (their modules, their memory),
``suppressed_warnings`` (without warnings), ``version``, ``lazy_names`` (on first use);
``tie_breaking`` (the first among equals), ``kind_registry`` (of a part, a file each),
``entry_points`` (of parts elsewhere), ``verdict``;
``notebook_repr`` (in a notebook); ``caches`` (what was worked out last); ``files`` (TOML, the
catalogue, plug-ins) and ``statistics``;
``cache_folder`` (what is stored between processes), ``jit`` and ``compiled`` (how functions are
compiled); ``program`` (kernels that run one after the other); ``expression`` (formulas in text);
``field_checks`` and ``fields`` (what a file may say, with units and bounds); ``algebra`` (small
dense linear algebra, compiled).
"""
