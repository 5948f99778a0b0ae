"""One run: a scenario in, a result out."""
