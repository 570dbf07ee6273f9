# Everything runs in .venv, which .ci/setup makes where it is missing and brings up to date where it is not.

.DEFAULT_GOAL := help
.PHONY: help environment walk-environment walk test test-all lint bench clean

help:
	@echo 'make walk      walk 20 s at 1.0 m/s; recording, picture and replay page in out/walk'
	@echo 'make test      the tests, but for the slow ones'
	@echo 'make test-all  all tests'
	@echo 'make lint      ruff, mypy, import-linter'
	@echo 'make bench     speed and memory, as ratios measured in one run'
	@echo 'make clean     remove .venv, out, built files and caches'

environment:
	@sh .ci/setup

# What walking takes is half of the download: the packages of training and of the tests come with the first `make test`.
walk-environment:
	@sh .ci/setup walk

walk: walk-environment
	@mkdir -p out/walk
	@.venv/bin/sandbox run walk --speed 1.0 --seconds 20 --record out/walk/walk.npz --replay out/walk/replay.html \
	    --picture out/walk/gait.png --json out/walk/summary.json

test: environment
	.venv/bin/python -m pytest -n 2 -m "not slow"

test-all: environment
	.venv/bin/python -m pytest -n 2

lint: environment
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy -p sandbox
	.venv/bin/lint-imports

bench: environment
	@.venv/bin/sandbox bench

# Not runs/: results of tuning may have cost days.
clean:
	rm -rf .venv out dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find sandbox bodies controllers envs experiments tests -name __pycache__ -type d -prune -exec rm -rf {} +
