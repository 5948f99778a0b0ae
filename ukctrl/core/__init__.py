"""What does everything stand on? Errors, files and units, formulas, compiled linear algebra.

The parts, each on those before it:
``errors``, ``arrays`` (types of arrays), ``number_text`` (numbers for people);
``files`` (TOML, the catalogue, plug-ins), ``by_name`` and ``statistics``;
``expression`` (formulas in text);
``field_checks``, ``spec`` and ``fields`` (what a file may say, with units and bounds);
``algebra`` (small dense linear algebra, compiled).
"""
