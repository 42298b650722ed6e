package io.farpage.coordinator.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.util.concurrent.atomic.AtomicInteger;
import org.h2.store.fs.FileBase;
import org.h2.store.fs.FilePath;
import org.h2.store.fs.FilePathWrapper;

/**
 * H2's files under {@code faulty:}, which count the syncs and fail reads, writes and syncs as a disk does that is full
 * or broken.
 */
public final class FaultyFiles extends FilePathWrapper {

    static final String SCHEME = "faulty:";

    /** Syncs so far. */
    static final AtomicInteger SYNCS = new AtomicInteger();

    /** Writes that succeed before the next fails; negative: none fails. */
    static final AtomicInteger WRITES_LEFT = new AtomicInteger(-1);

    /** Whether syncs fail, after they were done. */
    static volatile boolean syncFails;

    /** Reads that failed since the files were last healed. */
    static final AtomicInteger FAILED_READS = new AtomicInteger();

    /** Whether reads fail. */
    static volatile boolean readsFail;

    static void install() {
        FilePath.register(new FaultyFiles());
        heal();
    }

    static void heal() {
        WRITES_LEFT.set(-1);
        syncFails = false;
        readsFail = false;
        FAILED_READS.set(0);
    }

    @Override
    public String getScheme() {
        return "faulty";
    }

    @Override
    public FileChannel open(String mode) throws IOException {
        return new Faulty(getBase().open(mode));
    }

    private static final class Faulty extends FileBase {
        private final FileChannel file;

        Faulty(FileChannel file) {
            this.file = file;
        }

        private static void writing() throws IOException {
            if (WRITES_LEFT.getAndUpdate(left -> left > 0 ? left - 1 : left) == 0) {
                throw new IOException("No space left on device");
            }
        }

        private static void reading() throws IOException {
            if (readsFail) {
                FAILED_READS.incrementAndGet();
                throw new IOException("Input/output error");
            }
        }

        @Override
        public int write(ByteBuffer from) throws IOException {
            writing();
            return file.write(from);
        }

        @Override
        public synchronized int write(ByteBuffer from, long position) throws IOException {
            writing();
            return file.write(from, position);
        }

        @Override
        public void force(boolean metaData) throws IOException {
            file.force(metaData);
            SYNCS.incrementAndGet();
            if (syncFails) {
                throw new IOException("Input/output error");
            }
        }

        @Override
        public int read(ByteBuffer to) throws IOException {
            reading();
            return file.read(to);
        }

        @Override
        public synchronized int read(ByteBuffer to, long position) throws IOException {
            reading();
            return file.read(to, position);
        }

        @Override
        public long position() throws IOException {
            return file.position();
        }

        @Override
        public FileChannel position(long position) throws IOException {
            file.position(position);
            return this;
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public FileChannel truncate(long size) throws IOException {
            file.truncate(size);
            return this;
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) throws IOException {
            return file.tryLock(position, size, shared);
        }

        @Override
        protected void implCloseChannel() throws IOException {
            file.close();
        }
    }
}
