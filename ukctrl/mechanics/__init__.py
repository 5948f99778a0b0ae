"""How does a robot move under constraints?

In order:
``reference`` (paths over time), ``pseudoinverse``;
``constraints`` (rows ``A a = b``) and ``motion`` (forms of the equation of motion, on arrays);
``integrability``, ``nonideal`` and ``start`` (a state that satisfies the rows);
``walk`` (inverse kinematics along a path); ``contacts`` (that only push);
``motor_grip`` and ``transmitted`` (what follows from an answer), ``dynamics``
(``a = a_free + G u``) and ``at_rest``; ``timing`` (the fastest way along a path within limits);
``linearise``, ``optimal`` (motions of least effort or time), ``derivatives``, ``integrate``,
``projection``; ``relative_degree``.
"""
