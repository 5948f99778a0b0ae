"""From a designed controller to one's own control loop.

In order: ``runtime`` (a class, and its self-check); ``ros_trajectory`` (a trajectory);
``robot_files`` (copies of what robots are made of); ``controller_module`` (a tick as a module of
LLVM), ``c_library`` and ``fmu`` of it; ``export_controller`` (tables, a folder).
"""
