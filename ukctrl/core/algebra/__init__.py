"""Small dense linear algebra, compiled, and when its answers count as right."""
