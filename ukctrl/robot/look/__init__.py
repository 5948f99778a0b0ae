"""What does the robot look like, and where is each part of it at a configuration?

In order: ``meshes`` (simple shapes as triangles) and ``parts`` (a look, and where its parts are).
"""
