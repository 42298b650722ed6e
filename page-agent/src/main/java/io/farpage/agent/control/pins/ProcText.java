package io.farpage.agent.control.pins;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.DirectoryFd;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * A text file of /proc whose lines begin with labels, such as proc_pid_fdinfo(5) and proc_pid_status(5). Read again and
 * again by one thread.
 */
final class ProcText {
    private static final int BYTES = 64 << 10;

    private final MemorySegment text = Arena.ofAuto().allocate(BYTES);
    private int length;

    /** What precedes a value in the file: a name and a colon. */
    static byte[] label(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Reads the beginning of the file of this number in a directory. Bytes, or a negative error number. */
    int read(DirectoryFd directory, int number) {
        length = directory.readFile(number, text);
        return length;
    }

    /** Reads the beginning of the file of this name, a C string, in a directory. Bytes, or a negative error number. */
    int read(DirectoryFd directory, MemorySegment name) {
        length = directory.readFile(name, text);
        return length;
    }

    /** The number after a label at the beginning of a line; -1 if there is none. */
    long number(byte[] label, int base) {
        int at = find(label);
        if (at < 0) {
            return -1;
        }
        while (at < length && (text.get(JAVA_BYTE, at) == ' ' || text.get(JAVA_BYTE, at) == '\t')) {
            at++;
        }
        long number = -1;
        for (; at < length; at++) {
            int digit = text.get(JAVA_BYTE, at) - '0';
            if (digit < 0 || digit >= base) {
                break;
            }
            number = Math.max(number, 0) * base + digit;
        }
        return number;
    }

    /** Where the text after a label at the beginning of a line starts; -1 if no line begins so. */
    int find(byte[] label) {
        boolean lineStarts = true;
        for (int at = 0; at + label.length <= length; at++) {
            int i = 0;
            while (lineStarts && i < label.length && text.get(JAVA_BYTE, at + i) == label[i]) {
                i++;
            }
            if (i == label.length) {
                return at + i;
            }
            lineStarts = text.get(JAVA_BYTE, at) == '\n';
        }
        return -1;
    }
}
