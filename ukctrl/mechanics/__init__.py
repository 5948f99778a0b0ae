"""How does a robot move under constraints?

In order: ``reference`` (paths over time); ``constraints`` (rows ``A a = b``); ``integrability``,
``nonideal_forces`` and ``consistent_state`` (a state that satisfies the rows);
``path_inverse_kinematics`` (inverse kinematics along a path); ``impact``, ``load_sharing`` and
``unilateral_contacts`` (that only push); ``authority_mixin`` and ``reaction_mixin`` (what follows
from an answer), ``dynamics`` (``a = a_free + G u``) and ``home_configuration``; ``timing`` (the
fastest way along a path within limits); ``linearise``, ``derivatives``, ``integrate``,
``projection``; ``relative_degree``.
"""
