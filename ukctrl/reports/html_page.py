"""Self-contained HTML pages: templates, figures inline, no request to anywhere.

Titles and names come from files of strangers. Templates escape everything, and on top of that
each page's content security policy allows no script but its own, known by its hash.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ukctrl.core.files.output_folders import remove_file
from ukctrl.core.number_text import first_sentence
from ukctrl.core.version import installed_version
from ukctrl.reports.plot import figure_files
from ukctrl.reports.report_table import better_direction
from ukctrl.simulation.result.atomic_files import output_folder, write_atomically
from ukctrl.simulation.result.run_id import run_id_of_texts, with_run_id

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

    from ukctrl.reports.scene.page_data import PageData
    from ukctrl.reports.scene.scene import Scene

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("three/three.min.js", "scene.js", "player.js")
"""What a page with a moving scene runs, in this order; nothing else may run."""

_TOML = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r'|(?P<text>"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<table>^\s*\[\[?[^\]\n]+\]\]?[ \t]*$)"
    r"|(?P<key>^[ \t]*[\w.\-]+(?=[ \t]*=)|(?<=[{,])[ \t]*[\w.\-]+(?=[ \t]*=))"
    r"|(?P<number>(?<![\w.\-])[+-]?(?:\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?|inf|nan|true|false)\b)",
    re.MULTILINE | re.DOTALL,
)


class PageFigure(NamedTuple):
    """One figure, ready for a page and as a file beside it."""

    name: str
    title: str
    caption: str
    svg: str
    """An element whose texts are escaped: safe to stand in a page as it is."""
    files: Mapping[str, bytes]
    """The figure as files, by their endings."""

    @property
    def shape(self) -> str:
        """Width and height as CSS has them, so that a page knows its length before it draws."""
        match = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        return f"{match[1]} / {match[2]}" if match else "auto"


def page_figure(name: str, title: str, caption: str, draw: Callable[[], Figure]) -> PageFigure:
    """Draw a figure for the page and for the files that are asked for: a PNG, unless others are."""
    return PageFigure(name, title, caption, *figure_files.draw_formats(draw))


def write_page(
    subject: str,
    folder: Path,
    texts: Mapping[str, str],
    images: Sequence[PageFigure],
    names: Iterable[str] = (),
    run_id: str | None = None,
) -> Path:
    """Write the files of a page and those of its figures, each in one atomic step.

    Args:
        subject: What is written, such as ``the report``.
        folder: Where.
        texts: What the files hold, by their names; the last is the page.
        images: Its figures.
        names: Names of all figures that such a page may have; those of an earlier one are removed.
        run_id: Of what the page is about, which every file bears; absent: that of the texts.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    run_id = run_id_of_texts(texts.values()) if run_id is None else run_id
    contents = {
        f"{image.name}.{form}": content for image in images for form, content in image.files.items()
    }
    contents |= {name: text.encode() for name, text in texts.items()}
    with output_folder(subject, folder):
        for name in (f"{name}.{form}" for name in set(names) for form in figure_files.FORMATS):
            if name not in contents:
                remove_file(folder / name)
        for name, content in contents.items():
            write_atomically(folder / name, with_run_id(name, content, run_id))
    return folder / list(texts)[-1]


def embed_scene(scene: Scene | None) -> PageData | None:
    """Make a scene ready for a page; None stays None."""
    from ukctrl.reports.scene.page_data import page_data
    from ukctrl.reports.scene.svg_still import svg_still

    return None if scene is None else page_data(scene)._replace(still=svg_still(scene))


def render(
    template: str,
    context: Mapping[str, object],
    scene: PageData | None = None,
    folder: Path = TEMPLATES,
) -> str:
    """Return the page.

    Args:
        template: Name of the template.
        context: What it may use; texts are escaped.
        scene: What moves in it; the only pages that run scripts are those with one.
        folder: Where the template is; it may extend and import those of `TEMPLATES`.
    """
    codes = [(TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS if scene]
    digests = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    return (
        _environment(folder)
        .get_template(template)
        .render(
            context,
            css=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
            scripts=codes,
            scene=scene,
            policy=policy,
            version=installed_version(),
        )
    )


@functools.cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {
        "first_sentence": first_sentence,
        "better": better_direction,
        "inline_json": inline_json,
    }
    return environment


def inline_json(value: object) -> str:
    """Return JSON that may stand inside a script element as it is, whatever texts it holds."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def highlight_toml(text: str) -> str:
    """Return TOML as HTML with its keys, texts, numbers and tables marked, everything escaped."""
    fragments, end = [], 0
    for match in _TOML.finditer(text):
        fragments.append(escape(text[end : match.start()]))
        fragments.append(f'<span class="{match.lastgroup}">{escape(match[0])}</span>')
        end = match.end()
    return "".join([*fragments, escape(text[end:])])


def provenance_entries(provenance: Mapping[str, Any], *without: str) -> list[tuple[str, str]]:
    """Return what is known of a run's origin as names and texts, nested tables flattened."""
    without = (*without, "audit", "scenario", "robot", "controller", "joint_limits")
    shown = ((key, value) for key, value in provenance.items() if key not in without)
    return [(key.replace("_", " "), _plain_text(value)) for key, value in shown]


def _plain_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain_text(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        nested = any(isinstance(entry, Mapping) for entry in value)
        return ("; " if nested else ", ").join(map(_plain_text, value))
    return "–" if value is None else str(value)
