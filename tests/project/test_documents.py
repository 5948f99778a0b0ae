"""What documents name exists, and what they count is as many as they say."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import itertools
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import ukctrl
from tests.shared.documents import DOCS, PAGES, ROOT, blocks, sentences
from ukctrl.cli.main import COMMANDS
from ukctrl_papers import motion, pseudoinverse

README = ROOT / "README.md"
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "SECURITY.md"))]
SITE = "https://github.com/ukctrl/ukctrl/"
"""Where the project says that it is."""

# --- names ----------------------------------------------------------------------------------------

DOTTED = re.compile(r"\bukctrl(?:\.[A-Za-z_]\w*)+(?!\.?\w*\()")
SUFFIXES = "py|toml|md|json|js|csv|svg|urdf|yml|j2|css|cff|txt"
A_FILE = re.compile(rf"\.?/?((?:[\w.-]+/)*[\w-]+\.(?:{SUFFIXES}))")
OURS = "ukctrl(?:_film|_laws|_optimal|_papers)?"
A_FOLDER = re.compile(
    rf"((?:{OURS}|tests|docs|controllers|scenarios|robots|benchmarks)(?:/\w+)*)/?"
)
A_SCRIPT = re.compile(rf"\b(?:benchmarks|docs|tests|{OURS})/[\w/.-]+\.py\b")
IN_A_FILE = re.compile(r"((?:`[\w.]+`(?:, | and )?)+) (?:of `\w+` )?(?:of|in) `((?:\w+/)*\w+\.py)`")
STANDS_FOR = ("KEY", "NNNN", "NAME", "_catalog")
"""What a reader puts a name of their own for, and what is in a wheel alone."""
WRITTEN = re.compile(r"(?:first/)?([\w-]+?)(?:-\d)?\.(?:csv|json|nc|toml)")
"""A file that a command writes: its name stands in the code."""


BESIDE = (
    "ukctrl_film", "ukctrl_identification", "ukctrl_laws", "ukctrl_optimal", "ukctrl_papers",
)  # fmt: skip


@functools.cache
def places() -> set[str]:
    """Return every file and folder of the project, also by the ends of its path."""
    tops = (
        *("benchmarks", "controllers", "docs", "robots", "scenarios", "tests", "ukctrl"),
        *BESIDE,
        *("workspace", ".github"),
    )
    found = {path for path in ROOT.iterdir() if path.is_file()} | {ROOT / top for top in tops}
    for top in tops:
        found |= {path for path in (ROOT / top).rglob("*") if "__pycache__" not in path.parts}
    parts = [path.relative_to(ROOT).parts for path in found]
    return {"/".join(each[k:]) for each in parts for k in range(len(each))}


@functools.cache
def scripts() -> list[Path]:
    """Return the files of the library and of the tests."""
    tops = ("ukctrl", *BESIDE, "tests")
    return [path for top in tops for path in (ROOT / top).rglob("*.py")]


@functools.cache
def texts() -> list[str]:
    """Return the Python of the library, file by file."""
    files = [path for path in scripts() if not path.is_relative_to(ROOT / "tests")]
    return [path.read_text(encoding="utf-8") for path in files]


@functools.cache
def code() -> str:
    """Return all Python of the library."""
    return "\n".join(texts())


@functools.cache
def exists(dotted: str) -> bool:
    """Return whether a name such as ``ukctrl.uk.servo_input`` leads to something."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for name in parts[k:]:
            if not hasattr(value, name) and name not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, name, None)
        return True
    return False


def unknown_names(page: Path) -> set[str]:
    """Return the dotted names of a page that lead nowhere."""
    found = DOTTED.findall(sentences(page))
    names = {name for name in found if name.rpartition(".")[2] not in SUFFIXES.split("|")}
    return {name for name in names if not exists(name)}


def unknown_places(page: Path) -> set[str]:
    """Return the files and folders that a page names and that are not there."""
    ticked = re.findall(r"`([^`\s]+)`", sentences(page))
    found = [A_FILE.fullmatch(name) or A_FOLDER.fullmatch(name) for name in ticked]
    wanted = {match[1] for match in found if match}
    wanted |= set(A_SCRIPT.findall(page.read_text(encoding="utf-8")))
    wanted -= places() | {block.title for block in blocks(page)}
    wanted = {path for path in wanted if not any(word in path for word in STANDS_FOR)}
    return {path for path in wanted if not ((of := WRITTEN.fullmatch(path)) and of[1] in code())}


@functools.cache
def definitions(path: Path) -> set[str]:
    """Return what a file defines: functions, classes, constants, fields and attributes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            names.add(getattr(node, "id", None) or getattr(node, "attr", ""))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def unknown_definitions(page: Path) -> set[str]:
    """Return what a page says to be in a file that does not define it."""
    unknown = set()
    for names, place in IN_A_FILE.findall(sentences(page)):
        files = [path for path in scripts() if path.match(f"*/{place}")]
        for name in re.findall(r"`([\w.]+)`", names):
            if not any(set(name.split(".")) <= definitions(path) for path in files):
                unknown.add(f"{name} in {place}")
    return unknown


def unknown_classes(page: Path) -> set[str]:
    """Return the classes of a page, and what it says to be in them, that the code does not know."""
    known = code() + "\n".join(block.body for block in blocks(page))
    unknown = set()
    for name, inside in re.findall(
        r"`([A-Z]\w*[a-z]\w*)(?:\.(\w+))?(?:\([^`]*)?`", sentences(page)
    ):
        if not inside and not re.fullmatch(r"(?:[A-Z][a-z]+){2,}", name):
            continue  # a word, or a matrix
        defined = [text for text in texts() if re.search(rf"^class {name}\b", text, re.MULTILINE)]
        public = getattr(ukctrl, name, None)
        within = "\n".join(defined) if defined else code()
        if not (defined or public or re.search(rf"\b{name}\b", known) or hasattr(builtins, name)):
            unknown.add(name)
        elif inside and not (hasattr(public, inside) or re.search(rf"\b{inside}\b", within)):
            unknown.add(f"{name}.{inside}")
    return unknown


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_document_names_is_there(page):
    assert not unknown_classes(page)
    assert not unknown_names(page)
    assert not unknown_places(page)
    assert not unknown_definitions(page)


@pytest.mark.slow
def test_a_name_that_does_not_exist_is_found(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    monkeypatch.setattr(f"{unknown_names.__module__}.ROOT", ROOT)
    page.write_text(
        "Of `ukctrl.reproduce.markdown` and ukctrl.uk.servo_input, `simulation/verdicts/none.py`, "
        "`Watch` in `simulation/assemble/loop.py`, `Loop` in `simulation/assemble/loop.py`, "
        "`scenarios/none`, `result.nc`, `summary.json`, `made-up.json`, `Result.metric`, "
        "`Comparison.save`, `LeastNorm`, `StateFeedback`, `KeyError`.\n"
        "```text\npython benchmarks/none.py\n```\n",
        encoding="utf-8",
    )
    assert unknown_names(page) == {"ukctrl.reproduce.markdown"}
    assert unknown_places(page) == {
        "simulation/verdicts/none.py", "scenarios/none", "made-up.json", "benchmarks/none.py",
    }  # fmt: skip
    assert unknown_classes(page) == {"Comparison.save", "StateFeedback"}
    assert unknown_definitions(page) == {"Watch in simulation/assemble/loop.py"}


# --- counts ---------------------------------------------------------------------------------------

WORDS = [
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
]
NUMBER = rf"(\d+|{'|'.join(WORDS)})"


def commands_of(job: str) -> int:
    """Return how many commands are for a job."""
    return len(COMMANDS[job])


def catalogued(kind: str) -> int:
    """Return how many robots, controllers or scenarios there are."""
    return len(ukctrl.catalog.names(kind))


def floors() -> dict[str, int]:
    """Return the floor of every package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, int] = project["tool"]["ukctrl"]["floors"]
    return found


def papers() -> int:
    """Return how many papers are reproduced."""
    return len(ukctrl.papers.papers())


COUNTS: dict[str, Callable[[], int]] = {
    rf"\bthe {NUMBER} scenarios of the catalogue(?! that)": lambda: catalogued("scenarios"),
    rf"catalogue has {NUMBER} scenarios": lambda: catalogued("scenarios"),
    rf"scenarios with {NUMBER} robots": lambda: catalogued("robots"),
    rf"one of {NUMBER} cards": lambda: catalogued("controllers"),
    rf"\b{NUMBER} \[?papers\b(?! of)": papers,
    rf"\b{NUMBER} packages on": lambda: len(floors()) - 1,  # `uk` is a file
    rf"packages on {NUMBER} floors": lambda: len(set(floors().values())),
    rf"\b{NUMBER} published equations of motion": lambda: len(motion.FORMS),
    rf"pseudoinverse` {NUMBER} methods": lambda: len(pseudoinverse.METHODS),
    rf"The first {NUMBER} define": lambda: commands_of("Define"),
    rf"next {NUMBER} compare": lambda: commands_of("Compare"),
    rf"last {NUMBER} design": lambda: commands_of("Design"),
}
"""What documents count, and how many there are."""
COUNTING = [*DOCUMENTS, DOCS / "assets" / "house.svg"]


@pytest.mark.parametrize("pattern", COUNTS)
def test_what_documents_count_is_as_many_as_they_say(pattern):
    number = COUNTS[pattern]()
    said = [
        (page.relative_to(ROOT), match[1].lower())
        for page in COUNTING
        for match in re.finditer(pattern, _plain(page), re.IGNORECASE)
    ]
    assert said, "nobody says so any more: take it out of this list"
    right = {str(number), *WORDS[number : number + 1]}
    assert not [(str(page), count) for page, count in said if count not in right], number


def _plain(page: Path) -> str:
    """Return a page as one line, without the comments that fill in its numbers."""
    return re.sub(r"\s+", " ", re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8")))


REFERENCE = DOCS / "reference"
LISTS = {
    "allocation": "scenarios/controller.md",
    "constraint": "scenarios/servo.md",
    "controller": "scenarios/controller.md",
    "disturbance": "scenarios/controller.md",
    "effect": "effects.md",
    "feedback": "scenarios/controller.md",
    "keep": "scenarios/keep.md",
    "metric": "results.md",
    "null_space": "scenarios/controller.md",
    "observer": "sensing.md",
    "orientation": "paths.md",
    "reference": "paths.md",
}
"""For each sort of parts, the page that tells of every one."""
TABLES = {
    (
        "constraint",
        "scenarios/servo.md",
    ): r"^\| \[`(\w+)`\]\(#\w+\) \| [^|]+ \| (?:[\d]+|one a \w+)[^|]* \|$",
    ("observer", "sensing.md"): r"^\| `(\w+)` \| [^|]+ \| (?:all )?positions",
    ("reference", "paths.md"): r"^\| \[`(\w+)`\]\(#\w+\) \|",
    ("keep", "../howto/keep-limits.md"): r"^\| (?!`kind`)((?:`\w+`(?:, )?)+) \| ",
}
"""Tables that have a row for every part of a sort, and for nothing else."""


def test_every_sort_of_parts_has_a_page():
    assert LISTS.keys() == ukctrl.part_kinds().keys()


@pytest.mark.parametrize("sort", LISTS)
def test_every_part_is_told_of_on_the_page_of_its_sort(sort):
    page = (REFERENCE / LISTS[sort]).read_text(encoding="utf-8")
    parts = ukctrl.part_kinds()[sort]
    told = set(re.findall(r"[`\"](\w+)[`\"]|^### (\w+)$", page, re.MULTILINE))
    assert not parts.keys() - {name or heading for name, heading in told}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0])
def test_a_table_of_parts_has_each_once_and_no_other(table):
    sort, page = table
    rows = re.findall(TABLES[table], (REFERENCE / page).read_text(encoding="utf-8"), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(listed) == sorted(ukctrl.part_kinds()[sort])


# --- the README -----------------------------------------------------------------------------------


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 140


def slug(heading: str) -> str:
    """Return the anchor that the site and the repository's pages give a heading."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def test_every_link_of_the_readme_is_absolute_and_leads_to_a_file_of_the_project():
    text = README.read_text(encoding="utf-8")
    raw = SITE.replace("github.com", "raw.githubusercontent.com")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 20
    for target in targets:
        place, _, anchor = target.partition("#")
        tree = f"{raw}main/" if place.startswith(raw) else f"{SITE}blob/main/"
        assert place.startswith(tree), f"{target} does not begin with {tree}"
        path = ROOT / place.removeprefix(tree)
        assert path.is_file(), target
        headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.M) if anchor else []
        assert not anchor or anchor in map(slug, headings), target


def test_the_project_s_addresses_are_those_of_its_pages():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    tree = f"{SITE}blob/main/"
    inside = [url.removeprefix(tree) for url in urls.values() if url.startswith(tree)]
    assert urls["Repository"] + "/" == SITE
    assert inside
    assert all((ROOT / place).is_file() for place in inside)
    assert all(url.startswith(SITE.rstrip("/")) for url in urls.values())


def test_the_citation_is_of_this_version():
    import yaml

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(citation["version"]) == project["version"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    assert citation["license"] == project["license"].split(" AND ")[0]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+),? ", changes, re.MULTILINE)[0].rstrip(",") == project["version"]


# --- sentences ------------------------------------------------------------------------------------


ALONE = r"\s*<!--[^>]*-->\s*"
"""A line that is a comment, such as the mark of a table."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_cut_where_a_line_begins_with_a_comment(page):
    """Markdown takes such a line for a block of HTML, and ends the paragraph before it."""
    lines = ["", *sentences(page).splitlines()]
    cut = [
        line
        for before, line in itertools.pairwise(lines)
        if re.match(r"\s*<!--", line) and before.strip() and not re.fullmatch(ALONE, before)
    ]
    assert not cut
