"""What a run keeps: one row of every quantity at each output time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.controller import Command, Law
from ukctrl.core.algebra import kernels_large
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.integrator import State
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.records import Trail
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.samples import Signal
from ukctrl.uk import RankReport, servo_matrix

BATCH = 4_000_000
"""Entries of matrices that wait for their products: more take memory and save nothing."""
OF_THE_ROWS = ("rank", "sigma_min", "reach")


@final
class Recorder:
    """Arrays that fill up sample by sample, readable at any moment.

    Errors are measured on the true robot, whatever the law believes.
    """

    def __init__(
        self,
        truth: Dynamics,
        servo: Stack,
        law: Law,
        capacity: int,
        watched: Sequence[str],
        conditions: Conditions,
    ) -> None:
        robot = truth.robot
        self.truth, self.law = truth, law
        # Where the law enforces these very rows on this very robot, they are written already.
        same = law.stack.constraints is servo.constraints and law.stack.robot is robot
        self._shared = same and not conditions.senses
        self.servo = law.stack if self._shared else servo
        # With motors alone, the power follows from what is recorded anyway.
        changes = conditions.acts_on_plant
        self._forced = robot.forces.any or len(truth.passive) > 0 or changes
        self.trail = Trail(conditions, robot, capacity)
        self.count = 0
        self.ticks, self.tick_seconds = 0, 0.0
        self.memory = law.memory
        """Memory of the law at the last sample."""
        n, m, mp = capacity, len(servo), len(truth.passive)
        held = tuple(dict.fromkeys(t.frame for t in servo.traces()))
        self._watched = tuple(
            (len(held) + k, robot.site(name))
            for k, name in enumerate(name for name in dict.fromkeys(watched) if name not in held)
        )
        self.frames = tuple(dict.fromkeys((*held, *watched)))
        shapes: dict[str, tuple[int, ...]] = {
            "q": (robot.nq,),
            "v": (robot.nv,),
            "a": (robot.nv,),
            "u": (robot.nu,),
            "phi": (m,),
            "beta": (m,),
            "passive_phi": (mp,),
            "passive_beta": (mp,),
            "passive_force": (robot.nv,),
            "energy": (),
            "power": (),
            "actuator_rate": (robot.nu,),
            "frame_position": (len(self.frames), 3),
            "frame_reference": (len(self.frames), 3),
        }
        self.time: Vector = np.zeros(n)
        if mp:
            shapes |= {"passive_rank": (), "passive_sigma_min": (), "passive_sigma_dropped": ()}
            shapes |= {"reaction": (mp,), "reaction_residual": (), "reaction_power": ()}
            shapes |= {"nonideal_force": (robot.nv,)} if truth.rubs else {}
        self.arrays = {name: np.zeros((n, *shape)) for name, shape in shapes.items()}
        self.arrays |= self.trail.arrays
        self._first: RankReport | None = None
        self._asked = False
        self._sharing: tuple[str, ...] = ()
        self.arrays["frame_reference"].fill(np.nan)
        # Products of these are formed for many samples at once.
        size = min(n, max(1, BATCH // (robot.nv * (robot.nv + m + robot.nu) + 1)))
        self._M: Matrix = np.zeros((size, robot.nv, robot.nv))
        self._A, self._demand = np.zeros((size, m, robot.nv)), np.zeros((size, m))
        self._G, self._a_free = np.zeros((size, robot.nv, robot.nu)), np.zeros((size, robot.nv))
        self._worked_out = 0
        self._kinetic: Vector = np.zeros(n)
        self._grip: dict[str, Vector] | None = {name: np.zeros(n) for name in OF_THE_ROWS}
        self._signals: dict[str, list[float | Vector]] = {}
        self._texts: dict[str, tuple[str, str, tuple[str, ...]]] = {}

    def keep(self, t: float, state: State, command: Command, belief: Dynamics) -> None:
        """Keep one sample; both robots must have been moved to the state, and the law stepped."""
        k, arrays, truth, u = self.count, self.arrays, self.truth, command.u
        if k - self._worked_out == len(self._M):
            self._work_out()
        at = k - self._worked_out
        s = truth.snapshot
        # A law that returns its demand has just written its rows, here.
        asks = command.demand is not None
        shared = self._shared and asks
        self._asked = self._asked or asks
        rows = self.servo.rows if shared else self.servo.write(s)
        a = truth.acceleration(u)
        self.time[k], self.memory = t, state.memory
        arrays["q"][k] = state.q
        arrays["v"][k] = state.v
        arrays["a"][k] = a
        arrays["u"][k] = u
        arrays["phi"][k] = rows.phi
        arrays["beta"][k] = rows.beta
        arrays["actuator_rate"][k] = s.v @ s.B
        self._M[at] = s.M
        arrays["energy"][k] = s.potential_energy()
        if len(truth.passive):
            self._keep_passive(k, a, u)
        if self._forced:
            arrays["power"][k] = truth.power(a, u)
        self._A[at] = rows.A
        self._G[at] = truth.G
        self._a_free[at] = truth.a_free
        self._demand[at] = command.demand if shared else rows.b
        for trace in self.servo.traces():
            place = self.frames.index(trace.frame)
            arrays["frame_position"][k, place] = trace.position
            arrays["frame_reference"][k, place] = trace.reference
        for place, site in self._watched:
            arrays["frame_position"][k, place] = s.point(site)
        own = self.law.signals(belief, state.memory)
        for name, signal in (*own.items(), *self.trail.keep(k, s)):
            self._signals.setdefault(name, []).append(signal.value)
            self._texts[name] = signal[1:]
        self.count = k + 1  # last, so that an interruption never leaves half a sample

    def _keep_passive(self, k: int, a: Vector, u: Vector) -> None:
        arrays, truth = self.arrays, self.truth
        passive, force = truth.passive.rows, truth.passive_force(a, u)
        lam = truth.reactions(force)
        arrays["passive_phi"][k] = passive.phi
        arrays["passive_beta"][k] = passive.beta
        arrays["passive_force"][k] = force
        arrays["passive_rank"][k] = truth.passive_rank
        arrays["passive_sigma_min"][k], arrays["passive_sigma_dropped"][k] = truth.margins
        arrays["reaction"][k] = lam
        rest = force - truth.nonideal - lam @ passive.A
        arrays["reaction_residual"][k] = np.linalg.norm(rest)
        arrays["reaction_power"][k] = lam @ passive.beta
        if truth.rubs:
            arrays["nonideal_force"][k] = truth.nonideal
        if self._first is None:
            self._first, self._sharing = truth.passive_report(), truth.sharing()

    def keep_supplied_energy(self) -> None:
        """Make room for the energy fed to the robot, where the loop integrates it."""
        self.arrays["supplied_energy"] = np.zeros(len(self.time))

    def supply(self, energy: float) -> None:
        """Note the energy fed so far [J] for the sample that is kept next."""
        self.arrays["supplied_energy"][self.count] = energy

    def samples(self) -> tuple[Vector, dict[str, NDArray[np.float64]]]:
        """Return the times and arrays so far, with rank, grip and reach worked out."""
        n = self.count
        arrays = {name: array[:n] for name, array in self.arrays.items()}
        if not self._forced:
            arrays["power"] = np.einsum("ki,ki->k", arrays["u"], arrays["actuator_rate"])
        self._work_out()
        arrays["kinetic_energy"] = self._kinetic[:n]
        arrays["energy"] = arrays["energy"] + arrays["kinetic_energy"]
        if self._grip is not None and n:
            arrays.update({name: array[:n] for name, array in self._grip.items()})
        return self.time[:n], arrays

    def _work_out(self) -> None:
        """Form the products of the samples that wait for it, and make room for others."""
        first, last = self._worked_out, self.count
        size = last - first
        A, M, a_free = self._A[:size], self._M[:size], self._a_free[:size]
        v = self.arrays["v"][first:last]
        self._kinetic[first:last] = 0.5 * np.einsum("ki,kij,kj->k", v, M, v)
        if self._grip is not None and size:
            d = self._demand[:size] - np.einsum("kij,kj->ki", A, a_free)
            H = servo_matrix(A, self._G[:size], self.truth.rank)
            quantities = _grip(H, d, self.truth.rank)
            for name, values in quantities.items():
                self._grip[name][first:last] = values
            self._grip = self._grip if quantities else None
        self._worked_out = last

    def rows_demanded(self) -> bool | None:
        """Return whether the law ever asked the servo rows for an acceleration; None without."""
        return self._asked if len(self.servo) and self.count else None

    def passive(self) -> dict[str, object]:
        """Return how the rank of the passive rows was decided; empty where there are none."""
        n, first = self.count, self._first
        if first is None or n == 0:
            return {}
        return {
            "rows": len(self.truth.passive),
            "rank": first.rank,
            "redundant": list(first.dependent),
            "sharing": list(self._sharing),
            "lowest_rank": int(self.arrays["passive_rank"][:n].min()),
            "smallest_kept": float(self.arrays["passive_sigma_min"][:n].min()),
            "largest_dropped": float(self.arrays["passive_sigma_dropped"][:n].max()),
        }

    def signals(self) -> dict[str, Signal]:
        """Return the signals of the law and of the effects so far."""
        signals = {}
        for name, values in self._signals.items():
            units, words, components = self._texts[name]
            signals[name] = Signal(
                values=np.array(values[: self.count]),
                units=units,
                long_name=words,
                components=components,
            )
        return signals

    def labels(self) -> Labels:
        """Return the names along every axis."""
        robot, servo, passive = self.truth.robot, self.servo, self.truth.passive
        return Labels(
            coordinates=robot.coordinates,
            coordinate_units=robot.coordinate_units,
            dofs=robot.dofs,
            dof_units=robot.dof_units,
            actuators=robot.actuators,
            actuator_units=robot.actuator_units,
            effort_limit=tuple(robot.effort_limit.tolist()),
            rows=servo.names,
            row_units=servo.units,
            row_blocks=servo.blocks,
            passive_rows=passive.names,
            passive_row_units=passive.units,
            passive_row_blocks=passive.blocks,
            frames=self.frames,
        )


def _grip(H: Matrix, d: Matrix, rank: RankPolicy) -> dict[str, Vector]:
    """Return rank, smallest kept singular value and reach residual of every sample."""
    n = len(H)
    if not H.size or not np.isfinite(H).all():
        return {}
    if H.shape[1] >= kernels_large.SIZE and all(
        kernels_large.rows_are_separate(each) for each in H
    ):
        sigma = np.linalg.norm(H, axis=2)
        counts = sigma > rank.servo * sigma.max(axis=1, keepdims=True)
        return {
            "rank": counts.sum(axis=1).astype(np.float64),
            "sigma_min": np.where(
                counts.any(axis=1), np.where(counts, sigma, np.inf).min(axis=1), 0.0
            ),
            "reach": np.linalg.norm(np.where(counts, 0.0, d), axis=1),
        }
    U, sigma, _ = np.linalg.svd(H, full_matrices=False)
    counts = sigma > rank.servo * sigma.max(axis=1, keepdims=True)
    ranks = counts.sum(axis=1)
    along = np.einsum("kij,ki->kj", U, d) * counts
    residual = d - np.einsum("kij,kj->ki", U, along)
    last = np.maximum(ranks - 1, 0)
    return {
        "rank": ranks.astype(np.float64),
        "sigma_min": np.where(ranks > 0, sigma[np.arange(n), last], 0.0),
        "reach": np.linalg.norm(residual, axis=1),
    }
