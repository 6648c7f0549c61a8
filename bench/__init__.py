"""Measurements of the engine, as ratios within one run: `make bench` or `python -m bench`."""
