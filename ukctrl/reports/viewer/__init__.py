"""What does the browser show while Python waits? A scene through viser, of the extra ``view``.

In order: ``server`` (who may look, and where); ``smooth`` (meshes whose edges stay sharp),
``lines`` (curves, arrows, texts) and ``display`` (a scene, at one of its moments); ``timeline``
(its time, played or set), ``sliders`` (a robot at rest, joint by joint) and ``live`` (a run while
it computes).
"""
