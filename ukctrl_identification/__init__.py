"""From logs of a real robot to a model that one may believe, as a package beside ``ukctrl``.

It stands on all of ``ukctrl``, which has its command in ``cli/identify``.

In order: ``joint_log`` (what sensors said), ``identified_dynamics`` (what becomes of it) and
``robot_dynamics`` (that of a robot, read and replaced); ``model_files``, ``urdf_dynamics``,
``mjcf_elements``, ``mjcf_dynamics``, ``joint_losses`` and ``identified_files`` (written into the
files of a robot); ``identified_spread``, ``identified_json`` and ``drawn_robot`` (robots drawn from
what a fit does not know).
"""
