"""What a run keeps: one row of every quantity at each output time.

Rows gather in a block, whose products are formed at once; full blocks go to the store.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.controller import Law
from ukctrl.core.algebra.factorisation import LONG, copy_into
from ukctrl.core.algebra.grip import WEAK
from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import ShapeError, UkctrlError
from ukctrl.core.extremes import EQUAL_RTOL, first_largest
from ukctrl.core.files.toml import blaming
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.records import MeasuredAndCommanded, Observed, Trail
from ukctrl.simulation.loop.row_grip import OF_THE_ROWS, of_the_rows
from ukctrl.simulation.loop.sample_kernels import (
    Plain,
    Reach,
    Reactions,
    count_up,
    is_later,
    keep_grip,
    keep_place,
    keep_plain,
    keep_reach,
    keep_reactions,
    keep_row,
    keep_separate_grip,
    keep_trace,
    within,
)
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.sample_store import SampleStore
from ukctrl.simulation.result.samples import Signal
from ukctrl.simulation.scenario import Monitor
from ukctrl.uk import RankReport

BATCH = 500_000
"""Numbers that wait to be given away: more take memory and save nothing."""
PLAIN = Plain._fields
REACTIONS = (
    "passive_phi", "passive_beta", "passive_force", "passive_rank", "passive_sigma_min",
    "passive_sigma_dropped", "reaction", "reaction_residual", "reaction_power",
)  # fmt: skip
"""The names of `Reactions`."""
OF_A_BLOCK = ("answer", "asked", "grip", "held")
"""What is kept of samples until their block is full, for `of_the_rows`."""
OWN = "signal "
"""Before the names of signals among the arrays of the store."""


class Drifted(UkctrlError, RuntimeError):
    """A constraint came apart further than the scenario's monitor allows."""


class Taken(NamedTuple):
    """Where a sample is taken from."""

    truth: Dynamics
    a: Vector
    """Its acceleration."""
    u: Vector
    """The input that acts."""
    asked_at: Vector
    """When the law was asked last, shape ``(1,)`` [s]."""
    energy: Vector | None
    """The energy fed so far, shape ``(1,)`` [J]; None where it is not integrated."""
    met: MeasuredAndCommanded
    """What the effects make of it."""
    tells: bool
    """Whether law or effects have something to tell beside."""


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
        monitor: Monitor,
        conditions: Conditions,
        belief: Dynamics,
        observed: Observed | None,
    ) -> None:
        robot = truth.robot
        self._belief, self._tick = belief, law.tick(belief)
        self.truth, self.law = truth, law
        # Where the law has these very rows on this very robot, it may have written them already.
        same = law.stack.constraints is servo.constraints and law.stack.robot is robot
        self._shared = same and not conditions.senses and observed is None
        self.servo = law.stack if self._shared else servo
        self.trail = Trail(conditions, robot, observed)
        self._counts, self._capacity = np.zeros(2, dtype=np.int64), capacity
        """Samples so far, and those before the block's first row."""
        m, mp = len(servo), len(truth.passive)
        self._limits = [] if monitor.max_phi is None else [("phi", float(monitor.max_phi))]
        if mp:
            self._limits.append(("passive_phi", float(monitor.max_passive_phi)))
            self._limits.append(("passive_beta", float(monitor.max_passive_beta)))
        held, watched = dict.fromkeys(t.frame for t in servo.traces()), monitor.frames
        with blaming("monitor.frames"):
            self._watched = tuple(
                (len(held) + k, robot.site(name))
                for k, name in enumerate(one for one in dict.fromkeys(watched) if one not in held)
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
            "actuator_rate": (robot.nu,),
            "kinetic_energy": (),
            "energy": (),
            "power": (),
            "answer": (0 if m >= LONG else m, robot.nu),
            "asked": (m,),
            "grip": (m,),
            "held": (),
            "passive_phi": (mp,),
            "passive_beta": (mp,),
            "passive_force": (robot.nv,),
            "frame_position": (len(self.frames), 3),
            "frame_reference": (len(self.frames), 3),
        }
        if m >= LONG:  # their answers would be most of the samples
            self._shapes |= dict.fromkeys(OF_THE_ROWS, ())
        if mp:
            names = ("rank", "sigma_min", "sigma_dropped")
            self._shapes |= dict.fromkeys((f"passive_{name}" for name in names), ())
            self._shapes |= {"reaction": (mp,), "reaction_residual": (), "reaction_power": ()}
            self._shapes |= {"nonideal_force": (robot.nv,)} if truth.rubs else {}
            self._shapes |= {} if truth.contacts is None else {"passive_holds": (mp,)}
        self._limited: Stack | None = None
        if law.keeper is not None:
            self._limited, told = law.keeper.stack_on(robot), law.keeper.told()
            self._shapes |= {"keep": (len(law.keeper.names),)}
            self._shapes |= {name: value.shape for name, value in told.items()}
        self._shapes |= self.trail.shapes
        self._begin()

    def _begin(self) -> None:
        """Note nothing yet of a run."""
        self._report: RankReport | None = None
        self._gripped = True
        self._weakest: tuple[float, dict[str, object]] = (WEAK, {})
        self._sharing: tuple[str, ...] = ()
        self._signals: dict[str, list[float | Vector]] = {}
        self._texts: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        self._fault: ShapeError | TypeError | ValueError | None = None

    @property
    def count(self) -> int:
        """How many samples there are."""
        return int(self._counts[0])

    @property
    def _first(self) -> int:
        """Number of the sample in the block's first row."""
        return int(self._counts[1])

    def open(self, supplied: bool) -> None:
        """Make room for the samples.

        Args:
            supplied: Whether the loop integrates the energy that is fed to the robot.

        Raises:
            InputError: There is not enough of it.
        """
        self._shapes |= {"supplied_energy": ()} if supplied else {}
        sizes = {name: int(np.prod(shape)) for name, shape in self._shapes.items()}
        width = sum(sizes.values())
        self._kept = width - sum(sizes[name] for name in OF_A_BLOCK)
        self._kept += sum(name not in sizes for name in OF_THE_ROWS)
        self.store = SampleStore(self._capacity, self._kept)
        self._size = min(self._capacity, self.store.step, max(1, BATCH // width))
        self.block: Matrix = np.zeros((self._size, width))
        self._now = np.zeros(width)
        ends = dict(zip(sizes, np.cumsum([*sizes.values()]).tolist(), strict=True))
        self._places = {name: slice(end - sizes[name], end) for name, end in ends.items()}
        self._now[self._places["frame_reference"]] = np.nan
        self.arrays: dict[str, Array] = {
            name: self.block[:, place].reshape(self._size, *self._shapes[name])
            for name, place in self._places.items()
        }

    def begin_again(self) -> None:
        """Record another run of the loop, whose arrays are what they were before the first."""
        self.store = SampleStore(self._capacity, self._kept)
        self._begin()

    def _of_now(self, name: str) -> Vector:
        """Return where a quantity stands in the sample that is being written, as a flat array."""
        place = self._places.get(name)
        return np.zeros(0) if place is None else self._now[place]

    def last(self, name: str) -> Array:
        """Return a quantity at the last sample, an array of no axes where it is one number."""
        return np.asarray(self.arrays[name][(self.count - 1 - self._first) % self._size])

    def since(self, first: int, names: Sequence[str]) -> dict[str, Array]:
        """Return copies of quantities at the samples from a number on.

        Those that have gone to the store already are left out, so that this stays cheap.
        """
        begin = max(0, first - self._first)
        end = self.count - self._first
        return {name: self.arrays[name][begin:end].copy() for name in names}

    def steps(self, taken: Taken) -> Iterator[Step]:
        """Yield what keeps a sample at the state of the true robot, where the law has answered.

        Raises:
            Drifted: The sample is kept, and beyond a limit of the monitor.
        """
        now, tick, truth, rows = self._of_now, self._tick, taken.truth, self.servo.rows
        s, a, u, of_rows = truth.snapshot, taken.a, taken.u, self.servo.steps(truth.snapshot)
        written = tick.steps.run_all_of(of_rows) and not tick.steps.python
        if not (written and taken.asked_at is s.clock):
            yield from of_rows.every
        potential = np.zeros(1)
        yield from s.potential_steps(potential)
        plain = Plain(*(now(name) for name in PLAIN))
        asks = tick.asks if self._shared else np.zeros(1)
        demand = tick.demand if self._shared else rows.b
        state = s.clock, s.q, s.v, a, u, truth.ties, s.M, s.B, tuple(rows), (truth.a_free, truth.G)
        yield Call(keep_plain, *state, demand, asks, taken.asked_at, potential, plain)
        yield truth.power_step(a, u, plain.power)
        if len(self.servo):
            affine = truth.L, rows.A, truth.G, truth.motors, now("grip"), now("held")
            apart = (keep_separate_grip, truth.ties) if truth.separate else (keep_grip,)
            yield Call(*apart, *affine, fault=lambda code: self._keep_grip(truth, u))
        if len(self.servo) >= LONG:
            yield self._keep_reach(truth)
        if len(truth.passive):
            yield from self._reactions(truth, a, u)
        if taken.energy is not None:
            yield Call(copy_into, taken.energy, now("supplied_energy"))
        yield from self._places_of_frames(s)
        yield from self.trail.steps(now, s, taken.met)
        yield from self._keeps(truth, a)
        row = self._now, self._counts, self.block
        yield Call(keep_row, *row, fault=lambda code: self._begin_block(row))
        if taken.tells:
            yield lambda: self._keep_signals(taken)
        if len(truth.passive):
            yield Call(is_later, self._counts, fault=lambda code: self._keep_report(truth))
        yield Call(count_up, self._counts)  # late: an interruption leaves no half a sample
        for name, limit in self._limits:
            beyond = functools.partial(self._beyond, name, limit)
            yield Call(within, now(name), limit, fault=beyond)

    def _places_of_frames(self, s: Snapshot) -> Iterator[Step]:
        position, reference = (
            self._of_now(f"frame_{name}").reshape(-1, 3) for name in ("position", "reference")
        )
        for trace in self.servo.traces():
            k = self.frames.index(trace.frame)
            yield Call(keep_trace, *trace[1:], position[k], reference[k])
        for k, site in self._watched:
            place = s.rotations[site.joint], s.translations[site.joint], site.translation
            yield Call(keep_place, *place, position[k])

    def _keeps(self, truth: Dynamics, a: Vector) -> Iterator[Step]:
        """Yield what keeps how far the true robot is from its limits, and what that cost."""
        keeper = self.law.keeper
        if keeper is None or self._limited is None:
            return
        yield from self._limited.steps(truth.snapshot).every
        felt = truth.contacts, self._of_now("reaction"), self._of_now("keep")
        yield from keeper.left_steps(self._limited.rows, a, *felt)
        for name, told in keeper.told().items():
            yield Call(copy_into, told, self._of_now(name))

    def _reactions(self, truth: Dynamics, a: Vector, u: Vector) -> Iterator[Step]:
        now, rows = self._of_now, truth.passive.rows._replace(A=truth.directions)
        kept = Reactions(*(now(name) for name in REACTIONS))
        yield from truth.reaction_steps(a, u, kept.force, kept.reaction)
        yield Call(keep_reactions, tuple(rows), truth.nonideal, truth.ranks, truth.margins, kept)
        if truth.contacts is not None:
            yield truth.contacts.holds_step(now("passive_holds"))
        if truth.rubs:
            yield Call(copy_into, truth.nonideal, now("nonideal_force"))

    def _keep_reach(self, truth: Dynamics) -> Step:
        """Return what keeps what the motors can do about many rows, a sample at a time."""
        A, now = self.servo.rows.A, Reach(*(self._of_now(name) for name in OF_THE_ROWS))
        asked, grips, held = (self._of_now(name) for name in ("asked", "grip", "held"))

        def shared(code: int) -> None:
            each = (A @ truth.G)[None], asked[None], grips[None], held.astype(np.intp)
            found = of_the_rows(*each, truth.rank)
            for name, place in now._asdict().items():
                place[:] = found.get(name, np.nan)

        lost = float(truth.rank.servo)
        return Call(keep_reach, truth.ties, A, truth.G, asked, grips, lost, now, fault=shared)

    def _begin_block(self, row: tuple[Vector, Indices, Matrix]) -> None:
        """Give a block that is full to the store, and keep a sample in the next one."""
        self._hand_over()
        self._hand_over_signals()
        self._counts[1] = self._counts[0]
        keep_row(*row)

    def _keep_report(self, truth: Dynamics) -> None:
        self._report, self._sharing = truth.passive_report(), truth.sharing()

    def _beyond(self, name: str, limit: float, code: int) -> Drifted:
        off = np.nan_to_num(self.last(name))
        known, t, size = self.labels, self.last("time"), np.linalg.norm(off)
        rows = known.passive_rows if name.startswith("passive") else known.rows
        return Drifted(
            f"{name} reached {size:.2e} at t = {t:.6g} s, most on row "
            f"'{rows[first_largest(np.abs(off))]}'; the monitor allows {limit:.2e}."
        )

    def _keep_signals(self, taken: Taken) -> None:
        """Keep what the law and the effects tell."""
        s, own = taken.truth.snapshot, self.law.signals(self._belief, self._tick.memory)
        for name, signal in (*own.items(), *self.trail.signals(s, taken.met.since)):
            # A law may lend arrays that its next step overwrites.
            value = signal.value.copy() if isinstance(signal.value, np.ndarray) else signal.value
            self._signals.setdefault(name, []).append(value)
            self._texts[name] = signal[1:]

    def _keep_grip(self, truth: Dynamics, u: Vector) -> None:
        """Note how many rows are held, and the weakest grip of all so far."""
        A = self.servo.rows.A
        self._of_now("held")[0] = truth.held(A)[0]
        grip = truth.grip(A, self.servo.names)
        if grip.weakest < (1.0 - EQUAL_RTOL) * self._weakest[0]:
            names = truth.robot.actuators
            inputs = dict(zip(names, u.tolist(), strict=True))
            weights = dict(zip(names, truth.lengths(A).weights.tolist(), strict=True))
            noted = {"row": grip.row, "hold": grip.hold, "weakest": grip.weakest}
            noted["at"] = truth.snapshot.t
            self._weakest = grip.weakest, {**noted, "inputs": inputs, "weights": weights}

    def samples(self) -> dict[str, Array]:
        """Return the arrays so far, with rank, grip and reach worked out; it ends the recording."""
        self._hand_over()
        if self._first:
            self._hand_over_signals()
        arrays = self.store.read(self.count)
        lost = () if self._gripped and self.count else OF_THE_ROWS
        return {name: array for name, array in arrays.items() if name not in lost}

    def _hand_over(self) -> None:
        """Give the block's samples to the store, with what the rows' grip says."""
        size = self.count - self._first
        block = {name: array[:size].copy() for name, array in self.arrays.items()}
        H, d, grips, held = (block.pop(name) for name in OF_A_BLOCK)
        if self._gripped and size and "rank" in block:
            self._gripped = bool(np.isfinite(block["sigma_min"]).all())
        elif self._gripped and size:
            quantities = of_the_rows(H, d, grips, held.astype(np.intp), self.truth.rank)
            block |= quantities
            self._gripped = bool(quantities)
        self.store.write(self._first, block)

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
        return bool(self._tick.asks[0]) if len(self.servo) and self.count else None

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

    @property
    def memory(self) -> Vector:
        """Memory of the law at the last sample."""
        return self._tick.memory

    @functools.cached_property
    def labels(self) -> Labels:
        """The names along every axis."""
        robot, servo, passive = self.truth.robot, self.servo, self.truth.passive
        keeper = self.law.keeper
        kept = keeper.labels() if keeper else {}
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
            **kept,
        )
