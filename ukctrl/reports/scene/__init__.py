"""What is there to see in three dimensions? One scene, for the page and the film.

In order: ``joint_sliders`` (how a page moves a robot at rest), ``scene`` (what a scene is made of),
``extent`` (how much of space it takes), ``pedestals`` (what carries a robot), ``force_arrows``
(what pushes on it), ``arrow_shapes`` (what that looks like), ``payloads`` (what it carries),
``limits_in_space`` (what it keeps clear of), ``trails`` (where it went), ``robot_scene`` and
``run_scene`` (scenes of runs); ``page_data`` (a scene as numbers of a page) and ``svg_still`` (as a
picture of one); ``camera`` (from where it is looked at), ``pose_interpolation`` (between its
samples), ``raster_kernels`` (which triangle is seen), ``light_kernels`` (how light falls),
``triangle_set``, ``strokes``, ``scene_renderer`` and ``captions`` (a moment, and its words),
``film`` (in files).
"""
