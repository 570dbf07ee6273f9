"""Motion capture of other people's: read once into the project's axes and units."""
