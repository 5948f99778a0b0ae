"""What is there to see in three dimensions? One scene, for the page, the browser and the film.

In order: ``stage`` (what a scene is made of), ``extent`` (how much of space it takes), ``arrows``;
``from_results`` and ``from_robot`` make one; ``page_data`` and ``still`` write it for a page.
"""
