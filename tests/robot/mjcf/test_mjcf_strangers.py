"""MJCF files from strangers: what they may make MuJoCo open and build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from extras import needs

from ukctrl import Robot
from ukctrl.core.errors import ModelError

pytestmark = needs("mujoco")
BODY = '<body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>{}</body>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


BARE = BODY.format("")


def model(head="", world=BARE, tail=""):
    return f"<mujoco>{head}<worldbody>{world}</worldbody>{tail}</mujoco>"


def mesh(file, more=""):
    geom = '<geom type="mesh" mesh="m"/>'
    return model(f'{more}<asset><mesh name="m" file="{file}"/></asset>', BODY.format(geom))


REFUSED = {
    "text with a mesh": (mesh("t.obj"), "belongs to a model that is text alone"),
    "text with an include": (model('<include file="x.xml"/>'), "is text alone"),
    "a million bodies": (
        model(world=f'<replicate count="1000000" offset="1 0 0">{BODY}</replicate>'.format("")),
        "must have at most 20000 elements",
    ),
    "a million, in steps": (
        model(world='<replicate count="100"><replicate count="1e4" offset="1 0 0">'
                    f"{BODY}</replicate></replicate>".format("")),
        "must have at most 20000 elements",
    ),
    "no count": (
        model(world=f'<replicate count="nan">{BARE}</replicate>'), "must be whole numbers",
    ),
    "a huge flex": (
        model(world='<flexcomp name="x" type="grid" count="1000 1000 1000" dim="3"/>'),
        "must have at most 20000 elements",
    ),
    "a huge texture": (
        model('<asset><texture builtin="flat" type="2d" width="100000" height="100000"/></asset>'),
        "at most 67108864 points",
    ),
    "a huge height field": (
        model('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
        "at most 67108864 points",
    ),
    "a billion keyframes": (model('<size nkey="1000000000"/>'), "size nkey must be at most"),
    "a billion numbers": (model('<size nuserdata="1000000000"/>'), "size nuserdata must be at"),
    "not a number": (
        model(world=BODY.format("").replace('"0.1"', '"nan"')),
        "does not accept it: Error: nan size",
    ),
    "no gravity": (model('<option gravity="down"/>'), "does not accept it: XML Error"),
    "an unknown tag": (model("<wobble/>"), "unrecognized element"),
    "an unknown attribute": (model('<option wobble="1"/>'), "unrecognized attribute"),
    "no mass": (model(world='<body name="a"><joint/></body>'), "mass and inertia of moving bodies"),
    "an entity": ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "must not contain <!DOCTYPE>"),
    "nothing that moves": (model(world=""), "at least one joint that moves"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_text_that_asks_for_too_much_is_refused(case):
    text, message = REFUSED[case]
    with pytest.raises(ModelError, match=message) as caught:
        Robot.build(text)
    assert "\n" not in str(caught.value)


def test_a_large_working_memory_is_not_taken():
    head = '<size memory="100G"/>'
    assert Robot.build(model(head)).nv == 1


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "x" / "y" / "z" / "u" / "v" / "robot"
    (inside / "meshes").mkdir(parents=True)
    (inside / "meshes" / "t.obj").write_text(TETRAHEDRON, encoding="utf-8")
    return inside


def written(folder, text, files=()):
    for name, content in dict(files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "robot.xml").write_text(text, encoding="utf-8")
    return folder / "robot.xml"


def test_meshes_near_the_model_are_read(folder):
    below = Robot.load(written(folder, mesh("t.obj", '<compiler meshdir="meshes"/>')))
    (folder.parent / "shared").mkdir()
    (folder.parent / "shared" / "t.obj").write_text(TETRAHEDRON, encoding="utf-8")
    beside = Robot.load(written(folder, mesh("t.obj", '<compiler meshdir="../shared"/>')))
    assert below.snapshot([0.0]).M == beside.snapshot([0.0]).M > Robot.build(model()).snapshot(
        [0.0]
    ).M  # fmt: skip


def far(folder):
    (folder.parents[4] / "t.obj").write_text(TETRAHEDRON, encoding="utf-8")
    return mesh("../../../../../t.obj")


def linked(folder):
    (folder.parents[4] / "t.obj").write_text(TETRAHEDRON, encoding="utf-8")
    (folder / "t.obj").symlink_to(folder.parents[4] / "t.obj")
    return mesh("t.obj")


def pipe(folder):
    os.mkfifo(folder / "t.obj")
    return mesh("t.obj")


def other(folder):
    (folder / "secret.txt").write_text(TETRAHEDRON, encoding="utf-8")
    return mesh("secret.txt").replace('name="m"', 'name="m" content_type="model/obj"')


def large(folder):
    with (folder / "t.obj").open("wb") as file:
        file.truncate(65 * 2**20)
    return mesh("t.obj")


ELSEWHERE = {
    "a device": (lambda _: mesh("/dev/zero"), "must lie in the model's folder"),
    "five folders above": (far, "must lie in the model's folder, or at most 4 folders above"),
    "a link that leads there": (linked, "must lie in the model's folder"),
    "a pipe": (pipe, "must be an ordinary file"),
    "no mesh": (other, "must end with one of .stl, .obj"),
    "a large mesh": (large, "must be at most 64 MB"),
    "a missing mesh": (lambda _: mesh("nowhere.obj"), "Error opening file .*nowhere.obj"),
    "a missing include": (
        lambda _: model('<include file="nowhere.xml"/>'), "Error opening file .*nowhere.xml",
    ),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links")
@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_file_that_lies_elsewhere_or_is_none_is_refused(case, folder):
    make, message = ELSEWHERE[case]
    with pytest.raises(ModelError, match=message):
        Robot.load(written(folder, make(folder)))


def test_what_is_included_passes_the_same_checks(folder):
    text = model('<include file="parts/a.xml"/>')
    deep = "<mujocoinclude>" + "<default>" * 300 + "</default>" * 300 + "</mujocoinclude>"
    for inner, message in (
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujocoinclude/>', "must not contain <!DOCTYPE>"),
        (deep, "nested deeper than 256"),
        ("<mujocoinclude>", "must be well-formed XML"),
        ('<mujocoinclude><include file="/etc/passwd"/></mujocoinclude>', "must lie in the model's"),
        ('<mujocoinclude><size nkey="99999"/></mujocoinclude>', "size nkey must be at most"),
    ):
        with pytest.raises(ModelError, match=message):
            Robot.load(written(folder, text, {"parts/a.xml": inner}))


def test_includes_in_a_circle_end(folder):
    inner = {
        "a.xml": '<mujocoinclude><include file="b.xml"/></mujocoinclude>',
        "b.xml": '<mujocoinclude><include file="a.xml"/></mujocoinclude>',
    }
    with pytest.raises(ModelError, match="does not accept it: XML Error"):
        Robot.load(written(folder, model('<include file="a.xml"/>'), inner))


def test_nothing_is_written_where_one_works(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError):
        Robot.load(written(folder, mesh("nowhere.obj")))
    heavy = Robot.build(model('<compiler settotalmass="3"/>'))
    assert any("settotalmass" in finding.message for finding in heavy.audit)
    assert [path.name for path in Path().iterdir()] == ["x"]
