r"""Integrals and integrating factors of velocity constraints, where symbols find them in time.

Computer algebra may take for ever. So it runs in a process of its own, which is ended when its
processor time is up; everything it says is optional. It runs this file alone, and imports little:
that time counts too.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ukctrl.core.errors import ExpressionError
from ukctrl.core.subprocess_safety import module_path, safe_path

if TYPE_CHECKING:
    import sympy

    from ukctrl.core.expression.constraint_rows import DerivedRows

MAX_OPERATIONS = 200
"""Forms with more operations than this are left alone."""
MAX_FORMS = 60
"""With more Frobenius forms than this, no witness is written out."""
WALL_TIME_FACTOR = 10.0
"""A machine may be so many times busier than this process before time that passes counts too."""


class FirstIntegrals(NamedTuple):
    """What computer algebra found."""

    integrals: list[tuple[str, str]]
    """Integrating factor and integral of each row; empty texts where none was found."""
    witness: str
    """The first Frobenius form that is not zero, or an empty text."""


def first_integrals(
    texts: Sequence[str], coordinates: Sequence[str], integrable: Sequence[bool], seconds: float
) -> FirstIntegrals | None:
    """Integrate rows in text, in a process of its own.

    Args:
        texts: The rows, over velocities ``v.x`` or differentials ``d.x``.
        coordinates: Names of the coordinates.
        integrable: Which rows are known to be integrable by themselves.
        seconds: Processor time allowed, in whole seconds: no answer depends on a busy machine.

    Returns:
        None where the time was not enough, or no process can be started.
    """
    request = json.dumps([seconds, list(texts), list(coordinates), list(integrable)])
    try:
        with safe_path():
            run = subprocess.run(
                [sys.executable, __file__],
                input=request,
                capture_output=True,
                text=True,
                timeout=WALL_TIME_FACTOR * max(1.0, seconds),
                env={**os.environ, "PYTHONPATH": module_path()},
                check=False,
            )
        integrals, witness = json.loads(run.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return FirstIntegrals([(factor, integral) for factor, integral in integrals], witness)


def read_rows(
    texts: Sequence[str],
    coordinates: tuple[str, ...],
    dofs: tuple[str, ...],
    rates: tuple[str, ...],
) -> list[DerivedRows]:
    """Derive each text by itself, in the form that its variables show."""
    from ukctrl.core.expression.constraint_rows import Form, derive_rows
    from ukctrl.core.expression.symbolic import Vocabulary, check_names

    vocabulary = Vocabulary(coordinates, dofs, (*dofs, "t"))
    rows = []
    for text in texts:
        used = check_names(text, vocabulary)
        spaces = {name.partition(".")[0] for name in used if "." in name}
        if spaces == {"d", "v"}:
            raise ExpressionError(
                f"in '{text[:60]}': write differentials (d.x) or velocities (v.x), not both."
            )
        form: Form = (
            "pfaffian" if spaces == {"d"} else "nonholonomic" if spaces == {"v"} else "holonomic"
        )
        rows.append(derive_rows([text], form=form, coordinates=coordinates, dofs=dofs, rates=rates))
    return rows


def _integrate_rows(
    texts: Sequence[str], coordinates: Sequence[str], integrable: Sequence[bool]
) -> tuple[list[tuple[str, str]], str]:
    import sympy

    names = tuple(coordinates)
    rates = tuple(f"v.{name}" for name in names)
    derived = read_rows(texts, names, names, rates)
    variables = [sympy.Symbol(name) for name in (*names, "t")]
    velocities = [sympy.Symbol(rate) for rate in rates]
    at_rest = dict.fromkeys(velocities, sympy.Integer(0))
    forms = [[*row.A[0], row.beta[0].xreplace(at_rest)] for row in derived]
    forms = [[sympy.nsimplify(entry, rational=True) for entry in form] for form in forms]
    linear = [not any(entry.has(*velocities) for entry in form) for form in forms]
    forms_found = []
    for row, form, usable, is_integrable in zip(derived, forms, linear, integrable, strict=True):
        if row.phi:
            forms_found.append(("1", str(row.phi[0])))
        elif (
            usable and is_integrable and sum(entry.count_ops() for entry in form) <= MAX_OPERATIONS
        ):
            forms_found.append(_integrate(form, variables))
        else:
            forms_found.append(("", ""))
    witness = _witness(forms, variables) if all(linear) else ""
    return forms_found, witness


def _curl(form: Sequence[sympy.Expr], x: Sequence[sympy.Symbol], i: int, j: int) -> Any:
    return form[j].diff(x[i]) - form[i].diff(x[j])


def _witness(forms: Sequence[Sequence[sympy.Expr]], x: Sequence[sympy.Symbol]) -> str:
    """Return the first component of ``d omega_i ^ omega_1 ^ ... ^ omega_m`` that is not zero."""
    import sympy

    m, size = len(forms), len(x)
    tuples = list(itertools.combinations(range(size), m + 2))
    # minors grow in number as n^(m + 2)
    if m > 3 or m * len(tuples) > MAX_FORMS:
        return ""
    for i, form in enumerate(forms):
        for chosen in tuples:
            total: Any = sympy.Integer(0)
            for a, b in itertools.combinations(range(m + 2), 2):
                columns = [chosen[k] for k in range(m + 2) if k not in (a, b)]
                minor = sympy.Matrix([[row[k] for k in columns] for row in forms]).det()
                sign = (-1) ** (a + b + 1)
                total += sign * _curl(form, x, chosen[a], chosen[b]) * minor
            value = sympy.simplify(total)
            if value != 0:
                label = "omega" if m == 1 else f"omega_{i + 1}"
                wedge = "omega" if m == 1 else " ^ ".join(f"omega_{k + 1}" for k in range(m))
                basis = " ^ ".join(f"d{x[k]}" for k in chosen)
                return f"d {label} ^ {wedge} has the component {value} along {basis}"
    return ""


def _integrate(form: Sequence[sympy.Expr], x: Sequence[sympy.Symbol]) -> tuple[str, str]:
    """Return an integrating factor and the integral, or empty texts."""
    import sympy

    # divided by one of its entries, a form may need a factor of one variable only
    leads: list[Any] = [sympy.Integer(1), *(1 / entry for entry in form if entry != 0)]
    for lead in leads:
        scaled = [sympy.cancel(lead * entry) for entry in form]
        for factor in _factors(scaled, x):
            exact = [sympy.simplify(factor * entry) for entry in scaled]
            pairs = itertools.combinations(range(len(x)), 2)
            if any(sympy.simplify(_curl(exact, x, i, j)) != 0 for i, j in pairs):
                continue
            potential = _potential(exact, x)
            if potential is not None:
                return str(sympy.simplify(lead * factor)), str(potential)
    return "", ""


def _factors(form: Sequence[sympy.Expr], x: Sequence[sympy.Symbol]) -> list[Any]:
    r"""Return 1 and every factor of one variable $x_k$ alone that may make a form exact.

    $\mu'/\mu = (\partial_j a_k - \partial_k a_j)/a_j$ must then be a function of $x_k$ only.
    """
    import sympy

    factors: list[Any] = [sympy.Integer(1)]
    for k, variable in enumerate(x):
        for j in range(len(x)):
            if j == k or form[j] == 0:
                continue
            rate = sympy.simplify(_curl(form, x, j, k) / form[j])
            if rate != 0 and rate.free_symbols <= {variable}:
                factors.append(sympy.exp(sympy.integrate(rate, variable)))
            break
    return factors


def _potential(form: Sequence[sympy.Expr], x: Sequence[sympy.Symbol]) -> Any:
    """Integrate an exact form, one variable after the other; None where that is not closed."""
    import sympy

    total: Any = sympy.Integer(0)
    for entry, variable in zip(form, x, strict=True):
        missing = sympy.simplify(entry - total.diff(variable))
        if missing == 0:
            continue
        term = sympy.integrate(missing, variable)
        if term.has(sympy.Integral):
            return None
        total += term
    # sympy's integral is not taken on trust
    checked = all(
        sympy.simplify(total.diff(variable) - entry) == 0
        for entry, variable in zip(form, x, strict=True)
    )
    if not checked:
        return None
    # log u, but real where u is negative too
    return sympy.expand(total).replace(sympy.log, lambda u: sympy.log(u**2) / 2)


def _main() -> None:
    """Answer what stands on the input, within the processor time that it allows."""
    seconds, *request = json.loads(sys.stdin.read())
    if sys.platform != "win32":
        import resource

        limit = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    json.dump(_integrate_rows(*request), sys.stdout)


if __name__ == "__main__":
    _main()
