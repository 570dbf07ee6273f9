"""The live view in a browser: scenes as they are simulated, recordings, experiments. Needs the extra ``view``."""
