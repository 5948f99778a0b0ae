"""Laws for one kind of robot or task each: thrust, swing-up, switching, high relative degree."""
