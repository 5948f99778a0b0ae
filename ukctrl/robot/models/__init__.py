"""Where the model of rigid bodies comes from: files, several files, linkages, particles."""
