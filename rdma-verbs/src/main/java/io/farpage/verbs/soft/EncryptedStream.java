package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.linux.SocketIo;
import io.farpage.linux.crypto.TlsStream;
import java.lang.foreign.SegmentAllocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bytes of a connection under TLS 1.3. Headers and short payloads share a record, since every record costs a tag
 * and a call; a record's worth of payload is encrypted from where it is. What arrives is decrypted to where it belongs.
 * A receive call is made at most once for each call of this class, so a peer that sends a byte at a time holds no
 * thread longer than over plain TCP.
 */
final class EncryptedStream implements SocketStream {
    private static final Logger LOG = LoggerFactory.getLogger(EncryptedStream.class);

    private final String owner;
    private final int fd;
    private final Errno errno;
    private final TlsStream tls;
    private final long recordAddress;
    private boolean unsent;
    private boolean received;
    /** Negative error number of a stream that TLS has ended. */
    private long broken;

    /**
     * Takes over {@code tls}.
     *
     * @param owner names the connection in messages
     * @param memory where the stream has its buffer, longer than it is used
     */
    EncryptedStream(String owner, int fd, Errno errno, TlsStream tls, SegmentAllocator memory) {
        this.owner = owner;
        this.fd = fd;
        this.errno = errno;
        this.tls = tls;
        this.recordAddress = memory.allocate(TlsStream.MAX_RECORD, 64).address();
    }

    /**
     * Continues the TLS handshake.
     *
     * @return 1 once it is complete, -EAGAIN if the peer's part has not come, 0 if the peer has gone, or a negative
     *     error number
     */
    long handshake(int flags) {
        int step = tls.handshake();
        long sent = flush(flags);
        if (step == TlsStream.NEEDS_INPUT && (sent >= 0 || sent == -Errno.EAGAIN)) {
            long taken = take(flags);
            if (taken <= 0) {
                return taken;
            }
            step = tls.handshake();
            sent = flush(flags);
        }
        if (step == TlsStream.FAILED) {
            return fail();
        }
        if (sent < 0 && sent != -Errno.EAGAIN) {
            return sent;
        }
        received = tls.hasInput();
        return step == TlsStream.DONE ? 1 : -Errno.EAGAIN;
    }

    @Override
    public long receive(long address, long length, int flags) {
        int wanted = (int) Math.min(length, Wire.MAX_MESSAGE);
        if (received) {
            int result = tls.read(address, wanted);
            if (result != TlsStream.NEEDS_INPUT) {
                return arrived(result);
            }
        }
        long taken = take(flags);
        return taken <= 0 ? taken : arrived(tls.read(address, wanted));
    }

    private long arrived(int result) {
        if (result > 0) {
            received = tls.hasInput();
            return result;
        }
        return ended(result);
    }

    @Override
    public long receive(Message into, int flags) {
        if (!received) {
            long taken = take(flags);
            if (taken <= 0) {
                return taken;
            }
        }
        long total = 0;
        for (int i = 0; i < into.count(); i++) {
            long at = into.base(i);
            long rest = into.length(i);
            while (rest > 0) {
                int result = tls.read(at, (int) Math.min(rest, Wire.MAX_MESSAGE));
                if (result <= 0) {
                    long end = ended(result);
                    return total > 0 ? total : end;
                }
                at += result;
                rest -= result;
                total += result;
            }
        }
        received = tls.hasInput();
        return total;
    }

    /** What a read that brought nothing means; a stream that has ended stays so. */
    private long ended(int result) {
        received = false;
        if (result == TlsStream.NEEDS_INPUT) {
            return -Errno.EAGAIN;
        }
        return fail();
    }

    /** Receives encrypted bytes. Returns how many, 0 at the end, or a negative error number. */
    private long take(int flags) {
        if (broken != 0) {
            return broken;
        }
        long address = tls.inputAddress();
        long result = SocketIo.recv(errno, fd, address, tls.inputSpace(), flags & ~SocketIo.MSG_WAITALL);
        if (result > 0) {
            tls.received((int) result);
        }
        return result;
    }

    @Override
    public long send(Message from, int flags) {
        if (broken != 0) {
            return broken;
        }
        if (unsent) {
            long left = flush(flags);
            if (unsent) {
                return left < 0 ? left : -Errno.EAGAIN;
            }
        }
        long taken = 0;
        int filled = 0;
        for (int i = 0; i < from.count(); i++) {
            long at = from.base(i);
            long rest = from.length(i);
            while (rest > 0) {
                if (filled == 0 && rest >= TlsStream.MAX_RECORD) {
                    if (!seal(at, TlsStream.MAX_RECORD, flags)) {
                        return taken > 0 ? taken : refusal();
                    }
                    at += TlsStream.MAX_RECORD;
                    rest -= TlsStream.MAX_RECORD;
                    taken += TlsStream.MAX_RECORD;
                    continue;
                }
                int part = (int) Math.min(rest, TlsStream.MAX_RECORD - filled);
                NativeMemory.copy(at, recordAddress + filled, part);
                filled += part;
                at += part;
                rest -= part;
                if (filled == TlsStream.MAX_RECORD) {
                    if (!seal(recordAddress, filled, flags)) {
                        return taken > 0 ? taken : refusal();
                    }
                    taken += filled;
                    filled = 0;
                }
            }
        }
        if (filled > 0) {
            if (!seal(recordAddress, filled, flags)) {
                return taken > 0 ? taken : refusal();
            }
            taken += filled;
        }
        long sent = flush(flags);
        return sent < 0 && sent != -Errno.EAGAIN ? sent : taken;
    }

    private long refusal() {
        return broken != 0 ? broken : -Errno.EAGAIN;
    }

    /** Encrypts a record, after making room for it. Returns whether it could. */
    private boolean seal(long address, int length, int flags) {
        if (!tls.hasSpace()) {
            long sent = flush(flags);
            if (sent < 0 && sent != -Errno.EAGAIN) {
                broken = sent;
                return false;
            }
            if (!tls.hasSpace()) {
                return false;
            }
        }
        if (!tls.write(address, length)) {
            fail();
            return false;
        }
        unsent = true;
        return true;
    }

    @Override
    public long flush(int flags) {
        long total = 0;
        while (true) {
            long address = tls.outputAddress();
            int length = tls.outputLength();
            if (length == 0) {
                unsent = false;
                return total;
            }
            unsent = true;
            long result = SocketIo.send(errno, fd, address, length, flags);
            if (result > 0) {
                tls.sent((int) result);
                total += result;
            } else if (result != -Errno.EINTR) {
                return total > 0 ? total : result;
            }
        }
    }

    private long fail() {
        if (broken == 0) {
            broken = -Errno.ECONNABORTED;
            LOG.warn("{}: encrypted connection ended: {}", owner, tls.failure());
            flush(SocketIo.MSG_DONTWAIT); // the alert, which tells the peer why
        }
        return broken;
    }

    @Override
    public boolean hasUnsent() {
        return unsent;
    }

    @Override
    public boolean hasReceived() {
        return received;
    }

    @Override
    public void close() {
        tls.close();
    }
}
