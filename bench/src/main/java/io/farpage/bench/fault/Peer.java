package io.farpage.bench.fault;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Farpage, and what a user may take instead to bring pages to a process. */
enum Peer {
    /** An agent that resolves the faults itself, with pages of another agent. */
    FARPAGE("", ""),
    /** Meta commands, a key for each page. */
    MEMCACHED("memcached", "memcached"),
    /** A string for each page. */
    REDIS("redis-server", "redis-server"),
    /** The memory plugin, read by the NBD protocol. */
    NBDKIT("nbdkit", "nbdkit"),
    /** Memory that the kernel has swapped to a compressed block device of this host. */
    ZRAM("", "");

    private static final int MEBIBYTE = 1 << 20;
    private static final int VERSION_SECONDS = 5;

    private final String program;
    private final String debianPackage;

    Peer(String program, String debianPackage) {
        this.program = program;
        this.debianPackage = debianPackage;
    }

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether it is a server from which the handler in C fetches pages. */
    boolean isServer() {
        return !program.isEmpty();
    }

    /**
     * What is missing on this host to measure it; empty if nothing is.
     *
     * @param path directories of programs, as in the variable PATH
     */
    Optional<String> missing(String path) {
        if (this == ZRAM) {
            return SwapDevice.missing(path);
        }
        return isServer() && find(program, path).isEmpty()
                ? Optional.of(program + " is not on the PATH; install it with apt-get install " + debianPackage)
                : Optional.empty();
    }

    /** The protocol as {@code fault_baseline} knows it. */
    String protocol() {
        return switch (this) {
            case MEMCACHED -> "memcached";
            case REDIS -> "redis";
            case NBDKIT -> "nbd";
            case ZRAM, FARPAGE -> throw new IllegalStateException(this + " is not a server");
        };
    }

    /**
     * The words that start the server in the foreground, on 127.0.0.1, with one thread that serves, and nothing written
     * to a disk.
     *
     * @param port to listen on
     * @param bytes of all pages
     * @param scratch an empty directory
     */
    List<String> command(int port, long bytes, Path scratch) {
        String executable = find(program, path()).orElseThrow().toString();
        String onPort = Integer.toString(port);
        return switch (this) {
            // Half as much again: a page and its key take a slab of the next size. -M: rather an error than an
            // eviction.
            case MEMCACHED ->
                List.of(
                        executable,
                        "-u",
                        System.getProperty("user.name"),
                        "-l",
                        "127.0.0.1",
                        "-p",
                        onPort,
                        "-U",
                        "0",
                        "-t",
                        "1",
                        "-M",
                        "-m",
                        Long.toString(64 + 3 * bytes / 2 / MEBIBYTE));
            case REDIS ->
                List.of(
                        executable,
                        "--bind",
                        "127.0.0.1",
                        "--port",
                        onPort,
                        "--save",
                        "",
                        "--appendonly",
                        "no",
                        "--daemonize",
                        "no",
                        "--dir",
                        scratch.toString());
            case NBDKIT ->
                List.of(executable, "-f", "-t", "1", "-i", "127.0.0.1", "-p", onPort, "memory", "size=" + bytes);
            case ZRAM, FARPAGE -> throw new IllegalStateException(this + " is not a server");
        };
    }

    /** Directories of programs: those of the variable PATH, and those for programs of an administrator. */
    static String path() {
        return Optional.ofNullable(System.getenv("PATH")).orElse("") + ":/usr/sbin:/sbin";
    }

    /** A program in the directories of a PATH. */
    static Optional<Path> find(String program, String path) {
        return Stream.of(path.split(":"))
                .filter(directory -> !directory.isEmpty())
                .map(directory -> Path.of(directory, program))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Name and version as the server tells them, without what follows; its label if it tells none in time. */
    String version() throws InterruptedException {
        try {
            Process process = new ProcessBuilder(
                            find(program, path()).orElseThrow().toString(), "--version")
                    .redirectErrorStream(true)
                    .start();
            try (BufferedReader said = process.inputReader()) {
                boolean ended = process.waitFor(VERSION_SECONDS, TimeUnit.SECONDS);
                return Optional.ofNullable(ended ? said.readLine() : null)
                        .map(line -> line.replaceFirst(" sha=.*", ""))
                        .orElse(label());
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException none) {
            return label();
        }
    }
}
