package io.farpage.agent.control.pins;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Finds the processes that map the memory files of guests (proc_pid_maps(5)). The kernel keeps no list of them, so a
 * pass reads the mappings of all processes, for all guests of the agent at once: what it takes grows with the host's
 * processes, and not with the guests as well. Thread-safe.
 */
public final class MappingSearch {
    /** How often a pass is made that nothing waits for, and how much rarer than it takes at least. */
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long SHARE = 200;

    private final File proc;
    private final LongSupplier clock;
    private final Set<Watched> all = ConcurrentHashMap.newKeySet();
    private final ReentrantLock lock = new ReentrantLock();
    private byte[] text = new byte[64 << 10];
    /** Passes that have begun. Written under the lock. */
    private final AtomicLong begun = new AtomicLong();
    /** When the next pass is due that nothing waits for. Written under the lock. */
    private volatile long dueNanos;

    /** Searches the processes that this process sees. */
    public MappingSearch() {
        this(new File("/proc"), System::nanoTime);
    }

    /**
     * @param proc where the processes are, as in proc(5)
     * @param clock monotonic nanoseconds
     */
    MappingSearch(File proc, LongSupplier clock) {
        this.proc = proc;
        this.clock = clock;
        dueNanos = clock.getAsLong();
    }

    /** Looks for a file until that is closed. */
    Watched watch(MappedFile file) {
        Watched watched = new Watched(file);
        all.add(watched);
        return watched;
    }

    /** Passes that were made so far. */
    long passes() {
        return begun.get();
    }

    /** Threads that wait for a pass of another one. */
    int waiting() {
        return lock.getQueueLength();
    }

    /** A file whose owners each pass looks for. Thread-safe. */
    final class Watched implements AutoCloseable {
        private final MappedFile file;
        private volatile Set<Integer> owners = Set.of();

        private Watched(MappedFile file) {
            this.file = file;
        }

        MappedFile file() {
            return file;
        }

        /** The processes that map the file, without those that this user may not inspect: of a pass that begins now. */
        Set<Integer> now() {
            long next = begun.get() + 1;
            lock.lock();
            try {
                // Another thread may have made that pass while this one waited for the lock.
                if (begun.get() < next) {
                    pass();
                }
                return owners;
            } finally {
                lock.unlock();
            }
        }

        /** As {@link #now}, of a pass of the last seconds. Waits for no pass of another thread. */
        Set<Integer> lately() {
            if (clock.getAsLong() - dueNanos >= 0 && lock.tryLock()) {
                try {
                    if (clock.getAsLong() - dueNanos >= 0) {
                        pass();
                    }
                } finally {
                    lock.unlock();
                }
            }
            return owners;
        }

        @Override
        public void close() {
            all.remove(this);
        }
    }

    private void pass() {
        long began = clock.getAsLong();
        begun.incrementAndGet();
        Set<Watched> wanted = Set.copyOf(all);
        Map<MappedFile, Set<Integer>> owners = new HashMap<>();
        Set<String> devices = new TreeSet<>();
        for (Watched one : wanted) {
            owners.put(one.file, new TreeSet<>());
            devices.add(one.file.device());
        }
        String[] names = proc.list();
        for (String name : names == null ? new String[0] : names) {
            if (Character.isDigit(name.charAt(0))) {
                String mappings = mappings(name);
                devices.forEach(device -> find(mappings, device, owners, Integer.parseInt(name)));
            }
        }
        for (Watched one : wanted) {
            one.owners = Set.copyOf(owners.getOrDefault(one.file, Set.of()));
        }
        long now = clock.getAsLong();
        dueNanos = now + Math.max(INTERVAL_NANOS, SHARE * (now - began));
    }

    /** Looks closer at the lines of this device alone: most lines by far are of others. */
    private static void find(String mappings, String device, Map<MappedFile, Set<Integer>> owners, int pid) {
        for (int at = mappings.indexOf(device); at >= 0; at = mappings.indexOf(device, at + 1)) {
            long inode = MappedFile.inodeAfter(mappings, at + device.length());
            Set<Integer> known = owners.get(new MappedFile(device, inode));
            if (known != null && MappedFile.isDevice(mappings, at)) {
                known.add(pid);
            }
        }
    }

    /** The mappings of a process; none if it has ended, or this user may not inspect it. */
    private String mappings(String pid) {
        int length = 0;
        try (FileInputStream file = new FileInputStream(proc + "/" + pid + "/maps")) {
            for (int got = 0; got >= 0; got = file.read(text, length, text.length - length)) {
                length += got;
                text = length < text.length ? text : Arrays.copyOf(text, 2 * length);
            }
            return new String(text, 0, length, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }
}
