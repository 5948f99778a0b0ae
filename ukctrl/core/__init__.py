"""What all of ukctrl stands on: errors, files, formulas, compiled linear algebra, statistics."""
