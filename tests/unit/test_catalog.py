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
