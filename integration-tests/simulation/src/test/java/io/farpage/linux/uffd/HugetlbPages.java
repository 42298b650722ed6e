package io.farpage.linux.uffd;

/** In place of the class of the same name: which pages the file of a simulated guest with large pages has. */
public final class HugetlbPages implements PresentPages, AutoCloseable {
    private final MemoryFile file;

    private HugetlbPages(MemoryFile file) {
        this.file = file;
    }

    public static HugetlbPages open(int fd, long start, int pageBytes) {
        return new HugetlbPages(MemoryFile.adopt(fd).from(start));
    }

    @Override
    public long nextData(long offset) {
        return file.nextData(offset);
    }

    @Override
    public long nextHole(long offset) {
        return file.nextHole(offset);
    }

    @Override
    public void close() {}
}
