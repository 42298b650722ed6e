package io.farpage.agent.control.pins;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file as the mappings of processes name it (proc_pid_maps(5)).
 *
 * @param device of the file system, as in a line of /proc/pid/maps: {@code " 00:01 "}, with the spaces around it
 */
record MappedFile(String device, long inode) {
    /** Fields of a line before the device: addresses, access rights, offset. */
    private static final int FIELDS_BEFORE = 3;

    /** The file of a descriptor of this process. */
    static MappedFile of(int descriptor) throws IOException {
        Path file = Path.of("/proc/self/fd", Integer.toString(descriptor));
        long device = (long) Files.getAttribute(file, "unix:dev");
        // Split as in makedev(3).
        long major = (device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL);
        long minor = (device & 0xff) | (device >>> 12 & ~0xffL & 0xffffffffL);
        return new MappedFile(" %02x:%02x ".formatted(major, minor), (long) Files.getAttribute(file, "unix:ino"));
    }

    /** Whether a line is that of a mapping of this file. */
    boolean isIn(String line) {
        int at = line.indexOf(device);
        return at >= 0 && isDevice(line, at) && inodeAfter(line, at + device.length()) == inode;
    }

    /** Whether what is found at an index is the device of its line, and not a part of a path that looks like one. */
    static boolean isDevice(String lines, int at) {
        int from = lines.lastIndexOf('\n', at) + 1;
        for (int field = 1; field < FIELDS_BEFORE; field++) {
            from = lines.indexOf(' ', from) + 1;
        }
        return lines.indexOf(' ', from) == at;
    }

    /** The number that begins at an index. */
    static long inodeAfter(String lines, int at) {
        long inode = 0;
        for (int i = at; i < lines.length() && Character.isDigit(lines.charAt(i)); i++) {
            inode = inode * 10 + lines.charAt(i) - '0';
        }
        return inode;
    }
}
