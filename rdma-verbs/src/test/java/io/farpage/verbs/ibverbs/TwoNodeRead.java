package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.Device;
import io.farpage.verbs.Gid;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QpEndpoint;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.WorkCompletion;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;

/**
 * Two machines: one exports pages, the other reads every one of them many times and checks each byte. They tell each
 * other their endpoints over TCP, as agents do through the coordinator.
 *
 * <p>{@code TwoNodeRead serve ADDRESS} on one, {@code TwoNodeRead read ADDRESS READS} on the other.
 */
final class TwoNodeRead {
    private static final int PORT = 18515;
    private static final int PAGE = 4096;
    private static final int PAGES = 256;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private TwoNodeRead() {}

    public static void main(String[] args) throws IOException {
        IbverbsProvider provider = new IbverbsProvider();
        try (Arena arena = Arena.ofShared();
                Device device = provider.open("rxe0");
                ProtectionDomain domain = device.allocateProtectionDomain();
                CompletionQueue queue = device.createCompletionQueue(256);
                MemoryRegion region = domain.registerMemory(
                        arena.allocate((long) PAGES * PAGE, PAGE), EnumSet.allOf(AccessFlag.class));
                QueuePair qp = domain.createQueuePair(queue, queue, QpOptions.DEFAULT)) {
            MemorySegment memory = Native.at(region.address(), region.length());
            if (args[0].equals("serve")) {
                serve(InetAddress.getByName(args[1]), qp, region, memory);
            } else {
                read(InetAddress.getByName(args[1]), Integer.parseInt(args[2]), queue, qp, region, memory);
            }
        }
    }

    /** What page {@code page} holds at {@code offset}. */
    private static long pattern(int page, int offset) {
        return ((long) page << 32 | offset) * 0x9E37_79B9_7F4A_7C15L;
    }

    private static void serve(InetAddress address, QueuePair qp, MemoryRegion region, MemorySegment memory)
            throws IOException {
        for (int page = 0; page < PAGES; page++) {
            for (int offset = 0; offset < PAGE; offset += Long.BYTES) {
                memory.set(JAVA_LONG_UNALIGNED, (long) page * PAGE + offset, pattern(page, offset));
            }
        }
        try (ServerSocket server = new ServerSocket(PORT, 1, address)) {
            server.setSoTimeout((int) TIMEOUT.toMillis());
            try (Socket peer = server.accept()) {
                peer.setSoTimeout((int) TIMEOUT.toMillis());
                DataOutputStream out = new DataOutputStream(peer.getOutputStream());
                DataInputStream in = new DataInputStream(peer.getInputStream());
                out.writeLong(region.address());
                out.writeInt(region.rkey());
                connect(qp, out, in);
                // Reading asks nothing of this side: it only stays until the other is done.
                if (!in.readUTF().equals("done")) {
                    throw new IOException("the reader did not finish");
                }
            }
        }
    }

    private static void connect(QueuePair qp, DataOutputStream out, DataInputStream in) throws IOException {
        QpEndpoint own = qp.endpoint();
        out.writeInt(own.qpn());
        out.writeInt(own.lid());
        out.writeUTF(own.gid().toString());
        out.writeInt(own.psn());
        QpEndpoint other = new QpEndpoint(in.readInt(), in.readInt(), Gid.parse(in.readUTF()), in.readInt());
        qp.modifyToInit();
        qp.modifyToRtr(other);
        qp.modifyToRts();
        out.writeUTF("ready");
        if (!in.readUTF().equals("ready")) {
            throw new IOException("the peer is not ready");
        }
    }

    private static void read(
            InetAddress address,
            int reads,
            CompletionQueue queue,
            QueuePair qp,
            MemoryRegion region,
            MemorySegment memory)
            throws IOException {
        try (Socket peer = dial(address)) {
            DataOutputStream out = new DataOutputStream(peer.getOutputStream());
            DataInputStream in = new DataInputStream(peer.getInputStream());
            long remote = in.readLong();
            int rkey = in.readInt();
            connect(qp, out, in);
            WorkCompletion[] one = WorkCompletion.array(1);
            long[] nanos = new long[reads];
            for (int i = 0; i < reads; i++) {
                int page = i % PAGES;
                long offset = (long) page * PAGE;
                memory.asSlice(offset, PAGE).fill((byte) 0);
                long start = System.nanoTime();
                qp.prepareRead(
                        i, region.address() + offset, PAGE, region.lkey(), remote + offset, rkey, SendFlag.SIGNALED);
                qp.postSend();
                while (queue.poll(one) == 0) {
                    if (System.nanoTime() - start > TIMEOUT.toNanos()) {
                        throw new IOException("READ " + i + " does not complete");
                    }
                    Thread.onSpinWait();
                }
                nanos[i] = System.nanoTime() - start;
                requireRight(one[0], i, page, memory);
            }
            out.writeUTF("done");
            Arrays.sort(nanos);
            System.out.printf(
                    Locale.ROOT,
                    "# result: %d READs of 4 KiB, every byte right; p50 %.0f us, p99 %.0f us%n",
                    reads,
                    nanos[reads / 2] / 1000.0,
                    nanos[reads * 99 / 100] / 1000.0);
        }
    }

    private static Socket dial(InetAddress address) throws IOException {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (true) {
            Socket socket = new Socket();
            try {
                socket.connect(new InetSocketAddress(address, PORT), 1000);
                socket.setSoTimeout((int) TIMEOUT.toMillis());
                return socket;
            } catch (IOException e) {
                // Its machine, or its process, is not up yet.
                socket.close();
                if (System.nanoTime() > deadline) {
                    throw e;
                }
            }
        }
    }

    private static void requireRight(WorkCompletion completion, int wrId, int page, MemorySegment memory)
            throws IOException {
        if (!completion.isSuccess() || completion.wrId() != wrId) {
            throw new IOException("READ " + wrId + ": " + completion);
        }
        for (int offset = 0; offset < PAGE; offset += Long.BYTES) {
            long found = memory.get(JAVA_LONG_UNALIGNED, (long) page * PAGE + offset);
            if (found != pattern(page, offset)) {
                throw new IOException("READ " + wrId + " brought a wrong byte near " + offset + " of page " + page);
            }
        }
    }
}
