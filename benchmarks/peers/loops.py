"""Closed loops in tidy NumPy, for contestants that bring a law and a plant.

Samples are taken every 10 ms: the state goes on from the last one, the torques are told of each.
"""

from __future__ import annotations

import numpy as np

SAMPLE = 0.01
"""Time between samples [s]."""
STEP = 1e-3
"""Step of the method of fixed steps [s]."""


def rk4(acceleration):
    """Return what advances a plant by one step of RK4, from its acceleration under torques held."""

    def advance(q, v, u, h=STEP):
        a1 = acceleration(q, v, u)
        v2 = v + 0.5 * h * a1
        a2 = acceleration(q + 0.5 * h * v, v2, u)
        v3 = v + 0.5 * h * a2
        a3 = acceleration(q + 0.5 * h * v2, v3, u)
        v4 = v + h * a3
        a4 = acceleration(q + h * v3, v4, u)
        return q + h / 6.0 * (v + 2.0 * (v2 + v3) + v4), v + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)

    return advance


def pinocchio_plant(case, scale):
    """Return what advances a robot whose masses are other ones, by Pinocchio's forward dynamics."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(case.urdf)
    for joint, factor in enumerate(scale, start=1):
        body = model.inertias[joint]
        model.inertias[joint] = pin.Inertia(factor * body.mass, body.lever, factor * body.inertia)
    data = model.createData()
    return rk4(lambda q, v, u: pin.aba(model, data, q, v, u))


def sampled(law, advance, case, tasks, seconds):
    """Run a law at a fixed rate, the torques held; return the last state and samples of torques.

    Args:
        law: Torques from q, v, the number of a tick and references.
        advance: From q, v and torques to the next q and v.
        case: The case.
        tasks: The references of all ticks.
        seconds: How long the motion lasts.
    """
    q, v = np.array(case["loops"]["q"]), np.array(case["loops"]["v"])
    told, every = [], round(SAMPLE / STEP)
    for k in range(round(seconds / STEP)):
        u = law(q, v, k, tasks)
        if k % every == 0:
            told.append(u)
        q, v = advance(q, v, u)
    return np.concatenate([q, v]), told


class Arms:
    """The arms in the angles of their links, which the joints' sum up to.

    Args:
        case: The case.
        motion: From q, v and the references to torques and accelerations, as the case has them.
    """

    def __init__(self, case, motion) -> None:
        self.motion, self.tasks = motion, case.references()
        self.sums = np.tril(np.ones((5, 5)))
        self.differences = np.linalg.inv(self.sums)
        self.y = np.concatenate([case["loops"]["q"], np.zeros(5)])
        self.seconds = case["loops"]["seconds"]

    def both(self, t, y):
        """Return torques and rate of a state."""
        (task,), s, c = self.tasks, np.sin(t), np.cos(t)
        task["position"][0, 1] = 0.5 * (1.0 - c)
        task["velocity"][0, 1], task["acceleration"][0, 1] = 0.5 * s, 0.5 * c
        u, a = self.motion(self.differences @ y[:5], self.differences @ y[5:], 0, self.tasks)
        return u, np.concatenate([y[5:], self.sums @ a])

    def rate(self, t, y):
        """Return the rate of a state."""
        return self.both(t, y)[1]

    def rk4(self):
        """Return state and torques by steps of 1 ms."""
        y, h, told, every = self.y, STEP, [], round(SAMPLE / STEP)
        for k in range(round(self.seconds["rk4"] / h)):
            t = k * h
            u, k1 = self.both(t, y)
            if k % every == 0:
                told.append(u.copy())
            k2 = self.rate(t + 0.5 * h, y + 0.5 * h * k1)
            k3 = self.rate(t + 0.5 * h, y + 0.5 * h * k2)
            k4 = self.rate(t + h, y + h * k3)
            y = y + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        return y, told

    def adaptive(self, method):
        """Return state and torques by a method of SciPy."""
        from scipy.integrate import solve_ivp

        duration = self.seconds[method]
        times = SAMPLE * np.arange(round(duration / SAMPLE))
        times = np.append(times, duration)
        found = solve_ivp(
            self.rate, (0.0, duration), self.y, method.upper(), times, rtol=1e-9, atol=1e-9
        )
        states = zip(times[:-1], found.y.T[:-1], strict=True)
        return found.y[:, -1], [self.both(t, y)[0] for t, y in states]

    def loops(self, adaptive=False):
        """Return what can be run."""
        by_scipy = {name: lambda name=name: self.adaptive(name) for name in ("rk45", "dop853")}
        return {"rk4": self.rk4} | (by_scipy if adaptive else {})


def panda_loops(case, law, plants, tasks=None):
    """Return the loops of the Panda: ten seconds, and rollouts of robots with other masses.

    Args:
        case: The case.
        law: Torques from the number of a tick, q, v and references.
        plants: From factors of the masses to what advances a plant, see `sampled`.
        tasks: The references of all ticks, where the law wants them in another form.
    """
    scales, seconds = case["loops"]["mass_scale"], case["loops"]["seconds"]
    tasks = case.sampled() if tasks is None else tasks
    nominal = plants(np.ones(len(scales[0])))

    def rollouts():
        runs = [sampled(law, plants(scale), case, tasks, seconds["rollouts"]) for scale in scales]
        return [y for y, _ in runs], [u[-1] for _, u in runs]

    return {
        "sampled": lambda: sampled(law, nominal, case, tasks, seconds["sampled"]),
        "rollouts": rollouts,
    }
