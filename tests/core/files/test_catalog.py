"""Names and paths of robots, controllers and scenarios."""

import pytest

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files import catalog


@pytest.fixture
def workspace(tmp_path):
    """A user's folder with one of each."""
    (tmp_path / "robots" / "mine").mkdir(parents=True)
    (tmp_path / "robots" / "mine" / "robot.toml").touch()
    for kind in ("controllers", "scenarios"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "mine.toml").touch()
    return tmp_path


def test_the_catalogue_has_the_scara():
    assert "scara" in catalog.names("robots")
    assert (
        catalog.find("robots", "scara").resolve()
        == catalog.root() / "robots" / "scara" / "robot.toml"
    )


def test_a_name_resolves_beside_the_file_that_refers_to_it(workspace):
    scenario = workspace / "scenarios" / "mine.toml"
    robot = catalog.find("robots", "mine", scenario)
    assert robot.resolve() == workspace / "robots" / "mine" / "robot.toml"
    controller = catalog.find("controllers", "mine", scenario)
    assert controller.resolve() == workspace / "controllers" / "mine.toml"
    assert catalog.find("scenarios", "mine", scenario) == scenario
    assert catalog.find("robots", "mine", workspace).resolve() == robot.resolve()


def test_a_file_beside_goes_before_the_catalogue(workspace):
    (workspace / "robots" / "scara").mkdir()
    own = workspace / "robots" / "scara" / "robot.toml"
    own.touch()
    assert catalog.find("robots", "scara", workspace / "scenarios" / "x.toml").resolve() == own
    assert catalog.find("robots", "two_link", workspace / "scenarios" / "x.toml").is_file()


def test_the_working_folder_is_the_workspace_when_nothing_refers(workspace, monkeypatch):
    monkeypatch.chdir(workspace)
    assert catalog.find("scenarios", "mine").is_file()
    assert "mine" in catalog.names("robots")


def test_names_are_those_that_can_be_found(workspace):
    for kind in ("controllers", "scenarios"):
        (workspace / kind / "gone.toml").symlink_to("nowhere.toml")
        (workspace / kind / "folder.toml").mkdir()
    (workspace / "robots" / "gone").mkdir()
    (workspace / "robots" / "gone" / "robot.toml").symlink_to("nowhere.toml")
    for kind in catalog.KINDS:
        names = catalog.names(kind, workspace / "scenarios" / "mine.toml")
        assert {"gone", "folder"}.isdisjoint(names)
        assert "mine" in names


def test_a_path_is_relative_to_the_file_that_names_it(workspace):
    scenario = workspace / "scenarios" / "mine.toml"
    found = catalog.find("robots", "../robots/mine/robot.toml", scenario)
    assert found.resolve() == workspace / "robots" / "mine" / "robot.toml"
    assert catalog.find("robots", "../robots/mine", scenario).resolve() == found.resolve()
    assert catalog.find("scenarios", "mine.toml", scenario) == scenario


@pytest.mark.parametrize("name", ["scarra", "", "x" * 10_000, "a\0b", "*", "con"])
def test_an_unknown_name_is_refused_with_what_there_is(name):
    with pytest.raises(UnknownName, match=r"no robot named .* Known: .*five_bar"):
        catalog.find("robots", name)


@pytest.mark.parametrize(
    "path", ["no/such/robot.toml", "robot.urdf", "a\0b.toml", "x" * 9999 + "/"]
)
def test_a_path_to_nothing_is_refused(path):
    with pytest.raises(InputError, match="no file"):
        catalog.find("robots", path)


def test_a_name_that_is_none_is_told_what_there_is_whole(workspace, monkeypatch):
    """A file without its ending, a folder without robot.toml, the name of another kind."""
    monkeypatch.chdir(workspace)
    (workspace / "robots" / "bare").mkdir()
    (workspace / "robots" / "models").mkdir()
    (workspace / "robots" / "models" / "b.urdf").touch()
    (workspace / "robots" / "models" / "a.xml").touch()
    (workspace / "loose.toml").touch()
    (workspace / "arm.mjcf").touch()
    there = "but there is a file of that name; a file is given by its path:"
    for kind, name, sentence in (
        ("robots", "arm", f"no robot named 'arm', {there} 'arm.mjcf'."),
        ("robots", "loose", f"no robot named 'loose', {there} 'loose.toml'."),
        ("scenarios", "loose", f"no scenario named 'loose', {there} 'loose.toml'."),
        (
            "robots", "bare",
            "no robot named 'bare': the folder 'robots/bare' has no robot.toml, and no model that "
            "one could name.",
        ),
        (
            "robots", "models",
            "no robot named 'models': the folder 'robots/models' has no robot.toml. Write one with "
            'title and model = "a.xml", or name the model itself: \'robots/models/a.xml\'.',
        ),
        ("robots", "scara-helix", "no robot named 'scara-helix'; that is the name of a scenario."),
        (
            "scenarios", "scara",
            "no scenario named 'scara'; that is the name of a robot; ukctrl check looks at it.",
        ),
        ("robots", "lqr-cart", None),
    ):  # fmt: skip
        with pytest.raises(UnknownName) as caught:
            catalog.find(kind, name)
        if sentence is not None:
            assert str(caught.value) == sentence
        else:
            assert "; that is the name" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "path", "instead"),
    [
        ("scenarios", "robots/", "that is a folder; name the .toml file in it."),
        ("controllers", "robots/models", "that is a folder; name the .toml file in it."),
        (
            "scenarios", "robots/models",
            "the folder 'robots/models' has no robot.toml. Write one with title and "
            'model = "a.urdf", or name the model itself: \'robots/models/a.urdf\'.',
        ),
        ("robots", "robots/models/b.urdf", "did you mean 'robots/models/a.urdf'?"),
        ("robots", "robots/models/like.none", "a path is relative to the file that names it."),
        ("robots", "no/such.urdf", "a path is relative to the file that names it."),
    ],
)  # fmt: skip
def test_a_path_to_nothing_is_told_what_may_be_meant_whole(workspace, kind, path, instead):
    (workspace / "robots" / "models").mkdir()
    (workspace / "robots" / "models" / "a.urdf").touch()
    with pytest.raises(InputError) as caught:
        catalog.find(kind, path, workspace)
    shown = workspace / path
    assert str(caught.value) == f"no file '{shown}'; {instead}"


def test_long_names_are_cut_where_they_are_shown():
    with pytest.raises(UnknownName, match=rf"no robot named '{57 * 'x'}\.\.\.'"):
        catalog.find("robots", 61 * "x")
    with pytest.raises(UnknownName, match=rf"no robot named '{60 * 'x'}'"):
        catalog.find("robots", 60 * "x")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("two arms", "two-arms"), ("../../etc", "etc"), ("a.b_c-d", "a.b_c-d"), ("größe", "größe"),
        ("", "run"), ("...", "run"), ("-" * 9, "run"), ("x" * 101, "x" * 100),
    ],
)  # fmt: skip
def test_a_file_name_stays_inside_its_folder(name, file):
    assert catalog.file_name(name) == file
    assert catalog.file_name("/", "study") == "study"
