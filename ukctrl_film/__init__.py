"""What is a scene in a file: a picture, a strip of poses, a film?

    from ukctrl import record

    record(result, "run.mp4")

The package stands on `ukctrl`, which names it in two files: ``__init__`` for the public names
`Camera` and `record`, ``cli/view`` for ``--record``.

In order: ``camera`` (from where a scene is looked at), ``pose_interpolation`` (between its
samples), ``raster_kernels`` (which triangle is seen), ``light_kernels`` (how light falls),
``triangle_set``, ``strokes``, ``scene_renderer`` and ``captions`` (a moment, and its words),
``film`` (in files), ``command`` (the work of ``ukctrl view --record``).
"""
