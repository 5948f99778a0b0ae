"""Formulas in text: a small safe language, its units, its exact derivatives, its compiled form.

Files hold formulas such as ``"30*deg"`` or ``"q1 + q2 + q3"``. In order: they are read by a
whitelist (``syntax``; ``suggested_text`` says what was meant), never by ``eval`` or ``sympify``;
evaluated at once when they are constant (``units``); else turned into sympy expressions
(``symbolic``). One compiled loop (``interpreter``) runs the tables of operations
(``compiled_formula``) that are made of them (``codegen``) and stored on disk (``formula_cache``),
when constraint rows (``constraint_rows``) and equations of motion (``lagrange_equations``) have
differentiated them; where a formula goes into a C library, it is written as code
(``straight_line``). sympy is imported only for what is not stored.
"""
