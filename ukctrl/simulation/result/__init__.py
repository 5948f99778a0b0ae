"""What a run leaves behind: samples, metrics, files."""
