PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo bench test lint clean

# The main job on real weights: the example requests by three methods, side by side. Fetches the weights once.
demo: $(READY)
	$(BIN)/oospec-run --live --compare ar,toolspec,oospec --limit 6

# Every method on the example requests, in three interleaved runs: rows, a table and a picture. A stopped one goes on.
bench: $(READY)
	mkdir -p out
	$(BIN)/python -m tools.bench run examples/requests.jsonl --rows out/bench.rows.jsonl --picture out/bench.html

# Two processes: each takes tests from the other where it is done first.
test: lint
	$(BIN)/pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[live,dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
