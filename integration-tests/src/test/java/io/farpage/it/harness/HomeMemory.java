package io.farpage.it.harness;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.HeaderPage;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.operation.NodeOperations;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;

/** What a home has of a space, through its process' memory: as the home's root sees it, and may change it. */
public final class HomeMemory implements AutoCloseable {
    /** Distance of a pool's exported frames from its header page, bytes. */
    private static final long EXPORTED_AFTER_HEADER = 2 << 20;

    private final RandomAccessFile memory;
    private final List<Long> addresses = new ArrayList<>();
    private final int pageBytes;
    private final long exportedAddress;
    private final long exportedLength;

    private HomeMemory(RandomAccessFile memory, HeaderPage header, Node home, SpaceExtents space) {
        this.memory = memory;
        pageBytes = space.space().pageSize();
        exportedAddress = header.address().value() + EXPORTED_AFTER_HEADER;
        exportedLength = home.pool().exportedBytes();
        for (Extent extent : space.extents()) {
            ExtentHome place = extent.primary();
            if (!place.node().equals(home.id())) {
                throw new IllegalArgumentException("space " + space + " lives on " + place.node() + ", too");
            }
            for (long page = 0; page < extent.count(); page++) {
                addresses.add(exportedAddress + place.offset() + page * pageBytes);
            }
        }
    }

    /** Opens the memory of a home, which has all pages of the space. */
    public static HomeMemory open(Cluster cluster, String home, String space) throws CoordinatorException, IOException {
        HeaderPage header = cluster.client().call(NodeOperations.ENDPOINTS.at(home)).stream()
                .flatMap(endpoint -> endpoint.entries().stream())
                .findFirst()
                .orElseThrow()
                .header();
        Node node = cluster.client().node(home).orElseThrow();
        SpaceExtents extents = cluster.client().extents(space).orElseThrow();
        long pid = cluster.process(home).process().pid();
        return new HomeMemory(new RandomAccessFile("/proc/" + pid + "/mem", "rw"), header, node, extents);
    }

    /** A page as the home has it. */
    public byte[] read(int page) throws IOException {
        return read(addresses.get(page), pageBytes);
    }

    private byte[] read(long address, int length) throws IOException {
        byte[] bytes = new byte[length];
        memory.seek(address);
        memory.readFully(bytes);
        return bytes;
    }

    /** Replaces a page. */
    public void write(int page, byte[] bytes) throws IOException {
        memory.seek(addresses.get(page));
        memory.write(bytes);
    }

    /** How often bytes occur in all that the home exports. */
    public int count(byte[] marker) throws IOException {
        byte[] all = read(exportedAddress, (int) exportedLength);
        int found = 0;
        for (int at = 0; at + marker.length <= all.length; at++) {
            int matched = 0;
            while (matched < marker.length && all[at + matched] == marker[matched]) {
                matched++;
            }
            found += matched == marker.length ? 1 : 0;
        }
        return found;
    }

    @Override
    public void close() throws IOException {
        memory.close();
    }
}
