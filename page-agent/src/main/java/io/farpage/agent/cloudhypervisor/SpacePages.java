package io.farpage.agent.cloudhypervisor;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Bytes of a space, whose pages need not have the size of those that are asked for. Used by one thread. */
final class SpacePages {
    private final PageSource source;
    private final int pageSize;
    private long lastNumber = -1;
    private byte @Nullable [] last;

    SpacePages(PageSource source, int pageSize) {
        this.source = source;
        this.pageSize = pageSize;
    }

    byte[] read(long offset, int length) throws IOException, InterruptedException {
        byte[] bytes = new byte[length];
        int done = 0;
        while (done < length) {
            long at = offset + done;
            int within = (int) (at % pageSize);
            int part = Math.min(length - done, pageSize - within);
            System.arraycopy(page(at / pageSize), within, bytes, done, part);
            done += part;
        }
        return bytes;
    }

    /** Faults that follow each other are often of the same large page. */
    private byte[] page(long number) throws IOException, InterruptedException {
        byte[] kept = last;
        if (kept == null || number != lastNumber) {
            kept = source.page(number);
            if (kept.length != pageSize) {
                throw new IOException("page %d has %d bytes instead of %d".formatted(number, kept.length, pageSize));
            }
            last = kept;
            lastNumber = number;
        }
        return kept;
    }
}
