package io.farpage.agent.control.pins;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;

/** Finds the processes that have a file mapped (proc_pid_maps(5)). */
final class MemoryOwners {
    private final String mark;

    /** @param descriptor of the file, in this process */
    MemoryOwners(int descriptor) throws IOException {
        Path file = Path.of("/proc/self/fd", Integer.toString(descriptor));
        long device = (long) Files.getAttribute(file, "unix:dev");
        long inode = (long) Files.getAttribute(file, "unix:ino");
        // Split as in makedev(3).
        long major = (device >>> 8 & 0xfff) | (device >>> 32 & ~0xfffL);
        long minor = (device & 0xff) | (device >>> 12 & ~0xffL & 0xffffffffL);
        mark = " %02x:%02x %d ".formatted(major, minor, inode);
    }

    /** Process ids, without processes that this user may not inspect. */
    Set<Integer> find() {
        Set<Integer> owners = new TreeSet<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                if (maps(process)) {
                    owners.add(Integer.parseInt(process.getFileName().toString()));
                }
            }
        } catch (IOException e) {
            return owners; // what was found so far; the process of the handoff is inspected in any case
        }
        return owners;
    }

    private boolean maps(Path process) {
        try (BufferedReader lines = Files.newBufferedReader(process.resolve("maps"), StandardCharsets.ISO_8859_1)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.contains(mark)) {
                    return true;
                }
            }
        } catch (IOException e) {
            return false; // the process has ended, or this user may not inspect it
        }
        return false;
    }
}
