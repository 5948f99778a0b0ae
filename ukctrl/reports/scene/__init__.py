"""What is there to see in three dimensions? One scene, for the page, the browser and the film.

In order: ``stage`` (what a scene is made of).
"""
