# Needs python3 (3.11 or newer, with venv) and make; everything else goes into .venv, pinned by requirements.lock.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help release test soak check leaderboard space docs bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

RELEASE = $(if $(QUARTER),--quarter $(QUARTER)) $(if $(NOTES_DUMP),--notes-dump "$(NOTES_DUMP)") \
	$(if $(NOTES_POSTS),--notes-posts "$(NOTES_POSTS)") $(if $(NOTES_POSTS_FROM),--notes-posts-from "$(NOTES_POSTS_FROM)") \
	$(if $(WIKI_DUMP),--wiki-dump $(WIKI_DUMP)) \
	$(if $(DATASETS),--datasets $(DATASETS)) $(if $(MODELS),--models $(MODELS)) $(if $(LIMIT),--limit $(LIMIT))

release: $(READY) ## from sources to the board; QUARTER="2023Q2 ..." NOTES_DUMP=DIR NOTES_POSTS=FILE NOTES_POSTS_FROM=NAMES WIKI_DUMP="FILE ..." DATASETS="NAME ..." MODELS="M ..." LIMIT=N
	$(BIN)/hellofresh release run $(RELEASE)

test: $(READY) ## run the tests, on all cores; HELLOFRESH_THOROUGH=1: the slow ones too, and properties on more examples
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal \
		$(if $(HELLOFRESH_THOROUGH),-m "not soak and not torch" --durations 30)

soak: $(READY) ## run the tests that take minutes each, then fuzz all readers of other people's files; MINUTES=60
	$(BIN)/python -m pytest -m soak --numprocesses auto --dist worksteal
	$(BIN)/python benchmarks/fuzz.py --minutes $(or $(MINUTES),60)

check: $(READY) ## ruff, mypy --strict and import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

leaderboard: $(READY) ## open the board in Streamlit; PORT=8501
	$(BIN)/streamlit run leaderboard/app.py $(if $(PORT),--server.port $(PORT))

space: ## lay out build/space, the folder to push to a host such as a Hugging Face Space: the app and the board as it is
	@test -f data/board/manifest.json || { echo "There is no board in data/board; run: make release"; exit 1; }
	rm -rf build/space
	mkdir -p build/space/data
	cp leaderboard/space.md build/space/README.md
	cp -r Dockerfile .dockerignore pyproject.toml LICENSE CHANGELOG.md requirements-site.lock hellofresh leaderboard build/space
	cp -r data/board build/space/data/board
	find build/space -name __pycache__ -type d -prune -exec rm -rf {} +

docs: ## build/docs, all pages as a site with search; a dead link is an error
	$(PYTHON) -m venv --clear build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-docs.lock
	rm -rf build/docs-pages
	mkdir -p build/docs-pages/submissions
	cp -r *.md LICENSE CITATION.cff docs build/docs-pages
	cp submissions/README.md build/docs-pages/submissions
	build/docs-venv/bin/mkdocs build --strict --quiet

bench: $(READY) ## run the benchmarks of speed and memory
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lock: ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --all-extras --group weights --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet --upgrade --output-file requirements.lock
	uv pip compile pyproject.toml --extra site --universal --python-version 3.11 --generate-hashes \
		--constraint requirements.lock --no-header --no-annotate --quiet --upgrade --output-file requirements-site.lock
	uv pip compile --group pyproject.toml:docs --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet --upgrade --output-file requirements-docs.lock

clean: ## remove the virtual environment and caches; data/ stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache test-artifacts build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
