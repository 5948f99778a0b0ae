"""Files that users write: where they are found, how they are read, what code they may name."""
