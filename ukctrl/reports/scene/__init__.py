"""What is there to see in three dimensions? One scene, for pages and films.

In order: ``joint_sliders`` (how a page moves a robot at rest), ``scene`` (what a scene is made of),
``extent`` (how much of space it takes), ``pedestals`` (what carries a robot), ``force_arrows``
(what pushes on it), ``arrow_shapes`` (what that looks like), ``payloads`` (what it carries),
``limit_shapes`` and ``limits_in_space`` (what it keeps clear of), ``trails`` (where it went),
``robot_scene`` and ``run_scene`` (scenes of runs); ``page_data`` (a scene as numbers of a page) and
``svg_still`` (as a picture of one).
"""
