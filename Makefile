# farpage. Bare `make` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

MVN ?= mvn
MVN_FLAGS ?= -q
ROOT := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
# Every recipe that needs Java starts with this: finds a JDK 25 or says how to get one.
JDK = export JAVA_HOME="$$($(ROOT)/bin/java-home)"; cd "$(ROOT)"
ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What target/farpage is made of. Directories are among them, so that a file that is gone counts as a change.
SOURCES := $(shell cd "$(ROOT)" && find pom.xml bin build/aot-caches build/CacheableClasses.java build/preload-library .mvn \
    $(foreach m,rdma-verbs rdma-verbs/linux page-pool coordinator coordinator/service coordinator/client coordinator/etcd page-agent bench/guest bench cli,$m/pom.xml $m/src/main) \
    bench/baseline)
BUILT := $(ROOT)/target/farpage/.built
ifeq ($(wildcard $(ROOT)/target/farpage/lib/cli-*.jar),)
.PHONY: $(BUILT)
endif

.PHONY: build
build: $(BUILT) ## compile and assemble target/farpage (what the programs in bin/ run)

$(BUILT): $(addprefix $(ROOT)/,$(SOURCES))
	@$(JDK); $(MVN) $(MVN_FLAGS) --threads=2 package -Dquick -Dmaven.test.skip=true -pl cli,coordinator/etcd -am; build/preload-library
	@cd "$(ROOT)"; build/aot-caches || echo "make: without AOT caches the programs start more slowly, and are otherwise the same" >&2
	@touch "$@"

.PHONY: check
check: ## compile everything with ErrorProne and NullAway, and compare the form of the sources
	@$(JDK); $(MVN) $(MVN_FLAGS) --threads=2 test-compile -Dfarpage.target=target/check

.PHONY: test
test: build ## build, run every test that needs no more than its own JVM, and count what ran and what was skipped
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/run-tests quick

.PHONY: test-processes
test-processes: build ## the tests that start programs: what only a process shows, such as its signals, its end, its descriptors, its output
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/run-tests processes

.PHONY: test-soak
test-soak: build ## the tests that take long: the same under load, for longer, with more seeds; SOAK=checks: without those whose result is a figure
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/run-tests $(or $(SOAK),soak)

.PHONY: test-bare
test-bare: build ## both as on a fresh machine: RDMA, compiler, QEMU, KVM, hugepages and userfaultfd are hidden from it
	@status=0; build/bare env MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/run-tests bare || status=$$?; \
	[ $$status = 77 ] || exit $$status # 77: this host hides nothing, and build/bare has said why

.PHONY: nightly
nightly: ## what is not run for every change: a hundred simulations, all soaks at a tenth, the rig with its measurements, packages, image, Kubernetes, adjacent releases, mutation
	@build/nightly $(ARGS)

.PHONY: mutation
mutation: ## put one fault at a time into the sources and list those that the unit tests do not notice; ARGS='shard pager'
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/mutate $(ARGS)

.PHONY: simulate
simulate: ## a cluster under simulation in one JVM; ARGS='--seed 7 --seconds 60' repeats a seed
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/simulate $(ARGS)

.PHONY: test-direct-io
test-direct-io: ## blocks read into guest RAM by direct I/O for long, and compared
	@$(JDK); FARPAGE_FETCH_KERNEL=1 $(MVN) $(MVN_FLAGS) -Dquick -pl integration-tests -am test -Dtest=DirectIoTest,QemuDirectIoTest -Dgroups=soak -Dsurefire.failIfNoSpecifiedTests=false

.PHONY: bench
bench: build ## fetch pages between two agents and compare with the C baseline; ARGS='--help' for options
	@bin/page-bench fetch $(ARGS)

.PHONY: bench-fault
bench-fault: build ## resolve page faults from another node and compare with the C baseline; ARGS='--help' for options
	@bin/page-bench fault $(ARGS)

.PHONY: bench-peers
bench-peers: build ## resolve page faults with pages of memcached, redis, nbdkit, zram and farpage, and compare with a page server in C; ARGS='--help' for options
	@bin/page-bench peers $(ARGS)

.PHONY: format
format: ## format the sources
	@$(JDK); $(MVN) $(MVN_FLAGS) spotless:apply

.PHONY: clean
clean: ## remove everything that was built
	@$(JDK); $(MVN) $(MVN_FLAGS) clean; rm -rf target

.PHONY: test-rdma
test-rdma: build ## run the verbs tests, two agents and the benchmark on SoftRoCE in a virtual machine; ARGS=--checks: without measurements
	@integration-tests/rig/run $(ARGS)

.PHONY: test-rdma-two-vms
test-rdma-two-vms: build ## the same between two virtual machines
	@integration-tests/rig/run --two-vms

.PHONY: test-rdma-guests
test-rdma-guests: build ## virtual machines on remote memory over RDMA: stress and demonstration, in the RDMA rig
	@integration-tests/rig/run --guests

.PHONY: test-rdma-packages
test-rdma-packages: build ## follow docs/packages.md on two virtual machines with a clean Debian, from apt install to a guest on remote memory over RDMA
	@status=0; integration-tests/rig/run --packages || status=$$?; [ $$status = 77 ] || exit $$status # 77: skipped, with the reason printed

.PHONY: packages
packages: build ## build Debian packages and a tarball with their own Java runtime in target/packages
	@build/packages $(ARGS)

.PHONY: test-packages
test-packages: build ## install, run, upgrade and purge the packages in a clean Debian, and check them with lintian, mandoc and systemd-analyze
	@status=0; integration-tests/packages/run --no-build || status=$$?; [ $$status = 77 ] || exit $$status # 77: skipped, with the reason printed

.PHONY: image
image: build ## write a container image with its own Java runtime to target/image, without a container engine
	@MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" build/image $(ARGS)

.PHONY: test-image
test-image: build ## unpack the container image and run what is in it
	@status=0; MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" integration-tests/image/run --no-build || status=$$?; [ $$status = 77 ] || exit $$status # 77: skipped, with the reason printed

.PHONY: manifests
manifests: ## render packages/kubernetes/manifests from the Helm chart
	@build/manifests

.PHONY: test-kubernetes
test-kubernetes: ## lint and render the Helm chart, and hold what comes out against Kubernetes' API and the programs' configurations
	@status=0; MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" integration-tests/kubernetes/run || status=$$?; [ $$status = 77 ] || exit $$status # 77: skipped, with the reason printed

.PHONY: test-adjacent
test-adjacent: build ## run programs of earlier releases, built from the history, together with those of this tree; ARGS=REVISION
	@status=0; MVN="$(MVN)" MVN_FLAGS="$(MVN_FLAGS)" integration-tests/adjacent/run $(ARGS) || status=$$?; [ $$status = 77 ] || exit $$status # 77: skipped, with the reason printed

.PHONY: demo-vm
demo-vm: build ## run a Linux guest in QEMU with most of its RAM on another node, and check it; ARGS='--local 64MiB'
	@integration-tests/demo/run $(ARGS)

.PHONY: demo-survive
demo-survive: build ## run such a guest with two copies of each page, and kill, replace and empty hosts under it
	@integration-tests/demo/survive $(ARGS)

.PHONY: demo-park
demo-park: build ## run Linux guests, park them while they are idle, and wake them; ARGS='--guests 4'
	@integration-tests/demo/park $(ARGS)

.PHONY: demo-snapshot
demo-snapshot: build ## make a snapshot of a Linux guest while it runs, and start clones that go on from that moment; ARGS='--guests 10 --kill'
	@integration-tests/demo/snapshot $(ARGS)

.PHONY: demo-clones
demo-clones: build ## start many machines from one memory image, on two agents; ARGS='--guests 100'
	@integration-tests/demo/clones $(ARGS)

.PHONY: demo-shared
demo-shared: build ## share memory between programs on two nodes, check what they find, and kill the home's agent meanwhile; ARGS='--nodes 3'
	@integration-tests/demo/shared $(ARGS)

.PHONY: screenshots
screenshots: ## run a guest under load and 40 pretended nodes, and take pictures of the dashboard in light and dark: target/screenshots
	@$(JDK); $(MVN) $(MVN_FLAGS) -Dquick -pl integration-tests -am test -Dtest=FaultsPageTest,GuestPageTest -DexcludedGroups= -Dfarpage.pictures="$(ROOT)/target/screenshots" -Dsurefire.failIfNoSpecifiedTests=false; ls target/screenshots

.PHONY: jcstress
jcstress: ## stress the lock-free parts with jcstress
	@$(JDK); $(MVN) $(MVN_FLAGS) -Dquick -Pjcstress -pl page-pool verify

.PHONY: fuzz
fuzz: ## fuzz whatever reads what others send, with Jazzer
	@$(JDK); JAZZER_FUZZ=1 $(MVN) $(MVN_FLAGS) -Dquick -Dfuzz.hooks=true -pl rdma-verbs,page-agent -am test -Dtest="*FuzzTest,PoolHeaderTest" -Dsurefire.failIfNoSpecifiedTests=false

.PHONY: jmh
jmh: ## run the JMH benchmarks; ARGS='PageContentBenchmark -prof gc'
	@$(JDK); $(MVN) $(MVN_FLAGS) -Dquick verify -Pjmh -pl bench -am -DskipTests -Djmh.args="$(ARGS)"

.PHONY: site
site: ## make a static site of docs/ in target/site
	@$(JDK); rm -rf target/site; $(MVN) $(MVN_FLAGS) -Dquick -Psite -pl build/site package -Dmaven.test.skip=true -Dsite.output="$(ROOT)/target/site"

.PHONY: docs
docs: build ## write docs/configuration.md and docs/metrics.md anew from the code
	@{ echo "# Configuration"; echo; \
	echo "Every program reads one YAML file (\`--config\`), the environment overrides it, and \`--set key=value\` overrides both. All faults are"; \
	echo "reported at once; a key that is not listed here is refused. This page is written from the code by \`make docs\`."; echo; \
	bin/coordinator config-reference; echo; bin/page-agent config-reference; } > docs/configuration.md
	@{ echo "# Metrics"; echo; \
	echo "Both programs export these at \`GET /metrics\`. The unit is empty for counts and flags. Latencies are histograms with the same bounds everywhere,"; \
	echo "so \`sum by (le)\` adds up nodes and guests. This page is written from the code by \`make docs\`; [monitoring](monitoring.md) says what to watch."; echo; \
	bin/coordinator metrics-reference; echo; bin/page-agent metrics-reference; } > docs/metrics.md
