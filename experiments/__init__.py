"""The experiments, one file each; :mod:`sandbox.harness` says how they are written. They do not import one another."""
