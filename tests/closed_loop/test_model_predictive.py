"""Model predictive control beside dense quadratic programs, and beside its regulators."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import block_diag, expm, solve_continuous_are, solve_discrete_are
from scipy.optimize import nnls

from ukctrl import Robot, Scenario, Task, check, designed, judge, linear_loop, simulate
from ukctrl.analysis import conformance
from ukctrl.control import Baumgarte, Lqr, ModelPredictive, Servo, Tvlqr
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Lagrangian, Options
from ukctrl_laws.predictive.horizon_kernels import tick_index

SAME = {"rtol": 1e-8, "atol": 1e-8}
H, MASS, STIFF = 0.1, 2.0, 3.0


def mass(place=None, speed=None, stiff=0.0):
    """A mass on a rail, on a spring of force ``-stiff x^3``."""
    bounds = {"joint": "x", "position": place, "velocity": speed}
    plant = Lagrangian(
        coordinates={"x": "m"},
        kinetic=f"{MASS}/2*v.x**2",
        potential=f"{stiff}/4*x**4",
        inputs={"F": {"x": 1.0}},
    )
    return Robot.build(
        plant, Options(limit=[] if place is speed is None else [bounds]), name="mass"
    )


STILL = (Rows(phi="x", unit="m"),)


def task(robot, servo=STILL, **given):
    usual = {"q": robot.neutral, "v": np.zeros(robot.nv), "period": H, "duration": 3.0}
    return Task(robot=robot, servo=servo, **{**usual, **given})


def inputs(law, t, q, v, memory=None):
    """Return the inputs of the horizon from a state on, of which the law gives the first."""
    dynamics = Dynamics(law.task.robot)
    dynamics.move(t, np.array(q), np.array(v))
    law.step(dynamics, law.memory if memory is None else memory)
    horizon, W, x = law._horizon.tables, law._horizon.W, law._deviations(dynamics)
    first, p = int(tick_index(horizon, dynamics.snapshot.clock)), len(horizon.F)
    z, planned = law._diagnostics.z.reshape(len(W), -1), []
    blocks = np.repeat(np.arange(len(W)), law._horizon.block_lengths)
    for j, block in enumerate(blocks.tolist()):
        if horizon.moving and first + j >= p:
            break
        at, motion, c = min(first + j, p - 1), law._motion_law, W[block] @ z[block]
        u = law.linear.u if motion is None else motion.nominal.input(t + (j + 0.5) * law._period)
        planned.append(u - horizon.K[at] @ x + c)
        x = horizon.F[at] @ x + horizon.B[at] @ c
    return np.array(planned)


def held(A, B, Q, R, h=H):
    """Return system and cost over a tick with the input held, by quadrature."""
    n, m = B.shape
    F = np.zeros((n + m, n + m))
    F[:n, :n], F[:n, n:] = A, B
    cost = quad_vec(lambda t: expm(t * F).T @ block_diag(Q, R) @ expm(t * F), 0.0, h)[0]
    step = expm(h * F)
    return step[:n, :n], step[:n, n:], cost


def least(H, f, G, g):
    """Return the ``U`` of least ``U'HU/2 + f'U`` with ``G U <= g``, by Lawson and Hanson."""
    L = np.linalg.cholesky(H)
    free = -np.linalg.solve(H, f)
    G, g = G[np.isfinite(g)], g[np.isfinite(g)]
    inward = -np.linalg.solve(L, G.T).T
    E = np.vstack([inward.T, G @ free - g])
    y, _ = nnls(E, np.append(np.zeros(len(f)), 1.0), maxiter=10_000)
    r = E @ y - np.append(np.zeros(len(f)), 1.0)
    return free + np.linalg.solve(L.T, -r[:-1] / r[-1])


def predicted(ticks, x0):
    """Return the deviations of all ticks as ``X = a + b U``, and the cost ``U'HU/2 + f'U``."""
    n, m, N = len(x0), ticks[0][1].shape[1], len(ticks)
    a, b = [x0], [np.zeros((n, N * m))]
    for k, (A, B, _) in enumerate(ticks):
        a.append(A @ a[-1])
        b.append(A @ b[-1])
        b[-1][:, k * m : (k + 1) * m] += B
    hessian, f = np.zeros((N * m, N * m)), np.zeros(N * m)
    for k, (_, _, cost) in enumerate(ticks):
        own = np.eye(N * m)[k * m : (k + 1) * m]
        whole, start = np.vstack([b[k], own]), np.append(a[k], np.zeros(m))
        hessian += 2.0 * whole.T @ cost @ whole
        f += 2.0 * whole.T @ cost @ start
    return np.array(a), np.array(b), hessian, f


def dense(ticks, S, x0, low, high, box):
    """Return the best inputs of a horizon; limits are deviations, ``box`` those of the states."""
    a, b, hessian, f = predicted(ticks, x0)
    hessian += 2.0 * b[-1].T @ S @ b[-1]
    f += 2.0 * b[-1].T @ S @ a[-1]
    one = np.eye(len(f))
    G = np.vstack([one, -one, *b[1:], *-b[1:]])
    g = np.concatenate([high, -low, *(box[1] - a[1:]), *(a[1:] - box[0])])
    return least(hessian, f, G, g)


A0, B0 = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0 / MASS]])
Q0, R0 = np.diag([5.0, 0.3]), np.array([[0.02]])
WEIGHTS = {"Q": (5.0, 0.3), "R": 0.02}


def riccati():
    A, B, cost = held(A0, B0, Q0, R0)
    return solve_discrete_are(A, B, cost[:2, :2], cost[2:, 2:], s=cost[:2, 2:])


BOXES = [(None, None), (None, 0.7), ((-0.02, 1.0), 0.7)]


@pytest.mark.slow(only=["None-None-state0-True", "None-None-state1-False"])
@pytest.mark.parametrize(("state", "binds"), [((0.9, 0.0), True), ((0.02, 0.01), False)])
@pytest.mark.parametrize(("place", "speed"), BOXES)
def test_the_inputs_of_a_horizon_are_those_of_a_dense_program(state, binds, place, speed):
    robot, N = mass(place, speed), 25
    law = ModelPredictive(**WEIGHTS, horizon=N * H, moves=N, limit=3.0)
    q, v = state
    found = inputs(law.start(task(robot)), 0.0, [q], [v])[:, 0]
    box = np.array([[-np.inf, -np.inf], [np.inf, np.inf]])
    if place is not None:
        box[:, 0] = place
    if speed is not None:
        box[:, 1] = -speed, speed
    limit = np.full(N, 3.0)
    wanted = dense([held(A0, B0, Q0, R0)] * N, riccati(), np.array([q, v]), -limit, limit, box)
    np.testing.assert_allclose(found, wanted, **SAME)
    assert (np.abs(wanted) > 3.0 - 1e-6).any() == binds


def test_a_final_weight_of_ones_own_is_that_of_the_dense_program():
    N, S = 8, np.diag([40.0, 2.0])
    law = ModelPredictive(**WEIGHTS, horizon=N * H, limit=3.0, Q_final=(40.0, 2.0))
    found = inputs(law.start(task(mass())), 0.0, [0.7], [0.2])[:, 0]
    everywhere = np.array([[-np.inf] * 2, [np.inf] * 2])
    ticks, limit = [held(A0, B0, Q0, R0)] * N, np.full(N, 3.0)
    wanted = dense(ticks, S, np.array([0.7, 0.2]), -limit, limit, everywhere)
    np.testing.assert_allclose(found, wanted, **SAME)


def test_limits_that_cannot_be_kept_give_way_by_least_squares():
    """Beside the dense program with a variable for every excess."""
    N, penalty, x0 = 12, 50.0, np.array([0.3, 1.0])
    law = ModelPredictive(**WEIGHTS, horizon=N * H, limit=1.0, penalty=penalty)
    started = law.start(task(mass((-1.0, 0.5))))
    found = inputs(started, 0.0, x0[:1], x0[1:])[:, 0]
    a, b, hessian, f = predicted([held(A0, B0, Q0, R0)] * N, x0)
    hessian += 2.0 * b[-1].T @ riccati() @ b[-1]
    f += 2.0 * b[-1].T @ riccati() @ a[-1]
    hessian = block_diag(hessian, 2.0 * penalty * H * np.eye(N))
    one, off = np.eye(N), np.zeros((N, N))
    G = np.block([[one, off], [-one, off], [b[1:, 0], -one], [-b[1:, 0], -one]])
    g = np.concatenate([np.ones(2 * N), 0.5 - a[1:, 0], a[1:, 0] + 1.0])
    wanted = least(hessian, np.append(f, np.zeros(N)), G, g)
    np.testing.assert_allclose(found, wanted[:N], **SAME)
    dynamics = Dynamics(started.task.robot)
    dynamics.move(0.0, x0[:1], x0[1:])
    told = started.signals(dynamics, started.memory)
    np.testing.assert_allclose(told["excess_ahead"].value, wanted[N:].max(), **SAME)
    assert told["excess_ahead"].components == ("x",)
    assert wanted[N:].max() > 0.05


def test_longer_and_longer_blocks_are_those_of_the_dense_program():
    """The changes of the gains' input are constant in a block; limits hold where blocks meet."""
    N, ends, x0 = 30, [1, 2, 4, 8, 15, 30], np.array([0.9, 0.3])
    law = ModelPredictive(**WEIGHTS, horizon=N * H, moves=6, limit=2.0).start(task(mass(None, 0.8)))
    found = inputs(law, 0.0, x0[:1], x0[1:])[:, 0]
    ticks, S = [held(A0, B0, Q0, R0)] * N, riccati()
    A, B, cost = ticks[0]
    K = np.linalg.solve(cost[2:, 2:] + B.T @ S @ B, B.T @ S @ A + cost[:2, 2:].T)

    def applied(x, c):
        u = []
        for k in range(N):
            u.append(-K @ x + c[np.searchsorted(ends, k, side="right")])
            x = A @ x + B @ u[-1]
        return np.array(u)[:, 0]

    start = applied(x0, np.zeros((6, 1)))
    T = np.column_stack([applied(0.0 * x0, column[:, None]) for column in np.eye(6)])
    a, b, hessian, f = predicted(ticks, x0)
    hessian += 2.0 * b[-1].T @ S @ b[-1]
    f += 2.0 * b[-1].T @ S @ a[-1]
    first = np.array([0, *ends[:-1]])
    speeds, speeds0 = b[ends, 1] @ T, a[ends, 1] + b[ends, 1] @ start
    G = np.vstack([T[first], -T[first], speeds, -speeds])
    g = np.concatenate([2.0 - start[first], 2.0 + start[first], 0.8 - speeds0, 0.8 + speeds0])
    c = least(T.T @ hessian @ T, T.T @ (hessian @ start + f), G, g)
    np.testing.assert_allclose(found, start + T @ c, **SAME)
    assert np.abs(c).max() > 0.1


def test_along_a_motion_it_is_the_dense_program_of_the_systems_there():
    """A mass on a spring that stiffens: ``x* = 0.5 sin 2t``, to the end of the run."""
    robot, N, duration = mass((-0.52, 0.52), stiff=STIFF), 15, 2.0
    servo = (Rows(phi="x - 0.5*sin(2*t)", unit="m"),)
    law = ModelPredictive(
        **WEIGHTS, horizon=N * H, moves=N, limit=3.0, follow="task", plan_step=0.01
    ).start(task(robot, servo, duration=duration))

    def place(t):
        return np.array([0.5 * np.sin(2.0 * t), np.cos(2.0 * t)])

    def driving(t):
        return -MASS * 2.0 * np.sin(2.0 * t) + STIFF * place(t)[0] ** 3

    def system(t):
        A = A0.copy()
        A[1, 0] = -3.0 * STIFF * place(t)[0] ** 2 / MASS
        return A, B0

    end = system(duration)
    S = solve_continuous_are(*end, Q0, R0)
    for t, off in ((0.3, [-0.6, -0.6]), (1.1, [-0.75, 0.3]), (1.6, [0.4, 0.5])):
        count = round((duration - t) / H)
        ticks = [held(*system(t + (k + 0.5) * H), Q0, R0) for k in range(count)]
        times = t + H * np.arange(count + 1)
        u = np.array([driving(s + 0.5 * H) for s in times[:-1]])
        if count > N:  # what is beyond the horizon is free of limits
            low = np.append(-3.0 - u[:N], np.full(count - N, -np.inf))
            high = np.append(3.0 - u[:N], np.full(count - N, np.inf))
        else:
            low, high = -3.0 - u, 3.0 - u
        box = np.array([[[-0.52 - place(s)[0], -np.inf] for s in times[1:]],
                        [[0.52 - place(s)[0], np.inf] for s in times[1:]]])  # fmt: skip
        box[0, N:], box[1, N:] = -np.inf, np.inf
        q, v = place(t) + off
        wanted = u + dense(ticks, S, np.array(off), low, high, box)
        found = inputs(law, t, [q], [v])[:, 0]
        assert len(found) == min(N, count)
        np.testing.assert_allclose(found, wanted[: len(found)], rtol=0.0, atol=1e-5)  # the plan
        assert np.abs(found).max() > 3.0 - 1e-9


@pytest.mark.parametrize(
    ("phi", "given", "told"),
    [("x - 0.1*t", {}, True), ("x - 0.1", {}, False), ("x - 0.1*t", {"follow": "task"}, False),
     ("x - 0.1*t", {"duration": np.inf}, False)],
)  # fmt: skip
def test_a_law_about_an_equilibrium_says_that_it_does_not_follow_a_task(phi, given, told):
    follow = {"follow": given.get("follow", "equilibrium")}
    law = ModelPredictive(**WEIGHTS, **follow, horizon=1.0, limit=3.0).start(
        task(mass(), (Rows(phi=phi, unit="m"),), duration=given.get("duration", 3.0))
    )
    texts = [verdict.text for verdict in law.remarks() if verdict.level == "warning"]
    assert any("does not follow" in text for text in texts) is told


CASES = {
    "arm": (Robot.load("two_link"), (Rows(phi=("shoulder - 0.5", "elbow - 0.4")),), [0.4, 0.4]),
    "cart": (
        Robot.load("cart_pole"),
        (Rows(phi=("cart", "pole_sin")),),
        [0.1, np.cos(3.0), np.sin(3.0)],
    ),
}


@pytest.mark.parametrize(("robot", "servo", "q"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("moves", [1, 4, 100])
def test_where_no_limit_is_in_the_way_it_is_lqr(robot, servo, q, moves):
    at = task(robot, servo, q=np.array(q), period=0.01)
    weights = {"Q": {"q": 30.0, "v": 2.0}, "R": 0.3}
    free = ModelPredictive(**weights, horizon=0.3, moves=moves, limits=()).start(at)
    lqr = Lqr(**weights).start(at)
    for seed in range(5):
        v = np.random.default_rng(seed).standard_normal(robot.nv)
        u = free.command(0.0, at.q, v, free.memory).u
        np.testing.assert_allclose(u, lqr.command(0.0, at.q, v).u, **SAME)
    np.testing.assert_allclose(np.sort_complex(free.poles), np.sort_complex(lqr.poles), **SAME)


def linkage(**limit):
    """Four-bar linkages in a row with one motor; the rods' rates depend on each other."""
    motor = {"kind": "joint", "joint": "rod0_angle", **limit}
    return {
        "use": "n_four_bar",
        "actuator": [motor],
        "limit": [{"joint": "rod1_angle", "velocity": 0.2}],
    }


def test_a_closed_chain_is_lqr_until_a_joint_that_its_loops_move_is_as_fast_as_it_may():
    weights = {"Q": 1e3, "R": 0.01}
    run = Scenario(
        title="bars", robot=linkage(limit=200.0), controller=Lqr(**weights),
        servo=(Rows(phi="rod0_angle - pi/2 + 0.3", unit="rad"),), start={"q": {}},
        timing={"duration": 1.0, "sample": 0.01, "control": 0.01},
    )  # fmt: skip
    bound = ModelPredictive(**weights, horizon=0.2)
    free = dc.replace(bound, limits=())
    lqr, same, kept = (
        simulate(run.replace({"controller": c})) for c in (run.controller, free, bound)
    )
    np.testing.assert_allclose(same["u"], lqr["u"], **SAME)
    rod = lqr.labels.dofs.index("rod1_angle")
    assert np.abs(lqr["v"][:, rod]).max() > 0.3
    assert np.abs(kept["v"][:, rod]).max() < 0.201


@pytest.mark.slow
def test_where_no_limit_is_in_the_way_it_is_the_regulator_along_the_motion():
    helix = Scenario.load("scara-helix", {"timing": {"duration": 1.0, "sample": 0.05}})
    weights = {"Q": {"q": 1e4, "v": 100.0}}
    push = {"start.v": {"q1": 0.0, "q4": 0.3}, "timing.control": 0.005}
    bound = ModelPredictive(**weights, horizon=0.1, follow="task", limit=1e6)
    runs = [simulate(helix.replace({"controller": c, **push})) for c in (bound, Tvlqr(**weights))]
    assert [run.status for run in runs] == ["completed"] * 2
    np.testing.assert_allclose(runs[0]["u"], runs[1]["u"], **SAME)
    assert runs[0].provenance["timing"]["programs"] == 0
    np.testing.assert_array_equal(runs[0]["u_planned"], runs[1]["u_planned"])


def answers(law, seed):
    """Return states of a mass between its limits, and what the law answers to each."""
    rng = np.random.default_rng(seed)
    states = [(rng.uniform(-0.5, 0.9, 1), rng.uniform(-0.6, 0.6, 1)) for _ in range(40)]
    return states, [law.command(0.0, q, v, law.memory).u for q, v in states]


@pytest.mark.parametrize("moves", [20, 5])
def test_where_the_solver_begins_changes_nothing_but_the_time(moves):
    spec = ModelPredictive(**WEIGHTS, horizon=20 * H, moves=moves, limit=2.0)
    law, other = (spec.start(task(mass((-0.6, 1.0), 0.7))) for _ in range(2))
    states, cold = answers(law, 3)
    rng = np.random.default_rng(4)
    for (q, v), u in zip(states, cold, strict=True):
        memory = rng.integers(-1, 2, len(law.memory)).astype(float)
        np.testing.assert_allclose(law.command(0.0, q, v, memory).u, u, rtol=0.0, atol=1e-7)
    # Nothing of all that is left: the same bits as of a law that was never asked.
    for (q, v), u in reversed(list(zip(states, cold, strict=True))):
        np.testing.assert_array_equal(law.command(0.0, q, v, law.memory).u, u)
        np.testing.assert_array_equal(other.command(0.0, q, v, other.memory).u, u)


def test_the_next_tick_begins_where_the_last_one_ended():
    law = ModelPredictive(**WEIGHTS, horizon=2.5, moves=25, limit=1.0).start(task(mass()))
    x, memory, cold, warm = np.array([1.5, 0.0]), law.memory, [], []
    A, B, _ = held(A0, B0, Q0, R0)
    dynamics = Dynamics(law.task.robot)
    for _ in range(12):
        dynamics.move(0.0, x[:1], x[1:])
        law.step(dynamics, law.memory)
        cold.append(law.signals(dynamics, memory)["iterations"].value)
        u, rate, *_ = law.step(dynamics, memory)
        warm.append(law.signals(dynamics, memory)["iterations"].value)
        memory = memory + H * rate
        x = A @ x + B @ u
    assert warm[0] == cold[0] > 5
    assert sum(warm[1:]) < 0.4 * sum(cold[1:])


POLE = {"Q": {"cart": 10.0, "pole": 10.0, "v.cart": 1.0, "v.pole": 1.0}}
LOOK = {"horizon": 1.0, "moves": 100}


def pushed(controller, limit, speed):
    """Return how far a pole's cart goes after a push, and whether the pole stays up."""
    run = Scenario.load(
        "cart-pole-swing-up",
        {
            "start": {"q": {"pole": "180*deg"}, "v": {"pole": speed}},
            "timing": {"duration": 4.0, "sample": 0.02, "control": 0.01},
        },
    ).replace({"controller": controller, "effect": [{"kind": "saturation", "limit": limit}]})
    result = simulate(run)
    assert np.abs(result["u"]).max() <= limit
    return np.abs(result["q"][:, 0]).max(), result.metric("final_phi") < 0.02


def test_a_push_that_saturated_lqr_of_the_same_weights_does_not_stand_is_stood():
    """LQR with ten times the weight of inputs stands it as well: its law happens to be better."""
    assert not pushed(Lqr(**POLE, R=0.1), 3.0, 1.5)[1]
    assert pushed(Lqr(**POLE, R=1.0), 3.0, 1.5)[1]
    assert pushed(ModelPredictive(**POLE, R=0.1, **LOOK, limit=3.0, limits=("inputs",)), 3.0, 1.5)[
        1
    ]


def test_a_cart_stays_on_its_track_where_no_lqr_would():
    for R in (1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0):
        track, up = pushed(Lqr(**POLE, R=R), 5.0, 1.6)
        assert track > 0.4 or not up
    track, up = pushed(ModelPredictive(**POLE, R=0.1, **LOOK, limit=5.0), 5.0, 1.6)
    assert up
    assert track < 0.4 + 1e-3  # the model is linear


def arm(controller, **changes):
    """Return the run of an arm that is sent to near a limit of its elbow, which is at 2.8 rad."""
    usual = {"start": {"q": {"shoulder": 0.2, "elbow": 2.0}}}
    return simulate(
        Scenario(
            title="near the end", robot="two_link", controller=controller,
            servo=(Rows(phi=("shoulder - 0.3", "elbow - 2.785"), unit="rad"),),
            timing={"duration": 2.0, "sample": 0.01, "control": 0.01}, **{**usual, **changes},
        )
    )  # fmt: skip


def test_joints_stay_within_their_limits_of_place_and_speed():
    weights = {"Q": {"q": 3e4, "v": 10.0}, "R": 1.0}
    free = arm(Lqr(**weights), effect=[{"kind": "saturation"}])
    kept = arm(ModelPredictive(**weights, horizon=0.4, moves=40))
    assert free["q"][:, 1].max() > 2.803
    assert np.abs(free["v"]).max() > 10.0
    assert kept.status == "completed"
    assert kept["q"][:, 1].max() < 2.8
    assert np.abs(kept["v"]).max() < 6.1  # of 6.0: the model is that of the end of the motion
    assert (np.abs(kept["u"]) <= Robot.load("two_link").effort_limit).all()
    assert kept.metric("final_phi") < 1e-3
    assert not kept["excess_ahead"].any()
    assert not kept["speed_excess_ahead"].any()
    assert kept["active_limits"].max() > 0.0
    timing = kept.provenance["timing"]
    assert timing["worst_program_us"] >= timing["mean_program_us"] > 0.0


def test_an_arm_beyond_its_limit_is_brought_back_or_stops_the_run():
    start = {"start": {"q": {"shoulder": 0.3, "elbow": 2.785}, "v": {"elbow": 5.0}}}
    weights = {"Q": {"q": 3e4, "v": 10.0}, "horizon": 0.2}
    soft = arm(ModelPredictive(**weights), **start)
    assert soft.status == "completed"
    assert soft["excess_ahead"].max() > 0.01
    assert soft["q"][-1, 1] < 2.8
    (said,) = [each.text for each in soft.verdicts if each.subject == "limits ahead"]
    assert "no admissible input kept all limits over the horizon" in said
    assert "Exceeded: 'elbow' by up to 0.0" in said
    hard = arm(ModelPredictive(**weights, on_conflict="stop"), **start)
    assert hard.status == "infeasible"
    assert "no inputs within their limits keep those of 'elbow'" in hard.message
    assert 'on_conflict = "soften"' in hard.message


@pytest.mark.slow
def test_along_a_motion_the_joints_keep_their_speed_where_the_plan_is_at_its_limits():
    """A SCARA on its helix, begun beside it; on it the first joint goes with 0.16 rad/s."""
    limit = [{"joint": "q1", "velocity": 0.3}]
    helix = Scenario.load(
        "scara-helix",
        {
            "robot": {"use": "scara", "limit": limit},
            "timing": {"duration": 4.0, "sample": 0.02, "control": 0.005},
            "start.q": {"q1": -0.2, "q2": 0.958, "q3": -0.5, "q4": 0.0},
        },
    )
    weights = {"Q": {"q": 1e4, "v": 100.0}}
    free = simulate(helix.replace({"controller": Tvlqr(**weights)}))
    bound = ModelPredictive(**weights, horizon=0.1, follow="task", limit=40.0)
    kept = simulate(helix.replace({"controller": bound}))
    assert np.abs(free["v"][:, 0]).max() > 0.6
    assert kept.status == "completed"
    assert np.abs(kept["v"][:, 0]).max() < 0.301
    assert np.abs(kept["u"]).max() <= 40.0
    assert kept.metric("final_phi") < 0.05 * kept.metric("peak_phi")


def test_a_hovering_body_on_its_manifold_asks_no_propeller_to_pull():
    hover = Scenario.load(
        "quadrotor-hover", {"timing": {"duration": 4.0, "sample": 0.02, "control": 0.02}}
    )
    weights = {"Q": {"q": 10.0, "v": 1.0}, "R": 0.1}
    free, kept = (
        simulate(hover.replace({"controller": law}))
        for law in (Lqr(**weights), ModelPredictive(**weights, horizon=0.4))
    )
    assert free["u"].min() < -1.0
    assert kept.status == "completed"
    assert kept["u"].min() >= 0.0
    assert kept.metric("final_phi") < 0.05


@pytest.mark.parametrize("follow", ["equilibrium", "task"])
def test_it_conforms_where_limits_bind_as_well(follow):
    near = Scenario(
        title="near the end", robot="two_link", controller=Lqr(),
        servo=(Rows(phi=("shoulder - 0.3 - 0.1*t", "elbow - 2.785"), unit="rad"),),
        start={"q": {"shoulder": 0.2, "elbow": 2.0}},
        timing={"duration": 0.1, "sample": 0.02, "control": 0.01},
    )  # fmt: skip
    law = ModelPredictive(Q={"q": 3e4, "v": 10.0}, horizon=0.2, follow=follow)
    conformance.CONTROLLER.examine(conformance.ControllerCase(law, near), "mpc").confirm()
    run = simulate(near.replace({"controller": law}))
    assert run.provenance["timing"]["programs"] >= 5


def test_a_check_says_how_large_the_programs_are():
    task = {"timing": {"duration": 0.1, "sample": 0.01, "control": 0.001}}
    pose = Scenario.load("panda-pose-sampled", {**task, "controller": {"use": "mpc-along"}})
    said = [note for note in check(pose).notes if "a program of" in note]
    assert said == [
        "where a limit is in the way, a tick solves a program of 70 unknowns and 210 limits in "
        "some 50 µs, and up to 10 times as long where many limits become active at once; the "
        "control period is 1 ms."
    ]
    larger = pose.replace({"controller.moves": 50, "controller.horizon": 0.05})
    assert [text for text in check(larger).warnings if "Take fewer moves." in text]


def test_it_is_designed_and_analysed_as_the_regulator_that_it_continues():
    pole = {"start": {"q": {"pole": "180*deg"}}, "timing": {"duration": 2.0, "control": 0.01}}
    weights = {"Q": {"cart": 100.0, "pole": 10.0}, "R": 0.1}
    upright = Scenario.load("cart-pole-swing-up").replace(pole)
    lqr = upright.replace({"controller": Lqr(**weights)})
    mpc = upright.replace({"controller": ModelPredictive(**weights, horizon=0.5, limit=5.0)})
    slow = ErrorSpec(settling=3.0)
    assert designed(mpc, slow).gains == designed(lqr, slow).gains
    with pytest.raises(InputError, match="no gains of 'mpc' are found for settling in 3 s"):
        designed(mpc.replace({"controller.follow": "task"}), slow)
    rates = linear_loop(mpc).rates()
    lasting = np.sort_complex(rates[np.isfinite(rates)])  # its memory is forgotten in a tick
    np.testing.assert_allclose(lasting, np.sort_complex(linear_loop(lqr).rates()), rtol=1e-7)


@pytest.mark.parametrize(
    "effect",
    [
        {"kind": "missed_ticks", "probability": 0.3},
        {"kind": "jitter", "bound": 1e-3},
        {"kind": "noise", "std": 1e-3},
    ],
    ids=lambda effect: effect["kind"],
)
def test_runs_repeat_bit_for_bit_however_uneven_the_ticks(effect):
    law = ModelPredictive(Q={"q": 3e4, "v": 10.0}, horizon=0.2)
    first, second = (arm(law, effect=[effect]) for _ in range(2))
    for name in ("u", "q", "iterations", "active_limits"):
        np.testing.assert_array_equal(first[name], second[name])
    assert first.status == "completed"


def test_a_late_program_is_warned_of():
    run = arm(ModelPredictive(Q={"q": 3e4, "v": 10.0}, horizon=0.4))
    timing = {**run.provenance["timing"], "worst_program_us": 2e4}
    prompt, late = (
        dc.replace(run, provenance={**run.provenance, "timing": {**timing, "late_programs": count}})
        for count in (0, 3)
    )
    assert (prompt.metric("late_programs"), late.metric("late_programs")) == (0.0, 3.0)
    assert not [each for each in judge(prompt) if each.subject == "pace"]
    (said,) = [each for each in judge(late) if each.subject == "pace"]
    assert said.level == "warning"
    assert "3 took longer than the control period on this machine, 20 ms at worst" in said.text


def test_a_program_that_is_not_finished_ends_the_run_by_name():
    run = arm(ModelPredictive(Q={"q": 3e4}, horizon=0.4, iterations=2))
    assert run.status == "infeasible"
    assert "40 unknowns and 120 limits was not solved within 2 iterations" in run.message


ARM = Robot.load("two_link")
ELBOW = (Rows(phi=("shoulder - 0.5", "elbow - 0.4")),)


@pytest.mark.parametrize(
    ("robot", "servo", "given", "error", "said"),
    [
        (ARM, ELBOW, {"period": None}, InputError, "give timing.control"),
        (Robot.load("scara"), (), {}, GainError, "mpc must have limits to keep.*'scara' has none"),
        (
            ARM,
            ELBOW,
            {"duration": np.inf, "law": {"follow": "task"}},
            InputError,
            "finite duration",
        ),
        (ARM, ELBOW, {"law": {"q": (0.1,)}}, InputError, "one number a coordinate, 2; got 1"),
        (ARM, ELBOW, {"law": {"R": 0.0}}, GainError, "R must be positive definite"),
        (ARM, ELBOW, {"law": {"Q_final": (1.0,)}}, GainError, "Q_final must be a number"),
        (ARM, ELBOW, {"law": {"moves": 10**9, "horizon": 100.0}}, GainError, "moves must leave"),
        (ARM, ELBOW, {"law": {"limit": (50.0, 60.0)}}, GainError, "must leave it some input"),
    ],
)
def test_what_it_cannot_do_is_refused(robot, servo, given, error, said):
    given = {"period": 0.01, **given}
    law = ModelPredictive(**{"horizon": 0.1, **given.pop("law", {})})
    with pytest.raises(error, match=said):
        law.start(task(robot, servo, **given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"plan_step": 0.1}, 'plan_step goes with follow = "task"'),
        (
            {"along": Servo(feedback=Baumgarte(alpha=1.0, beta=1.0))},
            'along goes with follow = "task"',
        ),
        ({"follow": "task", "q": (0.0, 0.0)}, 'q goes with follow = "equilibrium"'),
    ],
)
def test_settings_that_would_be_forgotten_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        ModelPredictive(horizon=0.1, **given)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "horizon"),
        ({"horizon": 0.0}, "horizon"),
        ({"horizon": 0.1, "moves": 0}, "moves"),
        ({"horizon": 0.1, "moves": 2.5}, "moves"),
        ({"horizon": 0.1, "limits": ["torques"]}, "limits"),
        ({"horizon": 0.1, "penalty": -1.0}, "penalty"),
        ({"horizon": 0.1, "horizn": 0.1}, "did you mean 'horizon'"),
        ({"horizon": float("nan")}, "horizon"),
    ],
)
def test_a_file_that_is_wrong_is_told_where(settings, said):
    with pytest.raises(InputError, match=said):
        Scenario.load("scara-helix", {"controller": {"kind": "mpc", **settings}})
