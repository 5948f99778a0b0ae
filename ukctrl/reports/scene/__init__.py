"""What is there to see in three dimensions? One scene, for the page, the browser and the film.

In order: ``stage`` (what a scene is made of), ``extent`` (how much of space it takes), ``arrows``
(what pushes on a robot) and ``from_results`` (scenes of runs); ``page_data`` (a scene as numbers of
a page) and ``still`` (as a picture).
"""
