package io.farpage.cli.local;

import io.farpage.agent.doctor.Doctor;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.MemoryHeadroom;
import io.farpage.pool.hugepages.HugepageCounts;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.pool.hugepages.Hugepages;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a host has for a local cluster, read at one moment; the rules on it read nothing.
 *
 * @param noUserfaultfd why this user may not open a userfaultfd with the guest's features; empty if it may, or without
 *     a guest
 * @param port for the coordinator, 0 for one that the system chooses; the agents' are all chosen by the system
 * @param noPort why no port of the loopback address can be listened on; empty if one can
 * @param memory that processes can still take; empty if the kernel does not tell
 * @param hugepages of 2 MiB that are free and promised to no other program
 * @param noFolder why the files cannot be in their folder; empty if they can
 * @param folderBytes that are free in its file system
 */
record HostFacts(
        Optional<Obstacle> noUserfaultfd,
        int port,
        Optional<Obstacle> noPort,
        Optional<MemoryHeadroom> memory,
        long hugepages,
        Optional<Obstacle> noFolder,
        long folderBytes) {

    /** What one JVM takes beside a pool: the resident memory of those that {@code up} has started, rounded. */
    private static final long JVM_BYTES = 128L << 20;

    /** For the coordinator's store, sockets and logs. */
    private static final long FOLDER_BYTES = 16L << 20;

    private static final long PAGE = HugepageSize.TWO_MIB.bytes();

    /**
     * Why the cluster cannot be started.
     *
     * @param fix a command for a root shell, or other words
     */
    record Obstacle(String what, String fix) {
        @Override
        public String toString() {
            return "%s; fix: %s".formatted(what, fix);
        }
    }

    /** Looks at this host. Takes a port and a userfaultfd for a moment, and changes nothing. */
    static HostFacts read(Plan plan, StateFolder folder) throws IOException {
        Optional<Obstacle> noUserfaultfd = plan.guestBytes().isEmpty()
                ? Optional.empty()
                : Doctor.userfaultfdRefusal(Handoff.FEATURES)
                        .map(line -> new Obstacle(
                                "the guest needs a userfaultfd: " + line.detail(),
                                line.fix() + ", or run this as root, or leave --guest out"));
        int port = LocalCluster.USUAL_PORT;
        Optional<String> refused = refusal(port);
        if (refused.isPresent()) {
            port = 0;
            refused = refusal(port);
        }
        return new HostFacts(
                noUserfaultfd,
                port,
                refused.map(
                        why -> new Obstacle("no port of 127.0.0.1 can be listened on: " + why, "ip link set lo up")),
                MemoryHeadroom.ofThisProcess(),
                Hugepages.ofThisMachine()
                        .counts(HugepageSize.TWO_MIB)
                        .map(HugepageCounts::available)
                        .orElse(0L),
                folder.obstacle(),
                folder.freeBytes());
    }

    /** Why a port of the loopback address cannot be listened on; empty if it can. */
    private static Optional<String> refusal(int port) {
        try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** Everything that keeps this plan from working on this host; empty if nothing does. */
    List<Obstacle> obstacles(Plan plan) {
        List<Obstacle> found = new ArrayList<>();
        noUserfaultfd.ifPresent(found::add);
        noPort.ifPresent(found::add);
        memory.filter(left -> left.bytes() < needed(plan, poolsOfFreeHugepages(plan)))
                .ifPresent(left -> found.add(noMemory(plan, left)));
        noFolder.ifPresent(found::add);
        if (noFolder.isEmpty() && folderBytes < FOLDER_BYTES) {
            found.add(new Obstacle(
                    "%s needs %d MiB for the coordinator's store and logs, its file system has %d MiB free"
                            .formatted(plan.folder(), mebibytes(FOLDER_BYTES), mebibytes(folderBytes)),
                    "give a folder with --state, or free room: df -h"));
        }
        return found;
    }

    /**
     * By how many hugepages of 2 MiB the kernel's pool is raised: by those of all pools if memory has room for them
     * beside the rest, otherwise by those of the pools that the free hugepages do not hold.
     */
    long hugepagesToReserve(Plan plan) {
        boolean hasRoom = memory.map(left -> left.bytes() >= needed(plan, 0)).orElse(true);
        return (plan.agents() - (hasRoom ? 0 : poolsOfFreeHugepages(plan))) * plan.hugepagesOfEach();
    }

    /** An agent makes its pool of free hugepages if all of it fits. */
    private long poolsOfFreeHugepages(Plan plan) {
        return Math.min(plan.agents(), hugepages / plan.hugepagesOfEach());
    }

    /**
     * Memory beside the free hugepages: the other pools, a JVM for each process, and the resident part of the guest.
     */
    private static long needed(Plan plan, long poolsOfFreeHugepages) {
        long pools = (plan.agents() - poolsOfFreeHugepages) * plan.hugepagesOfEach() * PAGE;
        return pools + plan.processes() * JVM_BYTES + plan.residentBytes();
    }

    private Obstacle noMemory(Plan plan, MemoryHeadroom left) {
        return new Obstacle(
                ("the cluster needs %d MiB of memory (a pool of %d MiB for each of %d agents, %d processes of about %d"
                                + " MiB each), %d MiB are left (%s), and %d free hugepages")
                        .formatted(
                                mebibytes(needed(plan, 0)),
                                mebibytes(plan.hugepagesOfEach() * PAGE),
                                plan.agents(),
                                plan.processes(),
                                mebibytes(JVM_BYTES),
                                mebibytes(left.bytes()),
                                left.source(),
                                hugepages),
                "give a smaller --pool or --local, or end other programs");
    }

    private static long mebibytes(long bytes) {
        return bytes >> 20;
    }
}
