"""Files that a user writes: how they are found, read, checked and changed.

In order: ``output_folders`` (what is written stays inside), ``file_stamps`` (whether files are what
they were), ``toml`` (text to table to typed object, errors in one line), ``table_paths``
(``controller.kappa`` in a table), ``plugins`` (Python code that a file names), ``zoo`` and
``robot_descriptions`` (models of packages); ``catalog`` (robots, controllers, scenarios by name).
"""

import os

AnyPath = str | os.PathLike[str]
"""What a function takes where it takes a path."""
