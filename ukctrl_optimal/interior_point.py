"""The program solved by IPOPT, which CasADi brings along."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl_optimal.nonlinear_program import NonlinearProgram

CASADI_MISSING = (
    "an optimised path needs CasADi with its solver IPOPT, which is not installed; "
    "pip install 'ukctrl[optimise]'."
)
MAX_ITERATIONS, TOLERANCE = 500, 1e-8
EVALUATION_ERRORS = UkctrlError, ArithmeticError, np.linalg.LinAlgError
"""What it means that something has no value at a point."""
WARM_START = {
    "mu_init": 1e-5,
    "bound_push": 1e-6,
    "bound_frac": 1e-6,
    "slack_bound_push": 1e-6,
    "slack_bound_frac": 1e-6,
    "bound_mult_init_method": "mu-based",
}
"""Of the solver: from near an optimum it need not go through the middle of what is allowed."""
INFEASIBLE = (
    "must be a motion within all limits; the solver finds none near the straight way. Give it more "
    "duration, or a pose that the robot can reach and rest in."
)
STATUS_MESSAGES = {
    "Infeasible_Problem_Detected": INFEASIBLE,
    "Restoration_Failed": INFEASIBLE,
    "Maximum_Iterations_Exceeded": (
        f"must be found within {MAX_ITERATIONS} iterations of the solver. Try other steps; of "
        "least time, give a duration to begin with."
    ),
    "Invalid_Number_Detected": (
        "must stay where the passive rows can be kept and all that is kept has a value; the search "
        "left that. Name other joints, or a pose that is nearer, or more starts."
    ),
}
"""What the solver's verdicts mean here."""


class OptimisationFailed(InputError):
    """The solver found no optimum.

    Attributes:
        program: The program.
        z: Where it gave up.
        iterations: After how many iterations.
    """

    def __init__(self, verdict: str, program: NonlinearProgram, z: Vector, iterations: int) -> None:
        self.program, self.z, self.iterations = program, z, iterations
        super().__init__(
            STATUS_MESSAGES.get(verdict, f"must be found by the solver, which says {verdict}.")
        )


def solve_program(
    program: NonlinearProgram, guess: Vector, *, close: bool = False
) -> tuple[Vector, int]:
    """Return the unknowns at a local optimum, and the number of iterations.

    Args:
        program: The program.
        guess: Where to begin, shape ``(count,)``.
        close: Whether that is close to the optimum.

    Raises:
        InputError: CasADi is missing.
        OptimisationFailed: No optimum was found; the message says why.
    """
    try:
        import casadi
    except ImportError:
        raise InputError(CASADI_MISSING) from None
    low, high = program.bounds()
    row_low, row_high = program.row_bounds()
    try:
        # the blocks are dense, so the pattern at the guess is that of all points
        sparse = program.row_jacobian(guess), program.hessian(guess, 1.0, np.ones(program.rows))
    except EVALUATION_ERRORS:
        raise OptimisationFailed("Invalid_Number_Detected", program, guess, 0) from None
    slopes, bend = (_sparsity(casadi, matrix) for matrix in sparse)
    count, rows = program.count, program.rows

    def of(
        name: str, inputs: Sequence[int], outputs: Sequence[Any], function: Callable[..., Any]
    ) -> Any:
        return _function(casadi, name, inputs, outputs, function)

    z_p, lagrange = (count, 0), (count, 0, 1, rows)
    both = of("nlp", z_p, (1, rows), lambda z: (program.cost(z), program.row_values(z)))
    gradient = of("grad_f", z_p, (1, count), lambda z: (program.cost(z), program.cost_gradient(z)))
    jacobian = of("jac_g", z_p, (rows, slopes),
                  lambda z: (program.row_values(z), program.row_jacobian(z).data))  # fmt: skip
    hessian = of("hess_lag", lagrange, (bend,),
                 lambda z, c, g: (program.hessian(z, float(c[0]), g).data,))  # fmt: skip
    z, p = casadi.MX.sym("z", count), casadi.MX.sym("p", 0, 0)
    f, g = both(z, p)
    options = {
        "grad_f": gradient, "jac_g": jacobian, "hess_lag": hessian, "no_nlp_grad": True,
        "calc_lam_p": False, "print_time": False, "error_on_fail": False,
        "show_eval_warnings": False,
        "ipopt": {"print_level": 0, "sb": "yes", "max_iter": MAX_ITERATIONS, "tol": TOLERANCE,
                  # Ipopt would widen bounds a little, and cross what is to be kept
                  "bound_relax_factor": 0.0, **(WARM_START if close else {})},
    }  # fmt: skip
    solver = casadi.nlpsol("optimised", "ipopt", {"x": z, "f": f, "g": g}, options)
    answer = solver(x0=guess, lbx=low, ubx=high, lbg=row_low, ubg=row_high)
    stats, best = solver.stats(), np.array(answer["x"]).ravel()
    if not stats["success"]:
        raise OptimisationFailed(
            str(stats["return_status"]), program, best, int(stats["iter_count"])
        )
    return best, int(stats["iter_count"])


def _sparsity(casadi: Any, matrix: sp.csc_array) -> Any:
    return casadi.Sparsity(*matrix.shape, matrix.indptr.tolist(), matrix.indices.tolist())


def _function(
    casadi: Any,
    name: str,
    inputs: Sequence[int],
    outputs: Sequence[Any],
    function: Callable[..., Any],
) -> Any:
    """Return what computes some arrays as a function that CasADi can call.

    Where it fails, as where a chain cannot be closed, it returns NaN: the solver then turns back.
    """

    class Function(casadi.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(inputs)

        def get_n_out(self) -> int:
            return len(outputs)

        def get_sparsity_in(self, i: int) -> Any:
            size = inputs[i]
            return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

        def get_sparsity_out(self, i: int) -> Any:
            size = outputs[i]
            return casadi.Sparsity.dense(size, 1) if isinstance(size, int) else size

        def eval(self, given: Sequence[Any]) -> list[Any]:
            shapes = [self.get_sparsity_out(i) for i in range(len(outputs))]
            numbers = [np.array(one).ravel() for one, n in zip(given, inputs, strict=True) if n]
            values: Sequence[Any] = [np.nan] * len(outputs)
            with contextlib.suppress(*EVALUATION_ERRORS):
                values = function(*numbers)
            return [casadi.DM(shape, value) for shape, value in zip(shapes, values, strict=True)]

    return Function()
