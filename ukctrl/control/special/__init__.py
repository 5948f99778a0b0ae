"""Laws for one kind of robot or task each.

In order: ``io_linearisation`` (rows of high relative degree); ``swing_up`` (energy into
underactuated robots); ``switching`` (several laws for one task); ``thrust_vectoring`` (bodies that
push along one axis).
"""
