"""What is there to see in three dimensions? One scene, for the page, the browser and the film.

In order: ``stage`` (what a scene is made of), ``extent`` (how much of space it takes), ``stands``
(what carries a robot), ``arrows`` (what pushes on it), ``arrow_shapes`` (what that looks like),
``payloads`` (what it carries), ``kept`` (what it keeps clear of), ``trails`` (where it went),
``from_robot`` and ``from_results`` (scenes of runs); ``page_data`` (a scene as numbers of a page)
and ``still`` (as a picture of one); ``camera`` (from where it is looked at), ``moments`` (between
its samples), ``raster_kernels`` (which triangle is seen), ``light_kernels`` (how light falls),
``triangles``, ``strokes``, ``picture`` and ``captions`` (a moment, and its words), ``film`` (in
files).
"""
