"""Make a page of every notebook while the site is built, without its outputs: a hook of mkdocs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Return the files of the site, with a page beside each notebook."""
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        text = page(Path(file.abs_src_path))
        uri = file.src_uri.removesuffix(".ipynb") + ".md"
        files.append(File.generated(config, uri, content=text))
    return files


def page(path: Path) -> str:
    """Return a notebook as Markdown: its texts, and its cells as code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    fenced = (f"```python\n{text}\n```" if kind == "code" else text for text, kind in parts)
    return "\n\n".join(fenced) + "\n"
