"""Many runs: compare, sweep, tune, and what they show."""
