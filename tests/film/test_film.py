"""A scene as a picture and as a film: where things are drawn, how light falls, what files hold."""

import dataclasses as dc
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scene_pictures import picture, strip

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError
from ukctrl.reports.scene import arrow_shapes
from ukctrl.reports.scene.run_scene import run_scene
from ukctrl.reports.scene.scene import Actor, Arrow, Scene, SceneCurve
from ukctrl.reports.visual.visual_model import Poses, VisualModel, VisualPart
from ukctrl.robot.geometry import primitive_meshes
from ukctrl_film.camera import Camera, camera_pose
from ukctrl_film.captions import captions
from ukctrl_film.film import film_times, record
from ukctrl_film.pose_interpolation import bracket, interpolate, interpolate_poses
from ukctrl_film.scene_renderer import SceneRenderer
from ukctrl_film.triangle_set import corner_normals

SIZE = (96, 64)
ROW = 34
"""Of the points that lie before the eye: below the middle, since a title stands above."""
FRONT = Camera.parse("front")
POINT = 1.0
"""A silhouette is as wide as projection says up to a point of the picture, on each side."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Balls(VisualModel):
    def poses(self, q, t):
        raise NotImplementedError


def actor(*places, radius=0.2, color="#808080", opacity=1.0, mesh=None):
    """Return balls that move: each of the places has shape ``(n, 3)``."""
    mesh = primitive_meshes.sphere(radius) if mesh is None else mesh
    position = np.stack([np.asarray(place, dtype=float).reshape(-1, 3) for place in places], 1)
    n, c = position.shape[:2]
    look = Balls(
        parts=tuple(VisualPart(name=f"{k}", mesh=mesh, frame=k) for k in range(c)),
        frame_names=tuple(f"{k}" for k in range(c)),
    )
    poses = Poses(position, np.tile([1.0, 0.0, 0.0, 0.0], (n, c, 1)), np.ones((n, c)))
    return Actor(name=color, visuals=look, poses=poses, color=color, opacity=opacity)


def scene(*actors, ground=None, curves=(), times=None, box=1.0, title="Balls"):
    count = len(actors[0].poses.position) if actors else 1
    return Scene(
        title=title,
        time=np.linspace(0.0, 2.0, count) if times is None else np.asarray(times, dtype=float),
        actors=actors,
        curves=curves,
        low=np.full(3, -box),
        high=np.full(3, box),
        ground=ground,
    )


def drawn(shown):
    """Return where a picture is not white."""
    return (shown.astype(int).sum(axis=2)) < 3 * 255 - 6


@pytest.mark.slow
def test_a_ball_has_its_silhouette_where_projection_says():
    shown = scene(actor([0.3, 0.0, 0.4], radius=0.3))
    camera = Camera(azimuth=0.0, elevation=0.0, target=(0.0, 0.0, 0.0), zoom=0.5)
    view = camera_pose(shown, camera, 192, 128)
    mask = drawn(picture(shown, size=(192, 128), camera=camera))
    eye, right, above, toward = view.axes
    at = np.array([0.3, 0.0, 0.4]) - eye
    far = -at @ toward
    middle = view.middle + view.focal * np.array([at @ right, -(at @ above)]) / far
    # The cone around a ball, cut by the picture, seen nearly along its axis.
    radius = view.focal * np.tan(np.arcsin(0.3 / np.linalg.norm(at)))
    rows, columns = np.nonzero(mask)
    np.testing.assert_allclose(0.5 * (columns.min() + columns.max() + 1), middle[0], atol=POINT)
    np.testing.assert_allclose(0.5 * (rows.min() + rows.max() + 1), middle[1], atol=POINT)
    np.testing.assert_allclose(columns.max() + 1 - columns.min(), 2.0 * radius, atol=2.0 * POINT)
    np.testing.assert_allclose(mask.sum(), np.pi * radius**2, rtol=0.1)


@pytest.mark.slow
def test_what_is_nearer_hides_what_is_behind_whichever_comes_first():
    near = actor([0.0, -0.5, 0.0], color="#ff0000")
    far = actor([0.0, 0.5, 0.0], color="#0000ff")
    for order in ((near, far), (far, near)):
        red, _, blue = picture(scene(*order), size=SIZE, camera=FRONT)[ROW, 48].astype(int)
        assert red > 100 + blue


def test_the_side_towards_the_sun_is_brighter():
    shown = picture(scene(actor([0.0, 0.0, 0.0], radius=0.8)), size=SIZE, camera=FRONT)
    rows, columns = np.nonzero(drawn(shown))
    level = shown.astype(int).sum(axis=2)
    right, left = columns.max() - 6, columns.min() + 6
    assert level[ROW, right] > level[ROW, left] + 60
    assert level[rows.min() + 6, 48] > level[rows.max() - 6, 48] + 60


def test_a_ball_throws_its_shadow_on_the_floor_away_from_the_sun():
    shown = scene(actor([0.0, 0.0, 0.0], radius=0.3), ground=-1.0)
    above = Camera(azimuth=0.0, elevation=90.0, zoom=0.3, target=(0.0, 0.0, 0.0))
    painter = SceneRenderer(shown, SIZE, above)
    level = painter.draw([0.0]).astype(int).sum(axis=2)
    # The sun stands at (0.55, -0.4, 1), so a metre below the ball its shadow is at (-0.55, 0.4).
    for place, dark in (([-0.55, 0.4, -1.0], True), ([0.55, -0.4, -1.0], False)):
        right, down, _ = painter.points(np.array([place]))[0].astype(int)
        assert (level[down, right] < 3 * 235) == dark


def test_a_shadow_falls_on_a_body_below():
    plate = actor([0.0, 0.0, -0.5], mesh=primitive_meshes.box(1.8, 1.8, 0.1))
    ball = actor([0.0, 0.0, 0.2], radius=0.3)
    above = Camera.parse("top")
    lit = picture(scene(plate), size=SIZE, camera=above).astype(int).sum(axis=2)
    both = picture(scene(plate, ball), size=SIZE, camera=above).astype(int).sum(axis=2)
    # 0.7 m below the ball its shadow is 0.385 m to the left of it, and 0.28 m above.
    view = camera_pose(scene(plate, ball), above, *SIZE)
    far = view.axes[0][2] + 0.45
    column = int(view.middle[0] + view.focal * (-0.357 - view.axes[0][0]) / far)
    row = int(view.middle[1] - view.focal * (0.26 - view.axes[0][1]) / far)
    assert lit[row, column] - both[row, column] > 100


def test_triangles_that_reach_behind_the_eye_are_cut():
    long = actor(
        [0.0, 0.0, -0.6], mesh=primitive_meshes.box(0.4, 40.0, 0.1)
    )  # passes below the eye
    shown = scene(long, box=1.0)
    level = Camera(azimuth=0.0, elevation=0.0, target=(0.0, 0.0, 0.0))
    mask = drawn(picture(shown, size=SIZE, camera=level))
    assert mask[-1, 48]  # up to the lower edge
    assert not mask[:ROW].any()  # nothing of it flips to above the horizon
    assert mask[-1].sum() > mask[48].sum() > mask[36].sum()  # and it is wider where it is nearer


def test_a_triangle_of_no_numbers_is_left_out():
    gone = actor([np.nan, 0.0, 0.0], [0.0, 0.0, 0.0])
    alone = actor([0.0, 0.0, 0.0])
    broken, whole = (picture(scene(each), size=SIZE, camera=FRONT) for each in (gone, alone))
    np.testing.assert_array_equal(broken, whole)


def test_what_is_transparent_lets_through_what_is_behind_it():
    solid = actor([0.0, 0.5, 0.0], color="#0000ff")
    levels = []
    for opacity in (0.2, 0.5, 0.8):
        ghost = actor([0.0, -0.5, 0.0], radius=0.4, color="#ff0000", opacity=opacity)
        red, _, blue = picture(scene(solid, ghost), size=SIZE, camera=FRONT)[ROW, 48].astype(int)
        levels.append((red, blue))
    reds, blues = zip(*levels, strict=True)
    assert list(reds) == sorted(set(reds))
    assert list(blues) == sorted(set(blues), reverse=True)


def test_edges_are_soft():
    shown = picture(scene(actor([0.0, 0.0, 0.0], color="#000000")), size=SIZE, camera=FRONT)
    levels = set(shown[..., 0].reshape(-1).tolist())
    assert any(100 < level < 250 for level in levels)


def test_a_box_has_edges_and_a_ball_has_none():
    box = corner_normals(primitive_meshes.box(1.0, 2.0, 3.0))
    np.testing.assert_allclose(np.abs(box).max(axis=2), 1.0, atol=1e-6)
    ball = primitive_meshes.sphere(1.0)
    normals = corner_normals(ball)
    # The mean of the triangles around a vertex, which are 15 degrees wide.
    np.testing.assert_allclose(
        (normals * ball.vertices[ball.faces]).sum(axis=2), 1.0, rtol=0.0, atol=0.01
    )


def curve(kind, n=21):
    x = np.linspace(-0.8, 0.8, n)
    return SceneCurve(
        name=kind,
        points=np.stack([x, 0.0 * x, 0.0 * x], 1),
        kind=kind,
        color="#d00000",
        group="robot",
    )


@pytest.mark.slow
def test_a_trail_grows_and_a_reference_is_there_from_the_start():
    times = np.linspace(0.0, 2.0, 21)
    early, late = (
        drawn(picture(scene(curves=(curve("trail"),), times=times), t, size=SIZE, camera=FRONT))
        for t in (0.6, 1.4)
    )
    assert early[ROW].sum() + 20 < late[ROW].sum()
    assert not early[:, 60:].any()
    start = picture(scene(curves=(curve("reference"),), times=times), 0.0, size=SIZE, camera=FRONT)
    assert drawn(start)[ROW].sum() > 60


@pytest.mark.slow
def test_a_curve_behind_a_body_is_hidden_and_one_before_it_is_not():
    ball = actor(np.zeros((21, 3)), radius=0.5, color="#ffffff")
    line, behind = curve("reference"), np.array([0.0, 0.7, 0.0])
    for shift, seen in ((-behind, True), (behind, False)):
        moved = dc.replace(line, points=line.points + shift)
        shown = picture(scene(ball, curves=(moved,)), size=SIZE, camera=FRONT).astype(int)
        assert (shown[ROW, 40, 0] - shown[ROW, 40, 2] > 20) == seen


def test_a_curve_has_gaps():
    line = curve("reference")
    line.points[8:13] = np.nan
    mask = drawn(picture(scene(curves=(line,)), size=SIZE, camera=FRONT))
    assert mask[ROW, 20]
    assert not mask[ROW, 44:52].any()


def test_everything_of_a_scene_is_in_the_picture_from_everywhere():
    corners = [[x, y, z] for x in (-1, 1) for y in (-0.3, 0.3) for z in (-0.6, 0.6)]
    shown = scene(actor(*corners, radius=0.01))
    for text in ("front", "side", "top", "iso", "-130,-30", "20,70"):
        painter = SceneRenderer(shown, SIZE, Camera.parse(text))
        at = painter.points(np.array(corners, dtype=float))
        assert (at[:, :2] > 0.0).all()
        assert (at[:, :2] < SIZE).all()


@pytest.mark.parametrize(
    ("text", "right", "up"),
    [("front", "x", "z"), ("side", "y", "z"), ("top", "x", "y")],
)
def test_cameras_with_a_name_look_along_an_axis(text, right, up):
    axes = camera_pose(scene(actor([0.0, 0.0, 0.0])), Camera.parse(text), *SIZE).axes
    expected = np.eye(3)[["xyz".index(right), "xyz".index(up)]]
    np.testing.assert_allclose(axes[1:3], expected, rtol=0.0, atol=1e-12)


def test_a_zoom_makes_larger():
    shown = scene(actor([0.0, 0.0, 0.0]), box=0.5)
    once, twice = (
        drawn(picture(shown, size=SIZE, camera=Camera(azimuth=0.0, elevation=0.0, zoom=zoom))).sum()
        for zoom in (0.4, 0.8)
    )
    np.testing.assert_allclose(twice / once, 4.0, rtol=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("above", "'front', 'side', 'top', 'iso'"),
        ("1", "got '1'"),
        ("1,2,3,4", "got '1,2,3,4'"),
        ("0,91", "between -90 and 90"),
        ("nan,0", "finite"),
        ("0,0,0", "zoom"),
        ("x" * 5000, "..."),
    ],
)
def test_no_camera_is_told_in_one_line(text, said):
    with pytest.raises(InputError) as caught:
        Camera.parse(text)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 250


def test_between_moments_places_go_evenly_and_turns_do_too():
    half = np.sqrt(0.5)
    poses = Poses(
        np.array([[[0.0, 0.0, 0.0]], [[2.0, 0.0, 0.0]]]),
        np.array([[[1.0, 0.0, 0.0, 0.0]], [[-half, 0.0, 0.0, -half]]]),  # a quarter about z
        np.array([[1.0], [3.0]]),
    )
    before, share = bracket(np.array([1.0, 2.0]), np.array([0.0, 1.25, 5.0]))
    there = interpolate_poses(poses, before, share)
    np.testing.assert_allclose(there.position[:, 0, 0], [0.0, 0.5, 2.0], atol=1e-15)
    np.testing.assert_allclose(there.stretch[:, 0], [1.0, 1.5, 3.0], atol=1e-15)
    angle = 2.0 * np.arctan2(there.quaternion[:, 0, 3], there.quaternion[:, 0, 0])
    np.testing.assert_allclose(angle, np.pi / 2 * np.array([0.0, 0.25, 1.0]), atol=1e-12)


def test_a_moment_beside_a_gap_is_still_there():
    values = np.array([1.0, 2.0, np.nan, 4.0])
    before, share = bracket(np.arange(4.0), np.array([1.0, 1.5, 3.0]))
    np.testing.assert_array_equal(interpolate(values, before, share), [2.0, np.nan, 4.0])


@pytest.mark.slow(but=["log-spiral-particle-1"])
@pytest.mark.parametrize(
    ("name", "trails"), [("log-spiral-particle", 1), ("swarm-decay", 5), ("scara-weak-motors", 1)]
)
def test_what_is_small_beside_its_way_leaves_a_trail(name, trails):
    shown = run_scene(simulate(Scenario.load(name)))
    ways = [each for each in shown.curves if each.kind == "trail"]
    assert len(ways) >= trails
    for way in ways:
        assert (way.points >= shown.low - 1e-9).all()
        assert (way.points <= shown.high + 1e-9).all()


def moving():
    x = np.linspace(-0.7, 0.7, 11)
    return scene(actor(np.stack([x, 0.0 * x, 0.0 * x], 1)))


def frames_of(path):
    with Image.open(path) as image:
        pictures, durations = [], []
        for k in range(image.n_frames):
            image.seek(k)
            pictures.append(np.asarray(image.convert("RGB")).astype(int))
            durations.append(image.info["duration"])
    return pictures, durations


class OtherPath:
    """What only says where it is."""

    def __init__(self, path):
        self._path = path

    def __fspath__(self):
        return str(self._path)


@pytest.mark.parametrize("place", [str, Path, OtherPath])
def test_a_film_goes_where_any_path_says(tmp_path, place):
    file = tmp_path / "film.webp"
    assert record(moving(), place(file), fps=5, size=SIZE) == file
    assert len(frames_of(file)[0]) > 1


@pytest.mark.parametrize("ending", [".gif", ".webp"])
def test_a_film_has_its_size_its_pictures_and_its_pace(tmp_path, ending):
    path = record(moving(), tmp_path / f"film{ending}", fps=15, size=SIZE, speed=0.5, camera=FRONT)
    pictures, durations = frames_of(path)
    assert len(pictures) == 61  # four seconds, both ends
    with Image.open(path) as image:
        assert image.info["loop"] == 0  # again and again
    assert pictures[0].shape == (64, 96, 3)
    np.testing.assert_allclose(sum(durations), 61 * 1000 / 15, atol=10)
    middles = [np.nonzero(drawn(each[20:45]))[1].mean() for each in pictures]
    assert np.all(np.diff(middles) >= 0.0)
    assert middles[-1] - middles[0] > 40


def test_a_film_for_players_is_decoded_again(tmp_path):
    av = pytest.importorskip("av")
    shares = []
    path = record(
        moving(), tmp_path / "film.mp4", fps=10, size=(95, 64), camera=FRONT, progress=shares.append
    )
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        pictures = [
            frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(stream)
        ]
        assert float(stream.average_rate) == 10.0
    assert len(pictures) == 21
    assert pictures[0].shape == (64, 96, 3)  # blocks of two points
    middles = [np.nonzero((each[20:45]).sum(axis=2) < 700)[1].mean() for each in pictures]
    assert middles[-1] - middles[0] > 40
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_last_picture_of_a_film_is_the_end():
    shown = dc.replace(moving(), time=np.linspace(0.0, 0.3, 11))
    np.testing.assert_allclose(film_times(shown, 10.0, 1.0), [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(film_times(shown, 10.0, 2.0), [0.0, 0.2])


def test_a_picture_is_the_same_from_any_thread(tmp_path):
    one, other = (record(moving(), tmp_path / f"{k}.gif", fps=5, size=SIZE) for k in range(2))
    assert one.read_bytes() == other.read_bytes()


def test_a_strip_shows_earlier_poses_paler():
    shown = strip(moving(), 3, size=SIZE, camera=FRONT).astype(int).sum(axis=2)
    left, middle, right = shown[ROW, 20], shown[ROW, 48], shown[ROW, 75]
    assert 760 > left > middle > right
    by_times = strip(moving(), [0.0, 1.0, 2.0], size=SIZE, camera=FRONT)
    np.testing.assert_array_equal(by_times.astype(int).sum(axis=2), shown)


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?x")]
)
def test_a_strip_is_written_for_papers(tmp_path, ending, start):
    title = "A <b>title</b> $\\frac$ & more"
    shown = dc.replace(moving(), title=title)
    place, done = tmp_path / f"strip{ending}", []
    path = record(shown, place, size=(480, 320), strip=3, progress=done.append)
    assert done[-1] == 1.0
    content = path.read_bytes()
    assert content.startswith(start)
    assert b"<b>" not in content
    if ending == ".pdf":
        assert b"/Type /Font" in content
        assert b"/FontFile2" in content


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("film.avi", {}, "'.mp4', '.gif', '.webp', '.png'"),
        ("film", {}, "ends in"),
        ("a\0b.gif", {}, "ends in"),
        ("film.gif", {"size": (10, 10)}, "16 to 4096"),
        ("film.gif", {"size": (10**9, 10**9)}, "16 to 4096"),
        ("film.gif", {"size": (4096, 4096)}, "1e+07"),
        ("film.gif", {"fps": 0.0}, "pictures a second"),
        ("film.gif", {"fps": float("nan")}, "pictures a second"),
        ("film.gif", {"fps": 60.0}, "at most 50"),
        ("film.gif", {"speed": 0.0}, "speed"),
        ("film.gif", {"speed": 1e-6}, "too long"),
        ("film.mp4", {"speed": 1e-5}, "too long"),
        ("film.gif", {"strip": 3}, "a strip is a picture"),
        ("film.png", {"strip": 1000}, "1 to 50"),
        ("film.png", {"strip": -1}, "1 to 50"),
    ],
)
def test_what_no_film_can_be_is_refused_in_one_line(tmp_path, name, options, said):
    with pytest.raises(InputError) as caught:
        record(moving(), tmp_path / name, **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_film_of_what_does_not_move_is_refused(tmp_path):
    with pytest.raises(InputError, match="nothing moves"):
        record(scene(actor([0.0, 0.0, 0.0])), tmp_path / "film.gif")


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(InputError, match=r"ukctrl\[film\]"):
        record(moving(), tmp_path / "film.mp4", size=SIZE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file/film.gif", "folder.gif", "/proc/no/film.gif"])
def test_where_nothing_can_be_written_is_told(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(InputError, match="cannot write the film"):
        record(moving(), tmp_path / place if place[0] != "/" else Path(place), fps=1, size=SIZE)
    assert not [each for each in tmp_path.rglob("*") if each.name not in ("file", "folder.gif")]


def test_no_room_is_told(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(InputError, match="No space left on device"):
        record(moving(), tmp_path / "film.gif", fps=1, size=SIZE)
    assert not list(tmp_path.iterdir())


def test_a_stopped_film_leaves_nothing(tmp_path):
    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(moving(), tmp_path / "film.gif", fps=5, size=SIZE, progress=stop)
    assert not list(tmp_path.iterdir())


def pushed(*vectors, unit="N", limited=(False,), group="inputs"):
    """Return a scene of a ball at its origin that an arrow pushes on."""
    count = len(vectors)
    ball = actor(np.zeros((count, 3)), radius=0.3)
    arrow = Arrow(
        name="motor", tail=np.zeros((count, 3)), vector=np.array(vectors, dtype=float), unit=unit,
        group=group, limited=np.array(limited),
    )  # fmt: skip
    return dc.replace(scene(ball), arrows=(arrow,))


def painted(shown, color, time=0.0, show=("inputs",)):
    """Return where a picture has a colour, as rows and columns, and its painter."""
    painter = SceneRenderer(shown, (192, 128), FRONT, show=show)
    wanted = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)])
    off = np.abs(painter.draw([time]).astype(int) - wanted).max(axis=2)
    return np.argwhere(off < 12), painter


def test_an_arrow_reaches_from_its_tail_to_where_its_length_says():
    shown = pushed([3.0, 0.0, 0.0])
    at, painter = painted(shown, arrow_shapes.COLORS["inputs"])
    reach = 2.0 * (arrow_shapes.LONGEST + arrow_shapes.HEAD)  # of a scene of two metres
    ends = painter.points(np.array([[0.0, 0.0, 0.0], [reach, 0.0, 0.0]]))
    np.testing.assert_allclose(at[:, 1].max() + 1, ends[1, 0], atol=2.0 * POINT)
    assert at[:, 1].min() <= ends[0, 0]  # through the ball
    assert np.abs(at[:, 0] - ends[0, 1]).max() < 8


def test_arrows_are_seen_where_they_are_asked_for_alone():
    bare, _ = painted(pushed([3.0, 0.0, 0.0]), arrow_shapes.COLORS["inputs"], show=())
    assert not len(bare)


def test_a_smaller_force_is_shorter_and_a_torque_is_an_arc_about_its_axis():
    shown = pushed([4.0, 0.0, 0.0], [2.0, 0.0, 0.0])
    lengths = []
    for time in (0.0, 2.0):
        at, painter = painted(shown, arrow_shapes.COLORS["inputs"], time)
        lengths.append(at[:, 1].max() - painter.points(np.zeros((1, 3)))[0, 0])
    long, short = lengths
    assert 0.4 * long < short < 0.65 * long
    turning = pushed([0.0, -4.0, 0.0], unit="N m")  # about the line of sight
    at, painter = painted(turning, arrow_shapes.COLORS["inputs"])
    middle = painter.points(np.zeros((1, 3)))[0, [1, 0]]
    radius = painter.plain.focal * painter.points(np.zeros((1, 3)))[0, 2]
    far = np.linalg.norm(at + 0.5 - middle, axis=1) / radius
    np.testing.assert_allclose(np.median(far), 2.0 * arrow_shapes.RADIUS, rtol=0.1)


def test_an_input_at_its_limit_is_red_and_named():
    shown = pushed([4.0, 0.0, 0.0], [4.0, 0.0, 0.0], limited=(False, True))
    free, _ = painted(shown, arrow_shapes.AT_LIMIT, 0.0)
    bound, painter = painted(shown, arrow_shapes.AT_LIMIT, 2.0)
    assert not len(free)
    assert len(bound) > 50
    painter = SceneRenderer(shown, (640, 360), FRONT, show=("inputs",))
    told = [[word.text for word in captions(painter, time, "")] for time in (0.0, 2.0)]
    assert "at its limit: motor" not in told[0]
    assert "at its limit: motor" in told[1]


def test_a_camera_shows_the_arrows_that_are_asked_for():
    ball = dc.replace(pushed([0.0, 0.0, 4.0]), low=np.full(3, -0.05), high=np.full(3, 0.05))
    tip = [[0.0, 0.0, 0.1 * (arrow_shapes.LONGEST + arrow_shapes.HEAD)]]
    beside = np.array([[0.0, 0.0, 1.0], *tip])
    view = camera_pose(ball, FRONT, 192, 128, beside)
    far = (view.axes[0] - beside[0]) @ view.axes[3]
    assert view.middle[1] - view.focal * (beside[0] - view.axes[0]) @ view.axes[2] / far > 0.0
    np.testing.assert_allclose(arrow_shapes.arrow_tips(ball.arrows, 0.1), tip, atol=1e-15)


def test_arrows_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="no reactions can be shown in this scene; it has 'inp"):
        SceneRenderer(pushed([1.0, 0.0, 0.0]), SIZE, show=["reactions"])
    with pytest.raises(InputError, match=r"did you mean 'inputs'\?"):
        SceneRenderer(pushed([1.0, 0.0, 0.0]), SIZE, show=["input"])


def test_a_run_tells_which_motor_is_at_its_limit():
    weak = {
        "timing.duration": 0.2,
        "effect": [{"kind": "saturation", "limit": {"joint4": 21.0}}],
    }
    found = run_scene(simulate(Scenario.load("panda-pose", weak)))
    bound = {arrow.name for arrow in found.arrows if arrow.limited.any()}
    assert bound == {"joint4"}
