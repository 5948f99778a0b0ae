"""`ukctrl check` of a robot: what its file holds, lacks and gets wrong, and a first scenario."""

import json
import math
import re

import pytest
from extras import needs

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.analysis.check.robot_check import check_robot
from ukctrl.analysis.check.robot_report import html
from ukctrl.cli import main
from ukctrl.core.files import catalog

QUICK = ("acrobot", "crane_planar", "five_bar", "floating_arm", "panda", "three_rrr", "two_link")
"""An underactuated robot, formulas, a closed linkage, a floating base, arms, closed chains."""


def urdf(*, limit="lower='-3' upper='3' velocity='5' effort='20'", mass=1.0, inertia=0.01, com=0.2):
    """Two links of 0.4 m; what is given belongs to the second."""

    def link(name, mass, inertia, com):
        moments = " ".join(f"i{axis}{axis}='{inertia}'" for axis in "xyz")
        return (
            f"<link name='{name}'><inertial><origin xyz='{com} 0 0'/><mass value='{mass}'/>"
            f"<inertia {moments} ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )

    def joint(name, parent, child, x, limit):
        return (
            f"<joint name='{name}' type='revolute'><parent link='{parent}'/><child link='{child}'/>"
            f"<origin xyz='{x} 0 0'/><axis xyz='0 1 0'/><limit {limit}/></joint>"
        )

    good = "lower='-3' upper='3' velocity='5' effort='20'"
    return (
        "<robot name='two'><link name='base'/>"
        + link("l1", 1.0, 0.013, 0.2)
        + link("l2", mass, inertia, com)
        + joint("j1", "base", "l1", 0, good)
        + joint("j2", "l1", "l2", 0.4, limit)
        + "</robot>"
    )


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Write a model file into an empty working folder; return its name."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "two.urdf").write_text(text, encoding="utf-8")
        return "two.urdf"

    return write


def first_of(name):
    found = check_robot(name)
    scenario = Scenario.from_toml(found.scenario)
    assert check(scenario).ok, found.scenario
    return found, scenario


@pytest.mark.slow(but=["five_bar"])
@pytest.mark.parametrize("name", QUICK)
def test_the_scenario_to_write_next_is_ready(name):
    first_of(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.names("robots"))
def test_the_scenario_to_write_next_runs_of_every_robot(name):
    _, scenario = first_of(name)
    assert simulate(scenario).status == "completed"


def test_a_sound_model_has_nothing_odd_and_its_facts_are_those_of_the_file(model):
    found = check_robot(model(urdf()))
    assert [finding for finding in found.findings if finding.level != "note"] == []
    second = found.joints[1]
    assert (second.lower, second.upper, second.fastest, second.effort) == (-3.0, 3.0, 5.0, 20.0)
    assert second.motors == ("j2",)
    assert second.mass == 1.0
    assert second.moments == pytest.approx((0.01, 0.01, 0.01))
    assert found.mass == 2.0


@pytest.mark.parametrize(
    ("slip", "code", "words"),
    [
        ({"limit": "lower='-170' upper='170' velocity='5' effort='9'"}, "wide_range", "degrees"),
        ({"limit": "lower='-3' upper='3' velocity='180' effort='9'"}, "fast_joint", "degrees per"),
        ({"com": 200.0}, "far_mass", "millimetres"),
        ({"inertia": 13000.0}, "large_inertia", "kg mm^2"),
    ],
)
def test_numbers_in_another_unit_are_told_with_the_joint(model, slip, code, words):
    found = check_robot(model(urdf(**slip)))
    told = [finding for finding in found.findings if finding.code == code]
    assert [finding.subject for finding in told] == ["j2"]
    assert words in told[0].message


@pytest.mark.parametrize(
    ("effort", "said"),
    [(2.0, ""), (3000.0, "N mm, or a number that stands for none"), (3e-4, "kN m")],
)
def test_torques_in_another_unit_are_asked_about_beside_the_weight(model, effort, said):
    """Two bodies of 1 kg, 0.2 m from their joint and 0.5 m apart, ask for some newton metres."""
    text = urdf(limit="lower='-3' upper='3' velocity='5' effort='20'")
    found = check_robot(model(text.replace("effort='20'", f"effort='{effort}'")))
    told = [finding for finding in found.findings if finding.code == "unlikely_effort"]
    assert len(told) == bool(said)
    if said:
        assert f"up to {effort:g} N m, are " in told[0].message
        assert f"are these {said}? Write N m." in told[0].message


def test_a_look_at_a_robot_of_many_joints_is_quick_and_its_scenario_says_what_was_seen(tmp_path):
    """Twenty links on a table: its first scenario is looked at where it begins."""
    links = "".join(
        f"<link name='l{k}'><inertial><origin xyz='0.1 0 0'/><mass value='1'/><inertia ixx='1e-2' "
        "iyy='1e-2' izz='1e-2' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        for k in range(21)
    )
    joints = "".join(
        f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/>"
        "<axis xyz='0 1 0'/><limit lower='-3' upper='3' velocity='5' effort='9'/></joint>"
        for k in range(20)
    )
    path = tmp_path / "many.urdf"
    path.write_text(f"<robot name='many'>{links}{joints}</robot>", encoding="utf-8")
    text = check_robot(path).scenario
    assert text.startswith("# looked at at its start alone: ukctrl check looks along it\ntitle = ")
    assert len(Scenario.from_toml(text).servo[0].joints) == 20


def test_what_a_file_leaves_out_is_told_with_where_to_write_it(model):
    found = check_robot(model(urdf(limit="velocity='0' effort='0'")))
    missing = " ".join(found.missing)
    assert "no torque limit of 'j2'" in missing
    assert "[[actuator]] limit" in missing
    assert "no speed limit of 'j2'" in missing
    assert "no damping or friction at any joint" in missing


@pytest.mark.parametrize(
    ("text", "place"),
    [(urdf(limit="effort='5' lower='-1' upper='1'"), "in the model file, or as"),
     ("<mujoco model='two'><worldbody><body name='a'><joint name='j2' axis='0 1 0'/>"
      "<geom size='0.1' mass='1'/></body></worldbody>"
      "<actuator><motor joint='j2'/></actuator></mujoco>", "as")],
)  # fmt: skip
def test_what_a_file_leaves_out_is_not_sent_where_its_format_has_no_place(model, text, place):
    """MJCF knows no speed limit."""
    [speed] = (said for said in check_robot(model(text)).missing if "speed limit" in said)
    assert f": write it {place} [[limit]] velocity in robot.toml." in speed


def test_a_joint_that_turns_without_end_lacks_no_range(model):
    """It can be given none: `[[limit]]` refuses a position of it."""
    endless = urdf(limit="velocity='3' effort='5'").replace("revolute", "continuous")
    found = check_robot(model(endless))
    assert any(math.isinf(joint.lower) for joint in found.joints)
    assert not any("range" in text for text in found.missing)


def test_a_motor_that_pushes_weakly_is_a_motor_of_its_joint(model, tmp_path):
    model(urdf())
    (tmp_path / "robot.toml").write_text(
        'title = "Two links and a belt"\nmodel = "two.urdf"\n'
        '[[actuator]]\nkind = "transmission"\nname = "belt"\nratios = { j1 = 1e-3, j2 = -0.5 }\n',
        encoding="utf-8",
    )
    found = check_robot("robot.toml")
    assert [joint.motors for joint in found.joints] == [("belt",), ("belt",)]


def test_meshes_that_are_not_there_are_told_with_what_finds_them(model, tmp_path):
    def seen(*names):
        return "".join(
            f"<{kind}><geometry><mesh filename='{name}'/></geometry></{kind}>"
            for name, kind in zip(names, ["visual", "collision", "visual"], strict=False)
        )

    def told(*names):
        name = model(
            urdf().replace("<link name='base'/>", f"<link name='base'>{seen(*names)}</link>")
        )
        found = [each for each in check_robot(name).findings if each.code == "mesh_lost"]
        return [(each.level, each.message) for each in found]

    (tmp_path / "there.stl").write_text("solid a\nendsolid a\n")
    assert told("there.stl") == []
    rest = "pictures show rods instead, and no capsule can be put around its link."
    assert told("a.stl", "b.stl", "a.stl") == [
        ("warning", f"mesh 'a.stl' is missing, as 1 more do: {rest}")
    ]
    ((_, text),) = told("package://arm/a.stl", "there.stl")
    assert text.startswith("mesh 'package://arm/a.stl' is missing: ")
    assert text.endswith(" Name the folders that hold its packages as package_path in robot.toml.")
    assert len(told("a.stl", "there.step")) == 2  # missing, and of a kind that nobody reads


def test_one_inertia_for_bodies_of_different_mass_is_told(model):
    text = urdf(mass=3.0, inertia=0.013)
    third = urdf(mass=5.0, inertia=0.013)
    body = third[third.index("<link name='l2'>") : third.index("<joint")]
    joint = text[text.index("<joint name='j2'") : text.index("</robot>")]
    more = body.replace("'l2'", "'l3'") + joint.replace("'j2'", "'j3'").replace(
        "'l2'", "'l3'"
    ).replace("'l1'", "'l2'")
    found = check_robot(model(text.replace("</robot>", f"{more}</robot>")))
    assert "same_inertia" in [finding.code for finding in found.findings]


@pytest.mark.slow(but=["robots/two/robot.toml"])
@pytest.mark.parametrize("name", ["two.urdf", "robots/two", "robots/two/robot.toml", "ur5"])
def test_the_command_takes_model_files_folders_and_names(name, model, tmp_path, capsys):
    model(urdf())
    (tmp_path / "robots" / "two").mkdir(parents=True)
    table = 'title = "Two"\nmodel = "../../two.urdf"\n'
    (tmp_path / "robots" / "two" / "robot.toml").write_text(table, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(("check", name))
    out = capsys.readouterr().out
    assert not ended.value.code
    assert "nothing odd" in out
    assert "save this as first.toml" in out


def test_json_has_all_of_it_and_a_broken_model_says_why_in_one_line(model, capsys):
    with pytest.raises(SystemExit):
        main(("check", model(urdf()), "--json"))
    assert json.loads(capsys.readouterr().out)["joints"][1]["name"] == "j2"
    with pytest.raises(SystemExit) as ended:
        main(("check", model(urdf(mass=-1.0))))
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert "the mass of 'l2' must not be negative; got -1.0." in told.err


def test_the_page_of_a_robot_has_its_picture_its_parts_and_how_others_read_it(
    model, tmp_path, capsys
):
    """Two hinges, of which the second mimics the first, with losses, and a tag of nobody's."""
    losses = "<dynamics damping='0.25' friction='0.125'/>"
    text = urdf().replace("<axis xyz='0 1 0'/>", f"{losses}<axis xyz='0 1 0'/>", 1)
    head, _, tail = text.rpartition("</joint>")
    text = f"{head}<mimic joint='j1' multiplier='2'/></joint>{tail}"
    with pytest.raises(SystemExit) as ended:
        main(("check", model(text.replace("</robot>", "<wheels/></robot>")), "--out", "page"))
    assert ended.value.code == 0
    assert "report  page/report.html" in capsys.readouterr().out
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    shown = re.sub(r"\s+", " ", re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]*>", " ", page))
    for said in (
        "Freedoms 2, mobility 1, motors: 1.",
        "j1 -3 to 3 rad 5 rad/s j1 20 N m",
        "j1 1 kg 0.013, 0.013, 0.013 kg m^2 0.25 N m s/rad 0.125 N m j2",
        "motor pushes on least most j1 j1 -20 N m 20 N m",
        "mimic_j2 expression j2 - (2.0*j1 + 0.0)",
        "Not read: &lt;wheels&gt;. URDF knows nothing of the name",
        "of the file ukctrl Pinocchio 4.1 MuJoCo 4.0 Drake 1.51",
        "a mimic joint held exactly, without a motor a free joint, unless mimic=True a soft",
        "dry friction part of the plant kept; rnea leaves it out soft: a weight slides not read",
    ):
        assert said in shown, said
    assert "the axis of a planar joint" not in shown  # which it has none of
    assert 'id="scene-block"' in page
    data = json.loads((tmp_path / "page" / "check.json").read_text(encoding="utf-8"))
    assert data["motors"] == [
        {"name": "j1", "unit": "N m", "pushes": "j1", "low": -20.0, "high": 20.0}
    ]
    assert data["loops"][0]["name"] == "mimic_j2"


@needs("mujoco")
def test_the_page_of_an_mjcf_file_has_what_is_told_where_it_says_what_is_not_in_the_model(tmp_path):
    arm = '<body><joint name="j"/><geom size=".1" pos=".2 0 0"/></body>'
    servo = '<actuator><position name="p" joint="j"/></actuator>'
    path = tmp_path / "arm.xml"
    path.write_text(f"<mujoco><worldbody>{arm}</worldbody>{servo}</mujoco>")
    robot = Robot.load(path)
    page = html(check_robot(path, robot=robot), robot)
    inside = page[page.index('<section id="left">') :]
    inside = inside[: inside.index("</section>")]
    for said in ("servo told", "contact told", "position and velocity servos"):
        assert said in inside, said
    assert "All that the file says of motion" not in inside
    assert "contact told" not in page[: page.index('<section id="left">')]


def test_what_goes_with_a_scenario_is_refused_of_a_robot(model, capsys):
    with pytest.raises(SystemExit) as ended:
        main(("check", model(urdf()), "-c", "lqr"))
    assert ended.value.code == 2
    assert "--controller goes with a scenario; 'two.urdf' is a robot." in capsys.readouterr().err


def test_a_joint_behind_a_spring_lends_its_limits_to_the_motor():
    found = check_robot("panda_elastic")
    links = [joint for joint in found.joints if f"{joint.name}_motor" in str(found.joints)]
    missing = " ".join(found.missing)
    assert ("speed limit" in missing) == any(math.isinf(link.fastest) for link in links)
    assert ("range" in missing) == any(math.isinf(link.upper) for link in links)
