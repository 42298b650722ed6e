package io.farpage.agent.control.seal;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A stream of bytes as encrypted chunks, each with a tag of its own that covers the header of the file, the number of
 * the chunk and whether it is the last. So nothing is used before it is known to be genuine, and a file that ends early
 * is noticed.
 */
final class Chunks {
    private static final int CHUNK = 1 << 20;
    private static final int TAG_BYTES = 16;
    private static final int NONCE_BYTES = 12;

    private final SecretKeySpec key;
    private final byte[] header;
    private long number;

    /**
     * @param key of this file alone
     * @param header which the tags cover, too
     */
    Chunks(byte[] key, byte[] header) {
        this.key = new SecretKeySpec(key, "AES");
        this.header = header.clone();
    }

    private byte[] next(int mode, byte[] chunk, int length, boolean last) throws GeneralSecurityException {
        ByteBuffer nonce = ByteBuffer.allocate(NONCE_BYTES).putInt(0).putLong(number);
        ByteBuffer place = ByteBuffer.allocate(Long.BYTES + 1).putLong(number).put((byte) (last ? 1 : 0));
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(mode, key, new GCMParameterSpec(TAG_BYTES * Byte.SIZE, nonce.array()));
        cipher.updateAAD(header);
        cipher.updateAAD(place.array());
        number++;
        return cipher.doFinal(chunk, 0, length);
    }

    /** A stream that writes chunks; closing it writes the last one, and does not close {@code to}. */
    DataOutputStream to(OutputStream to) {
        return new DataOutputStream(new Output(new DataOutputStream(to)));
    }

    /**
     * A stream that reads chunks.
     *
     * @return a stream whose reads throw {@link DamagedException} for a chunk that is not genuine
     */
    DataInputStream from(InputStream from) {
        return new DataInputStream(new Input(new DataInputStream(from)));
    }

    /** A chunk is not what was written. */
    static final class DamagedException extends IOException {
        private static final long serialVersionUID = 1L;

        DamagedException(String message) {
            super(message);
        }
    }

    private final class Output extends OutputStream {
        private final DataOutputStream to;
        private final byte[] chunk = new byte[CHUNK];
        private int filled;
        private boolean closed;

        Output(DataOutputStream to) {
            this.to = to;
        }

        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            int from = offset;
            int left = length;
            while (left > 0) {
                if (filled == CHUNK) {
                    put(false);
                }
                int some = Math.min(left, CHUNK - filled);
                System.arraycopy(bytes, from, chunk, filled, some);
                filled += some;
                from += some;
                left -= some;
            }
        }

        private void put(boolean last) throws IOException {
            try {
                byte[] sealed = next(Cipher.ENCRYPT_MODE, chunk, filled, last);
                to.writeByte(last ? 1 : 0);
                to.writeInt(sealed.length);
                to.write(sealed);
                filled = 0;
            } catch (GeneralSecurityException e) {
                throw new IOException("AES-256-GCM of the JDK: " + e.getMessage(), e);
            }
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                closed = true;
                put(true);
                to.flush();
            }
        }
    }

    private final class Input extends InputStream {
        private final DataInputStream from;
        private byte[] chunk = new byte[0];
        private int at;
        private boolean last;

        Input(DataInputStream from) {
            this.from = from;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            while (at == chunk.length) {
                if (last) {
                    return -1;
                }
                take();
            }
            int some = Math.min(length, chunk.length - at);
            System.arraycopy(chunk, at, bytes, offset, some);
            at += some;
            return some;
        }

        private void take() throws IOException {
            try {
                boolean isLast = from.readByte() != 0;
                int length = from.readInt();
                if (length < TAG_BYTES || length > CHUNK + TAG_BYTES) {
                    throw new DamagedException("it has a chunk of %d bytes".formatted(length));
                }
                byte[] sealed = from.readNBytes(length);
                if (sealed.length < length) {
                    throw new DamagedException("it ends early");
                }
                chunk = next(Cipher.DECRYPT_MODE, sealed, length, isLast);
                at = 0;
                last = isLast;
            } catch (AEADBadTagException e) {
                throw new DamagedException("it was altered, or written with another key");
            } catch (EOFException e) {
                throw new DamagedException("it ends early");
            } catch (GeneralSecurityException e) {
                throw new IOException("AES-256-GCM of the JDK: " + e.getMessage(), e);
            }
        }
    }
}
