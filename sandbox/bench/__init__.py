"""What the walker must reach, measured: :mod:`sandbox.bench.walk` how it walks, :mod:`sandbox.bench.speed` what it costs."""
