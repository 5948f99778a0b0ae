"""From a designed controller to one's own control loop.

In order: ``exported_step`` (what is handed over), of a controller by ``runtime`` (a class, and its
self-check), of a robot by ``plant_step``; ``ros_trajectory`` (a trajectory); ``robot_files``
(copies of what robots are made of); ``step_module`` (a step as a module of LLVM), ``c_library`` and
``fmu`` of it; ``export_controller`` (tables, a folder).
"""
