"""Recorder of a run: one row of every quantity at each output time.

Rows gather in a block, whose products are formed at once; full blocks go to the store.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import MIN_BLOCKED, copy_into
from ukctrl.core.algebra.input_authority import WEAK_AUTHORITY
from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import ShapeError, UkctrlError
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import TIE_RTOL, first_largest
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.effects.effect_recorder import EffectRecorder, EffectSample
from ukctrl.simulation.record.row_authority import AUTHORITY_NAMES, row_authority
from ukctrl.simulation.record.sample_kernels import (
    AuthorityRecord,
    PlantState,
    ReactionRecord,
    RowDemand,
    StateRecord,
    append_sample,
    has_samples,
    increment,
    is_within_norm,
    record_authority,
    record_block_authority,
    record_frame,
    record_orthogonal_authority,
    record_position,
    record_reactions,
    record_state,
)
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.sample_store import SampleStore
from ukctrl.simulation.result.samples import SignalSeries
from ukctrl.uk import RankReport

BLOCK_NUMBERS = 500_000
"""Numbers that wait to be given away: more take memory and save nothing."""
STATE_NAMES = StateRecord._fields
REACTIONS = (
    "passive_phi", "passive_beta", "passive_force", "passive_rank", "passive_sigma_min",
    "passive_sigma_dropped", "reaction", "reaction_residual", "reaction_power",
)  # fmt: skip
"""The names of `ReactionRecord`."""
BLOCK_ONLY = ("row_response", "row_demand", "grip", "held")
"""What is kept of samples until their block is full, for `row_authority`."""
SIGNAL_PREFIX = "signal "
"""Before the names of signals among the arrays of the store."""


class DriftExceeded(UkctrlError, RuntimeError):
    """A constraint came apart further than the scenario's monitor allows."""


class SampleSource(NamedTuple):
    """Source arrays of a sample."""

    truth: Dynamics
    a: Vector
    """Its acceleration."""
    u: Vector
    """The input that acts."""
    command_time: Vector
    """When the law was asked last, shape ``(1,)`` [s]."""
    energy: Vector | None
    """The energy fed so far, shape ``(1,)`` [J]; None where it is not integrated."""
    effects: EffectSample
    """What the effects make of it."""
    has_signals: bool
    """Whether law or effects have something to tell beside."""


@final
class Recorder:
    """Recorder: arrays that fill up sample by sample, the last one readable at any moment.

    Errors are measured on the true robot, whatever the law believes.
    """

    def __init__(self, loop: Loop, *, effect_signals: bool = True) -> None:
        self._loop, monitor, servo, keeper = (
            loop,
            loop.scenario.monitor,
            loop.servo,
            loop.law.keeper,
        )
        truth, robot = loop.plant, loop.plant.robot
        self.effects = EffectRecorder(
            loop.effects, robot, loop.estimator, effect_signals=effect_signals
        )
        self._counts, self._capacity = np.zeros(2, dtype=np.int64), len(loop.outputs)
        """Samples so far, and those before the block's first row."""
        m, mp = len(servo), len(truth.passive)
        self._limits = [] if monitor.max_phi is None else [("phi", float(monitor.max_phi))]
        if mp:
            self._limits.append(("passive_phi", float(monitor.max_passive_phi)))
            self._limits.append(("passive_beta", float(monitor.max_passive_beta)))
        trace_frames = dict.fromkeys(trace.frame for trace in servo.traces())
        self.frames = tuple(dict.fromkeys((*trace_frames, *loop.watched_sites)))
        self._watched = [
            (k, loop.watched_sites[name])
            for k, name in enumerate(self.frames)
            if name not in trace_frames
        ]
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
            "row_response": (0 if m >= MIN_BLOCKED else m, robot.nu),
            "row_demand": (m,),
            "grip": (m,),
            "held": (),
            "passive_phi": (mp,),
            "passive_beta": (mp,),
            "passive_force": (robot.nv,),
            "frame_position": (len(self.frames), 3),
            "frame_reference": (len(self.frames), 3),
        }
        # of many rows A G would be most of a sample: rank and reach are worked out one by one
        if m >= MIN_BLOCKED:
            self._shapes |= dict.fromkeys(AUTHORITY_NAMES, ())
        if mp:
            names = ("rank", "sigma_min", "sigma_dropped")
            self._shapes |= dict.fromkeys((f"passive_{name}" for name in names), ())
            self._shapes |= {"reaction": (mp,), "reaction_residual": (), "reaction_power": ()}
            self._shapes |= {"nonideal_force": (robot.nv,)} if truth.rubs else {}
            self._shapes |= {} if truth.contacts is None else {"passive_holds": (mp,)}
        self._limited: Stack | None = None
        if keeper is not None:
            self._limited, arrays = keeper.stack_on(robot), keeper.recorded_arrays()
            self._shapes |= {"keep": (len(keeper.names),)}
            self._shapes |= {name: value.shape for name, value in arrays.items()}
        self._shapes |= self.effects.shapes
        self._begin()

    def _begin(self) -> None:
        """Note nothing yet of a run."""
        self._report: RankReport | None = None
        self._has_authority = True
        self._weakest: tuple[float, dict[str, object]] = (WEAK_AUTHORITY, {})
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

    def allocate(self, supplied: bool) -> None:
        """Make room for the samples.

        Args:
            supplied: Whether the loop integrates the energy that is fed to the robot.

        Raises:
            InputError: There is not enough of it.
        """
        self._shapes |= {"supplied_energy": ()} if supplied else {}
        sizes = {name: int(np.prod(shape)) for name, shape in self._shapes.items()}
        width = sum(sizes.values())
        self._stored_width = width - sum(sizes[name] for name in BLOCK_ONLY)
        self._stored_width += sum(name not in sizes for name in AUTHORITY_NAMES)
        self.store = SampleStore(self._capacity, self._stored_width)
        self._size = min(self._capacity, self.store.step, max(1, BLOCK_NUMBERS // width))
        self.block: Matrix = np.zeros((self._size, width))
        self._sample = np.zeros(width)
        ends = dict(zip(sizes, np.cumsum([*sizes.values()]).tolist(), strict=True))
        self._places = {name: slice(end - sizes[name], end) for name, end in ends.items()}
        # axes that no row holds have no reference, and no kernel writes them
        self._sample[self._places["frame_reference"]] = np.nan
        self.arrays: dict[str, Array] = {
            name: self.block[:, columns].reshape(self._size, *self._shapes[name])
            for name, columns in self._places.items()
        }

    def reset(self) -> None:
        """Record another run of the loop, whose arrays are what they were before the first."""
        self.store = SampleStore(self._capacity, self._stored_width)
        self._begin()

    def _slot(self, name: str) -> Vector:
        """Return where a quantity stands in the sample that is being written, as a flat array."""
        columns = self._places.get(name)
        return np.zeros(0) if columns is None else self._sample[columns]

    def last(self, name: str) -> Array:
        """Return a quantity at the last sample, an array of no axes where it is one number."""
        # a block that was just given away is still there, and the last sample in its last row
        return np.asarray(self.arrays[name][(self.count - 1 - self._first) % self._size])

    def steps(self, source: SampleSource) -> Iterator[KernelStep]:
        """Yield what keeps a sample at the state of the true robot, where the law has answered.

        Raises:
            DriftExceeded: The sample is kept, and beyond a limit of the monitor.
        """
        slot, loop, tick, truth = self._slot, self._loop, self._loop.tick, source.truth
        servo, rows, s, a, u = loop.servo, loop.servo.rows, truth.snapshot, source.a, source.u
        of_rows = servo.steps(s)
        written = tick.steps.contains_all(of_rows) and not tick.steps.python_owners
        # else the law has written these rows at this very state
        if not (written and source.command_time is s.clock):
            yield from of_rows.items
        potential = np.zeros(1)
        yield from s.potential_steps(potential)
        plain = StateRecord(*(slot(name) for name in STATE_NAMES))
        # a law on other rows asks nothing of these: their demand is that of the exact motion
        asked = (tick.demand, tick.has_demand) if loop.shares_rows else (rows.b, np.zeros(1))
        demand = RowDemand(*asked, source.command_time)
        state = PlantState(s.clock, s.q, s.v, a, u)
        is_constant = all(one.has_constant_matrix for one in servo.constraints)
        kept = block_diagonal.kept_owners(len(servo) if is_constant and truth.separate else 0)
        terms = truth.ties, kept, s.M, s.B, rows, truth.a_free, truth.G
        yield BoundKernel(record_state, state, *terms, demand, potential, plain)
        yield truth.power_step(a, u, plain.power)
        if len(servo):
            affine = truth.L, rows.A, truth.G, truth.motors, slot("grip"), slot("held")
            # a swarm goes body by body, in time that grows with the bodies
            apart = (
                (record_block_authority, truth.ties, kept)
                if truth.separate
                else (record_authority,)
            )
            # rows that are not surely clear of each other go by singular values, in Python
            yield BoundKernel(*apart, *affine, fault=lambda code: self._record_authority(truth, u))
        if len(servo) >= MIN_BLOCKED:
            yield self._authority_step(truth, kept)
        if len(truth.passive):
            yield from self._reactions(truth, a, u)
        if source.energy is not None:
            yield BoundKernel(copy_into, source.energy, slot("supplied_energy"))
        yield from self._frame_steps(s)
        yield from self.effects.steps(slot, s, source.effects)
        yield from self._inequality_steps(truth, a)
        row = self._sample, self._counts, self.block
        yield BoundKernel(append_sample, *row, fault=lambda code: self._flush_and_append(row))
        if source.has_signals:
            # a call of Python at each sample, for those alone who have signals
            yield lambda: self._record_signals(source)
        if len(truth.passive):
            yield BoundKernel(
                has_samples, self._counts, fault=lambda code: self._record_rank_report(truth)
            )
        # late, so that an interruption leaves no half of a sample; before the limits, whose errors
        # tell of a sample that is kept
        yield BoundKernel(increment, self._counts)
        for name, limit in self._limits:
            fault = functools.partial(self._drift_error, name, limit)
            yield BoundKernel(is_within_norm, slot(name), limit, fault=fault)

    def _frame_steps(self, s: Snapshot) -> Iterator[KernelStep]:
        position, reference = (
            self._slot(f"frame_{name}").reshape(-1, 3) for name in ("position", "reference")
        )
        for trace in self._loop.servo.traces():
            k = self.frames.index(trace.frame)
            yield BoundKernel(record_frame, *trace[1:], position[k], reference[k])
        for k, site in self._watched:
            pose = s.rotations[site.joint], s.translations[site.joint], site.translation
            yield BoundKernel(record_position, *pose, position[k])

    def _inequality_steps(self, truth: Dynamics, a: Vector) -> Iterator[KernelStep]:
        """Yield what keeps how far the true robot is from its limits, and what that cost."""
        keeper = self._loop.law.keeper
        if keeper is None or self._limited is None:
            return
        yield from self._limited.steps(truth.snapshot).items
        felt = truth.contacts, self._slot("reaction"), self._slot("keep")
        yield from keeper.margin_steps(self._limited.rows, a, *felt)
        for name, value in keeper.recorded_arrays().items():
            yield BoundKernel(copy_into, value, self._slot(name))

    def _reactions(self, truth: Dynamics, a: Vector, u: Vector) -> Iterator[KernelStep]:
        slot, rows = self._slot, truth.passive.rows._replace(A=truth.directions)
        record = ReactionRecord(*(slot(name) for name in REACTIONS))
        yield from truth.reaction_steps(a, u, record.force, record.reaction)
        yield BoundKernel(
            record_reactions, tuple(rows), truth.nonideal, truth.ranks, truth.margins, record
        )
        if truth.contacts is not None:
            yield truth.contacts.active_rows_step(slot("passive_holds"))
        if truth.rubs:
            yield BoundKernel(copy_into, truth.nonideal, slot("nonideal_force"))

    def _authority_step(self, truth: Dynamics, kept: block_diagonal.KeptOwners) -> KernelStep:
        """Return what keeps what the motors can do about many rows, a sample at a time."""
        A, record = (
            self._loop.servo.rows.A,
            AuthorityRecord(*(self._slot(name) for name in AUTHORITY_NAMES)),
        )
        demand, grips, ranks = (self._slot(name) for name in ("row_demand", "grip", "held"))

        def shared(code: int) -> None:
            args = (A @ truth.G)[None], demand[None], grips[None], ranks.astype(np.intp)
            quantities = row_authority(*args, truth.rank)
            for name, target in record._asdict().items():
                target[:] = quantities.get(name, np.nan)

        lost = float(truth.rank.servo)
        return BoundKernel(
            record_orthogonal_authority,
            truth.ties,
            kept,
            A,
            truth.G,
            demand,
            grips,
            lost,
            record,
            fault=shared,
        )

    def _flush_and_append(self, row: tuple[Vector, Indices, Matrix]) -> None:
        """Give a block that is full to the store, and keep a sample in the next one."""
        self._flush_block()
        self._flush_signals()
        self._counts[1] = self._counts[0]
        append_sample(*row)

    def _record_rank_report(self, truth: Dynamics) -> None:
        self._report, self._sharing = truth.passive_report(), truth.sharing()

    def _drift_error(self, name: str, limit: float, code: int) -> DriftExceeded:
        off = np.nan_to_num(self.last(name))
        labels, t, size = self.labels, self.last("time"), np.linalg.norm(off)
        rows = labels.passive_rows if name.startswith("passive") else labels.rows
        return DriftExceeded(
            f"{name} reached {size:.2e} at t = {t:.6g} s, most on row "
            f"'{rows[first_largest(np.abs(off))]}'; the monitor allows {limit:.2e}."
        )

    def _record_signals(self, source: SampleSource) -> None:
        """Keep what the law and the effects tell."""
        loop, s = self._loop, source.truth.snapshot
        law_signals = loop.law.signals(loop.believed_model, loop.tick.memory)
        for name, signal in (*law_signals.items(), *self.effects.signals(s, source.effects.since)):
            # A law may lend arrays that its next step overwrites.
            value = signal.value.copy() if isinstance(signal.value, np.ndarray) else signal.value
            self._signals.setdefault(name, []).append(value)
            self._texts[name] = signal[1:]

    def _record_authority(self, truth: Dynamics, u: Vector) -> None:
        """Note how many rows are held, and the weakest grip of all so far."""
        servo = self._loop.servo
        A = servo.rows.A
        self._slot("held")[0] = truth.held(A)[0]
        grip = truth.grip(A, servo.names)
        # not of a tie: rounding would decide which sample was the weakest
        if grip.weakest < (1.0 - TIE_RTOL) * self._weakest[0]:
            names = truth.robot.actuators
            inputs = dict(zip(names, u.tolist(), strict=True))
            weights = dict(zip(names, truth.lengths(A).weights.tolist(), strict=True))
            noted = {"row": grip.row, "hold": grip.level, "weakest": grip.weakest}
            noted["at"] = truth.snapshot.t
            self._weakest = grip.weakest, {**noted, "inputs": inputs, "weights": weights}

    def samples(self) -> dict[str, Array]:
        """Return the arrays so far, with rank, grip and reach worked out; it ends the recording."""
        self._flush_block()
        if self._first:
            self._flush_signals()
        arrays = self.store.read(self.count)
        lost = () if self._has_authority and self.count else AUTHORITY_NAMES
        return {name: array for name, array in arrays.items() if name not in lost}

    def _flush_block(self) -> None:
        """Give the block's samples to the store, with what the rows' grip says."""
        size = self.count - self._first
        # the next samples overwrite the block
        block = {name: array[:size].copy() for name, array in self.arrays.items()}
        H, d, grips, ranks = (block.pop(name) for name in BLOCK_ONLY)
        if self._has_authority and size and "rank" in block:
            self._has_authority = bool(np.isfinite(block["sigma_min"]).all())
        elif self._has_authority and size:
            quantities = row_authority(H, d, grips, ranks.astype(np.intp), self._loop.plant.rank)
            block |= quantities
            self._has_authority = bool(quantities)
        self.store.write(self._first, block)

    def _flush_signals(self) -> None:
        """Give signals to the store; a fault in them must not cost the run."""
        size = self.count - self._first
        try:
            block = {
                SIGNAL_PREFIX + name: np.array(series[:size])
                for name, series in self._signals.items()
            }
            if any(len(values) != size for values in block.values()):
                raise ShapeError("a signal must have one value at every sample.")
            self.store.write(self._first, block if self._fault is None else {})
        except (ShapeError, TypeError, ValueError) as fault:
            self._fault = self._fault or fault
        for values in self._signals.values():
            values.clear()

    def weakest_authority(self) -> dict[str, object]:
        """Return where the motors' grip of the rows was weakest; empty where it was firm."""
        return self._weakest[1]

    def rows_demanded(self) -> bool | None:
        """Return whether the law ever asked the servo rows for an acceleration; None without."""
        return bool(self._loop.tick.has_demand[0]) if len(self._loop.servo) and self.count else None

    def passive(self, samples: Mapping[str, Array]) -> dict[str, object]:
        """Return how the rank of the passive rows was decided; empty where there are none."""
        report = self._report
        if report is None or self.count == 0:
            return {}
        return {
            "rows": len(self._loop.plant.passive),
            "rank": report.rank,
            "redundant": list(report.dependent),
            "sharing": list(self._sharing),
            "lowest_rank": int(samples["passive_rank"].min()),
            "smallest_kept": float(samples["passive_sigma_min"].min()),
            "largest_dropped": float(samples["passive_sigma_dropped"].max()),
        }

    def signals(self, samples: Mapping[str, Array]) -> dict[str, SignalSeries]:
        """Return the signals of the law and of the effects, as far as they are not in the samples.

        Raises:
            ShapeError: One does not have the same shape at every sample; so do other errors.
        """
        if self._fault is not None:
            raise self._fault
        signals = {}
        for name, values in self._signals.items():
            units, words, components = self._texts[name]
            signals[name] = SignalSeries(
                # signals of a run of one block have not left memory
                values=samples[SIGNAL_PREFIX + name]
                if self._first
                else np.array(values[: self.count]),
                units=units,
                long_name=words,
                components=components,
            )
        return signals

    @property
    def memory(self) -> Vector:
        """Memory of the law at the last sample."""
        return self._loop.tick.memory

    @functools.cached_property
    def labels(self) -> Labels:
        """The names along every axis."""
        robot, servo, passive = self._loop.plant.robot, self._loop.servo, self._loop.plant.passive
        keeper = self._loop.law.keeper
        keep_labels = keeper.labels() if keeper else {}
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
            **keep_labels,
        )
