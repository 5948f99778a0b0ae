"""A robot under constraints: rows, references, the affine answer, start, integration."""
