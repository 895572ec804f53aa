# What one line can't hold is in scripts/. How long each step may take: docs/budget.md.

GO      ?= go
RACE    ?= -race
FUZZTIME ?= 3s
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
export GO RACE FUZZTIME VERSION

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

build: ## the static binary bin/mars
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/mars ./cmd/mars

fmt: ## format every Go file
	$(GO) tool gofumpt -w .

lint: ## formatting, go vet, staticcheck
	@scripts/lint

test: ## every test in random order, with the race detector where there are goroutines (RACE= without it)
	@scripts/test

fuzz: ## fuzz every decoder for FUZZTIME (3s) each
	@scripts/fuzz

acceptance: ## tests with real processes, sockets and namespaces
	$(GO) test -tags acceptance -count=1 -timeout 45m -v ./acceptance/...

planted: ## the swarm, and the crashes of the disk, must find every planted bug
	$(GO) test -tags planted -run TestPlanted -count=1 -timeout 8m -v ./internal/swarm ./internal/disk

dist: ## the static binary of each platform in dist/, built twice: both builds must be equal to the bit
	@scripts/dist

bench-protocol: ## the studies in small; keeps their key figures in bench/protocol.csv under the commit
	@scripts/bench-protocol

setup: ## install what the tests need, or say which of them will skip
	@scripts/setup

check: ## what every change must pass: setup, lint, test, fuzz, with the time of each
	@scripts/check

.PHONY: help build fmt lint test fuzz acceptance planted dist bench-protocol setup check
