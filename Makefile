# Needs python3 (3.11 or newer, with venv) and make; everything else goes into .venv, pinned by the locks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTED := $(VENV)/.tested
# What `make release` asks and shows: the embedded model, baselines that learn words or sentences, searches of bundled pages,
# figures of analyses, the site.
EXTRAS := local baselines retrieval analyse site web

.DEFAULT_GOAL := help
.PHONY: help release install test soak check leaderboard space dist docs bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Installs by uv with the system's certificates (a company's too), or by pip once uv has failed; both check the hashes.
install = if [ ! -e $(VENV)/uv.failed ] && ! UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python \
		--no-deps $(1) 2>$(VENV)/uv.log; then \
	mv $(VENV)/uv.log $(VENV)/uv.failed; \
	echo "uv failed ($$(tail -n 1 $(VENV)/uv.failed | sed "s,^ *,,")); pip installs instead, which takes minutes"; fi; \
	[ ! -e $(VENV)/uv.failed ] || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(1)

# Compiled on another core meanwhile: the first import of these takes seven seconds.
SLOWEST = 'import sklearn.linear_model, sklearn.feature_extraction.text'

$(READY): requirements.lock requirements-installer.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-installer.lock || true
	@$(call install,--require-hashes -r requirements.lock)
	@$(BIN)/python -c $(SLOWEST) >/dev/null 2>&1 &
	@$(call install,--no-build-isolation --editable .)
	@touch $@

# What only tests, checks and benchmarks need, and every extra: `make release` is lighter without.
$(TESTED): $(READY) requirements-test.lock
	@$(call install,--require-hashes -r requirements-test.lock)
	@touch $@

RELEASE = $(if $(QUARTER),--quarter $(QUARTER)) $(if $(NOTES_DUMP),--notes-dump "$(NOTES_DUMP)") \
	$(if $(NOTES_POSTS),--notes-posts "$(NOTES_POSTS)") $(if $(NOTES_POSTS_FROM),--notes-posts-from "$(NOTES_POSTS_FROM)") \
	$(if $(WIKI_DUMP),--wiki-dump $(WIKI_DUMP)) \
	$(if $(DATASETS),--datasets $(DATASETS)) $(if $(MODELS),--models $(MODELS)) $(if $(LIMIT),--limit $(LIMIT))

release: $(READY) ## from sources to the board; QUARTER="2023Q2 ..." NOTES_DUMP=DIR NOTES_POSTS=FILE NOTES_POSTS_FROM=NAMES WIKI_DUMP="FILE ..." DATASETS="NAME ..." MODELS="M ..." LIMIT=N
	$(BIN)/hellofresh release run $(RELEASE)
	@echo "Look at the board: make leaderboard (http://localhost:8501)"

install: $(TESTED) ## every extra, and what tests need: web search, retrieval, text in pictures, other harnesses

test: $(TESTED) ## run the tests, on all cores; HELLOFRESH_THOROUGH=1: the slow ones too, and properties on more examples
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal \
		$(if $(HELLOFRESH_THOROUGH),-m "not soak and not torch" --durations 30)

soak: $(TESTED) ## run the tests that take minutes each, then fuzz all readers of other people's files; MINUTES=60
	$(BIN)/python -m pytest -m soak --numprocesses auto --dist worksteal
	$(BIN)/python benchmarks/fuzz.py --minutes $(or $(MINUTES),60)

check: $(TESTED) ## ruff, mypy --strict and import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

leaderboard: $(READY) ## open the board in Streamlit; PORT=8501
	$(BIN)/streamlit run leaderboard/app.py $(if $(PORT),--server.port $(PORT))

space: ## lay out build/space, the folder to push to a host such as a Hugging Face Space: the app and the board as it is; TABLE=1: only the page Check a table
	@test -n "$(TABLE)" -o -f data/board/manifest.json || { echo "There is no board in data/board; run: make release"; exit 1; }
	rm -rf build/space
	mkdir -p build/space/data
	cp -r Dockerfile .dockerignore pyproject.toml LICENSE CHANGELOG.md requirements-site.lock hellofresh leaderboard build/space
	cp leaderboard/$(if $(TABLE),space-table,space).md build/space/README.md
	$(if $(TABLE),sed -i -e '/data\/board/d' -e 's/HELLOFRESH_DATA=.*/HELLOFRESH_TABLE_ONLY=1 \\/' build/space/Dockerfile,cp -r data/board build/space/data/board)
	find build/space -name __pycache__ -type d -prune -exec rm -rf {} +

# Addresses in what is published follow from REPOSITORY alone: links of README, which an index shows elsewhere, and the project's.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
dist: $(READY) ## build/dist, the committed package for the package index; REPOSITORY=https://github.com/OWNER/NAME
	@test -n "$(REPOSITORY)" || { echo "Name the public repository: make dist REPOSITORY=https://github.com/OWNER/NAME"; exit 2; }
	rm -rf build/source build/dist
	mkdir -p build/source
	git archive HEAD | tar -x -C build/source
	sed -i -E -e 's#(!\[[^]]*\]\()([^):]+\))#\1$(REPOSITORY)/raw/v$(VERSION)/\2#g' \
		-e 's#(\]\()([^):]+\))#\1$(REPOSITORY)/blob/v$(VERSION)/\2#g' build/source/README.md
	sed -i 's#^\[project.scripts\]#[project.urls]\nRepository = "$(REPOSITORY)"\nIssues = "$(REPOSITORY)/issues"\n\n&#' build/source/pyproject.toml
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir build/dist build/source

docs: ## build/docs, all pages as a site with search; a dead link is an error
	$(PYTHON) -m venv --clear build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-docs.lock
	rm -rf build/docs-pages
	mkdir -p build/docs-pages/submissions
	cp -r *.md LICENSE CITATION.cff docs build/docs-pages
	cp submissions/README.md build/docs-pages/submissions
	build/docs-venv/bin/mkdocs build --strict --quiet

bench: $(TESTED) ## run the benchmarks of speed and memory
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --upgrade

# lm-eval needs sqlitedict, which unpickles what it reads, for a cache that nothing here uses: it is left out.
lock: ## renew the locks from pyproject.toml (needs uv)
	$(LOCK) pyproject.toml --all-extras --group weights --group build --group docs --no-emit-package sqlitedict \
		--output-file requirements-test.lock
	$(LOCK) pyproject.toml $(foreach extra,$(EXTRAS),--extra $(extra)) --group weights --group build \
		--constraint requirements-test.lock --output-file requirements.lock
	$(LOCK) pyproject.toml --extra site --constraint requirements-test.lock --output-file requirements-site.lock
	$(LOCK) --group pyproject.toml:installer --output-file requirements-installer.lock
	$(LOCK) --group pyproject.toml:docs --output-file requirements-docs.lock

clean: ## remove the virtual environment and caches; data/ stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache test-artifacts build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
