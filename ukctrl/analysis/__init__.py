"""One scenario before it runs: check, linear analysis, internal dynamics, conformance."""
