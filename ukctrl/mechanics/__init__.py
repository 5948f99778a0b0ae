"""How does a robot move under constraints?

In order:
``reference`` (paths over time), ``pseudoinverse``;
``constraints`` (rows ``A a = b``) and ``motion`` (forms of the equation of motion, on arrays);
``integrability``, ``nonideal`` and ``start`` (a state that satisfies the rows);
``dynamics`` (``a = a_free + G u``) and ``at_rest``;
``linearise``, ``derivatives``, ``integrate``, ``projection``;
``relative_degree``.
"""
