"""What a run keeps: one row of every quantity at each output time.

Rows gather in a block, whose products are formed at once; full blocks go to the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from ukctrl.control.controller import Law
from ukctrl.control.tick import Command
from ukctrl.core.algebra.grip import WEAK
from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.errors import ShapeError
from ukctrl.core.extremes import EQUAL_RTOL
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.system import State
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.records import Trail
from ukctrl.simulation.loop.row_grip import OF_THE_ROWS, of_the_rows, pushed
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.sample_store import SampleStore
from ukctrl.simulation.result.samples import Signal
from ukctrl.uk import RankReport

BATCH = 4_000_000
"""Entries of matrices that wait for their products: more take memory and save nothing."""
OWN = "signal "
"""Before the names of signals among the arrays of the store."""


@final
class Recorder:
    """Arrays that fill up sample by sample, of which the last one is readable at any moment.

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
        self.trail = Trail(conditions, robot)
        self.count, self._capacity = 0, capacity
        self.ticks, self.tick_seconds = 0, 0.0
        self.memory = law.memory
        """Memory of the law at the last sample."""
        m, mp = len(servo), len(truth.passive)
        held = tuple(dict.fromkeys(t.frame for t in servo.traces()))
        self._watched = tuple(
            (len(held) + k, robot.site(name))
            for k, name in enumerate(name for name in dict.fromkeys(watched) if name not in held)
        )
        self.frames = tuple(dict.fromkeys((*held, *watched)))
        self._shapes: dict[str, tuple[int, ...]] = {
            "time": (),
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
            "kinetic_energy": (),
            "power": (),
            "actuator_rate": (robot.nu,),
            "frame_position": (len(self.frames), 3),
            "frame_reference": (len(self.frames), 3),
        }
        if mp:
            names = ("rank", "sigma_min", "sigma_dropped")
            self._shapes |= dict.fromkeys((f"passive_{name}" for name in names), ())
            self._shapes |= {"reaction": (mp,), "reaction_residual": (), "reaction_power": ()}
            self._shapes |= {"nonideal_force": (robot.nv,)} if truth.rubs else {}
        self._shapes |= self.trail.shapes
        self._report: RankReport | None = None
        self._asked, self._gripped = False, True
        self._weakest: tuple[float, dict[str, object]] = (WEAK, {})
        self._sharing: tuple[str, ...] = ()
        self._first = 0
        """Number of the sample in the block's first row."""
        self._tail: dict[str, Array] = {}
        """The last row of the block before it."""
        self._signals: dict[str, list[float | Vector]] = {}
        self._texts: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        self._fault: ShapeError | TypeError | ValueError | None = None

    def open(self, supplied: bool) -> None:
        """Make room for the samples.

        Args:
            supplied: Whether the loop integrates the energy that is fed to the robot.

        Raises:
            InputError: There is not enough of it.
        """
        robot, m = self.truth.robot, len(self.servo)
        self._shapes |= {"supplied_energy": ()} if supplied else {}
        width = sum(int(np.prod(shape)) for shape in self._shapes.values()) + len(OF_THE_ROWS)
        self.store = SampleStore(self._capacity, width)
        batch = max(1, BATCH // (robot.nv * (robot.nv + m + robot.nu) + 1))
        self._size = size = min(self._capacity, batch, self.store.step)
        self.arrays: dict[str, Array] = self._block()
        # Products of these are formed for many samples at once.
        self._M: Array = np.zeros((size, robot.nv, robot.nv))
        self._A, self._demand = np.zeros((size, m, robot.nv)), np.zeros((size, m))
        self._grips, self._held = np.zeros((size, m)), np.zeros(size, dtype=np.intp)
        self._G, self._a_free = np.zeros((size, robot.nv, robot.nu)), np.zeros((size, robot.nv))

    def _block(self) -> dict[str, Array]:
        block = {name: np.zeros((self._size, *shape)) for name, shape in self._shapes.items()}
        block["frame_reference"].fill(np.nan)
        return block

    def last(self, name: str) -> Array:
        """Return a quantity at the last sample, an array of no axes where it is one number."""
        row = self.count - 1 - self._first
        return np.asarray((self.arrays if row >= 0 else self._tail)[name][row])

    def _row(self) -> int:
        """Return the row of the next sample; a block that is full makes way for a new one."""
        if self.count - self._first == self._size:
            self._hand_over()
            self._hand_over_signals()
            self._tail = {name: array[-1:].copy() for name, array in self.arrays.items()}
            self.arrays = self._block() if self.store.keeps else self.arrays
            self._first = self.count
        return self.count - self._first

    def keep(self, t: float, state: State, command: Command, belief: Dynamics) -> None:
        """Keep one sample; both robots must have been moved to the state, and the law stepped."""
        k, truth, u = self._row(), self.truth, command.u
        arrays = self.arrays
        s = truth.snapshot
        # A law that returns its demand has just written its rows, here.
        asks = command.demand is not None
        shared = self._shared and asks
        self._asked = self._asked or asks
        rows = self.servo.rows if shared else self.servo.write(s)
        a = truth.acceleration(u)
        arrays["time"][k], self.memory = t, state.memory
        arrays["q"][k] = state.q
        arrays["v"][k] = state.v
        arrays["a"][k] = a
        arrays["u"][k] = u
        arrays["phi"][k] = rows.phi
        arrays["beta"][k] = rows.beta
        arrays["actuator_rate"][k] = s.v @ s.B
        self._M[k] = s.M
        arrays["energy"][k] = s.potential_energy()
        if len(truth.passive):
            self._keep_passive(k, a, u)
        if self._forced:
            arrays["power"][k] = truth.power(a, u)
        self._A[k] = rows.A
        self._G[k] = truth.G
        self._a_free[k] = truth.a_free
        self._demand[k] = command.demand if shared else rows.b
        self._keep_grip(k, t, rows.A, u)
        for trace in self.servo.traces():
            place = self.frames.index(trace.frame)
            arrays["frame_position"][k, place] = trace.position
            arrays["frame_reference"][k, place] = trace.reference
        for place, site in self._watched:
            arrays["frame_position"][k, place] = s.point(site)
        own = self.law.signals(belief, state.memory)
        for name, signal in (*own.items(), *self.trail.keep(k, arrays, s)):
            self._signals.setdefault(name, []).append(signal.value)
            self._texts[name] = signal[1:]
        self.count += 1  # last, so that an interruption never leaves half a sample

    def _keep_grip(self, k: int, t: float, A: Matrix, u: Vector) -> None:
        """Note the grip of every row, and the weakest of all so far."""
        truth = self.truth
        self._held[k] = truth.firm(A, self._grips[k]) if len(A) else 0
        if not len(A) or self._held[k]:
            return
        self._held[k] = truth.held(A)[0]
        grip = truth.grip(A, self.servo.names)
        if grip.weakest < (1.0 - EQUAL_RTOL) * self._weakest[0]:
            names = truth.robot.actuators
            inputs = dict(zip(names, u.tolist(), strict=True))
            weights = dict(zip(names, truth.lengths(A).weights.tolist(), strict=True))
            noted = {"row": grip.row, "hold": grip.hold, "weakest": grip.weakest, "at": t}
            self._weakest = grip.weakest, {**noted, "inputs": inputs, "weights": weights}

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
        if self._report is None:
            self._report, self._sharing = truth.passive_report(), truth.sharing()

    def supply(self, energy: float) -> None:
        """Note the energy fed so far [J] for the sample that is kept next."""
        row = self._row()
        self.arrays["supplied_energy"][row] = energy

    def samples(self) -> dict[str, Array]:
        """Return the arrays so far, with rank, grip and reach worked out; it ends the recording."""
        self._hand_over()
        if self._first:
            self._hand_over_signals()
        arrays = self.store.read(self.count)
        lost = () if self._gripped and self.count else OF_THE_ROWS
        return {name: array for name, array in arrays.items() if name not in lost}

    def _hand_over(self) -> None:
        """Form the products of the block's samples, and give all of it to the store."""
        size = self.count - self._first
        # Of one sample alone, einsum sums in another order: it never is, but in a run of one.
        at = slice(max(size, 2) if self._first else size)
        block, v = dict(self.arrays), self.arrays["v"][at]
        A, M, a_free = self._A[at], self._M[at], self._a_free[at]
        if not self._forced:
            block["power"] = np.einsum("ki,ki->k", block["u"][at], block["actuator_rate"][at])
        block["kinetic_energy"] = 0.5 * np.einsum("ki,kij,kj->k", v, M, v)
        block["energy"] = block["energy"][at] + block["kinetic_energy"]
        if self._gripped and size:
            d = self._demand[at] - np.einsum("kij,kj->ki", A, a_free)
            H = pushed(A, self._G[at])
            quantities = of_the_rows(H, d, self._grips[at], self._held[at], self.truth.rank)
            block |= quantities
            self._gripped = bool(quantities)
        self.store.write(self._first, {name: array[:size] for name, array in block.items()})

    def _hand_over_signals(self) -> None:
        """Give signals to the store; a fault in them must not cost the run."""
        size = self.count - self._first
        try:
            block = {OWN + name: np.array(each[:size]) for name, each in self._signals.items()}
            if any(len(values) != size for values in block.values()):
                raise ShapeError("a signal must have one value at every sample.")
            self.store.write(self._first, block if self._fault is None else {})
        except (ShapeError, TypeError, ValueError) as fault:
            self._fault = self._fault or fault
        for values in self._signals.values():
            values.clear()

    def weak_grip(self) -> dict[str, object]:
        """Return where the motors' grip of the rows was weakest; empty where it was firm."""
        return self._weakest[1]

    def rows_demanded(self) -> bool | None:
        """Return whether the law ever asked the servo rows for an acceleration; None without."""
        return self._asked if len(self.servo) and self.count else None

    def passive(self, samples: Mapping[str, Array]) -> dict[str, object]:
        """Return how the rank of the passive rows was decided; empty where there are none."""
        report = self._report
        if report is None or self.count == 0:
            return {}
        return {
            "rows": len(self.truth.passive),
            "rank": report.rank,
            "redundant": list(report.dependent),
            "sharing": list(self._sharing),
            "lowest_rank": int(samples["passive_rank"].min()),
            "smallest_kept": float(samples["passive_sigma_min"].min()),
            "largest_dropped": float(samples["passive_sigma_dropped"].max()),
        }

    def signals(self, samples: Mapping[str, Array]) -> dict[str, Signal]:
        """Return the signals of the law and of the effects, as far as they are not in the samples.

        Args:
            samples: What `samples` has returned.

        Raises:
            ShapeError: One does not have the same shape at every sample; so do other errors.
        """
        if self._fault is not None:
            raise self._fault
        signals = {}
        for name, values in self._signals.items():
            units, words, components = self._texts[name]
            signals[name] = Signal(
                values=samples[OWN + name] if self._first else np.array(values[: self.count]),
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
