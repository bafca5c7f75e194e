# The two commands to know: `make demo` and `make test`. Everything else is part of them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JAR := spark_listener/jars/grasshopper-spark.jar
YARN_JAR := yarn_bridge/jars/grasshopper-yarn.jar
MAPREDUCE_JAR := yarn_bridge/jars/grasshopper-mapreduce.jar
TESTKIT := jvm-shim/testkit/target/grasshopper-testkit.jar
SPARK35 := build/spark-3.5/pyspark
JAVA_SOURCES := $(shell find jvm-shim -name '*.java' -o -name 'pom.xml' -not -path '*/target/*' 2>/dev/null)
# Without noreset Maven resets a colour that it never set, in a log file, too.
MAVEN := MAVEN_OPTS="$$MAVEN_OPTS -Djansi.noreset=true" mvn -B -q -Dstyle.color=never -f jvm-shim/pom.xml
PIN := $(BIN)/uv pip compile -q --universal --no-header --no-emit-index-url --generate-hashes --python-version 3.11
export PYTHON

.PHONY: help demo demo-yarn test unit test-full bench bench-demo bench-rm bench-rm-full mutants lint jars wheel lock clean
.DELETE_ON_ERROR:

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

demo: $(VENV)/run.stamp $(JAR) $(TESTKIT) ## A real Spark cluster with a sick host: stock against Grasshopper, and the page.
	@$(BIN)/grasshopper demo $(DEMO)

demo-yarn: $(VENV)/run.stamp $(JAR) $(YARN_JAR) $(TESTKIT) ## A real YARN with a sick node and three applications: stock orders against Grasshopper.
	@$(BIN)/grasshopper demo-yarn $(DEMO)

test: $(VENV)/dev.stamp $(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) $(TESTKIT) $(SPARK35)/__init__.py ## Everything that a change can break.
	@./setup.sh chromium systemd
	@$(BIN)/python -m tests.suites test

unit: $(VENV)/dev.stamp ## Seven minutes: Python without clusters, lint, layers.
	@$(BIN)/python -m tests.suites unit

test-full: $(VENV)/dev.stamp $(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) $(TESTKIT) $(SPARK35)/__init__.py ## Hours: every version, long soaks, thousands of trials; resumable.
	@./setup.sh chromium systemd
	@$(BIN)/python -m tests.suites test-full

bench: $(VENV)/dev.stamp $(JAR) $(YARN_JAR) $(TESTKIT) ## Measure; prints a table and writes build/bench.json.
	@$(BIN)/python -m tests.bench $(ROWS)

bench-demo: $(VENV)/dev.stamp $(JAR) $(TESTKIT) ## The large demo over twelve rounds in each world, measured and simulated; hours, resumable.
	@$(BIN)/python -m tests.bench demo_ratio sim_real

bench-rm: $(VENV)/dev.stamp $(YARN_JAR) ## What the plug-in costs a ResourceManager with 500 applications; five minutes.
	@$(BIN)/python -m tests.bench rm_overhead

bench-rm-full: $(VENV)/dev.stamp $(YARN_JAR) ## The same for 50, 200, 500 applications; control plane answering, stopped, dead.
	@$(BIN)/python -m tests.bench rm_grid

mutants: $(VENV)/dev.stamp ## Change the last commit's code in 600 places, one by one: what does no test notice? An hour, three at most.
	@$(BIN)/python -m tests.mutants $(MUTANTS)

lint: $(VENV)/dev.stamp ## Style, types and layers.
	@$(BIN)/python -m tests.suites lint

jars: $(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) $(TESTKIT) ## Build the Java side.

wheel: $(VENV)/run.stamp $(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) ## Build the wheel into dist/.
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist . && ls dist

lock: $(VENV)/dev.stamp ## Pin every dependency again.
	$(PIN) pyproject.toml --extra spark --group build -o requirements/run.lock
	$(PIN) pyproject.toml --extra spark --group dev -c requirements/run.lock -o requirements/dev.lock
	$(PIN) pyproject.toml -c requirements/run.lock -o requirements/server.lock
	$(PIN) --group build -c requirements/run.lock -o requirements/build.lock

clean: ## Remove everything that was built.
	rm -rf $(VENV) build dist spark_listener/jars yarn_bridge/jars jvm-shim/target jvm-shim/*/target

$(VENV)/run.stamp: requirements/run.lock pyproject.toml
	@./setup.sh venv jdk maven
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo "Installing Python packages into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/run.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.lock $(VENV)/run.stamp
	@echo "Installing the tools for tests"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@

$(SPARK35)/__init__.py: requirements/spark-3.5.lock | $(VENV)/run.stamp
	@echo "Fetching Spark 3.5"
	@rm -rf build/spark-3.5
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps --target build/spark-3.5 -r requirements/spark-3.5.lock
	@touch $@

$(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) $(TESTKIT) &: $(JAVA_SOURCES)
	@./setup.sh jdk maven
	@echo "Building the jars"
	@$(MAVEN) package -DskipTests
	@mkdir -p spark_listener/jars yarn_bridge/jars
	@cp jvm-shim/shim-spark/target/grasshopper-spark.jar $(JAR)
	@cp jvm-shim/shim-yarn/target/grasshopper-yarn.jar $(YARN_JAR)
	@cp jvm-shim/shim-mapreduce/target/grasshopper-mapreduce.jar $(MAPREDUCE_JAR)
	@touch $(JAR) $(YARN_JAR) $(MAPREDUCE_JAR) $(TESTKIT)
