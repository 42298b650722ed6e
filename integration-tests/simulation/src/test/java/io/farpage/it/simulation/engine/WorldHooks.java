package io.farpage.it.simulation.engine;

import io.farpage.coordinator.store.Store;
import io.farpage.linux.Errno;
import io.farpage.linux.Memory;
import io.farpage.linux.SharedMemory;
import io.farpage.linux.Sockets;
import io.farpage.linux.SystemCall;
import io.javalin.Javalin;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.eclipse.jetty.io.EndPoint;
import org.jspecify.annotations.Nullable;

/**
 * HTTP, the store and the kernel, in place of what is outside of a process; and methods of the project that ask for
 * what is not simulated.
 */
@SuppressWarnings("unchecked")
public final class WorldHooks {
    private WorldHooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    public static HttpClient.Builder httpClient() {
        return SimulatedHttp.builder();
    }

    public static Javalin start(Javalin app) {
        SimulatedHttp.serve(engine().running(), app);
        return app;
    }

    public static Javalin stop(Javalin app) {
        SimulatedHttp.end(engine().running());
        return app;
    }

    public static Store openStore(Path directory) {
        return SimulatedStore.open(directory);
    }

    public static Object elections() {
        return new SimulatedElections();
    }

    /** A process ends without a word. */
    public static void addShutdownHook(Runtime runtime, Thread hook) {}

    public static void noRehearsal(Object config, Object follows) {}

    /** A rehearsal of a standby: only the time that it takes. */
    public static void warmUp(Object config, Object providers) {
        engine().pause(engine().between(10_000_000, 5_000_000_000L));
    }

    /** What a process has written outlives it. */
    public static void force(FileChannel file, boolean metadata) {}

    /** Memory can always be locked. */
    public static SystemCall mlock(long address, long bytes) {
        return new SystemCall(0, 0);
    }

    /** Memory can always be populated, and takes room only when it is written. */
    public static SystemCall madvise(long address, long bytes, int advice) {
        if (advice == Memory.MADV_POPULATE_WRITE) {
            SparseMemory.mapped(address, bytes);
            return new SystemCall(0, 0);
        }
        return Memory.madvise(address, bytes, advice);
    }

    public static void copy(MemorySegment from, long offset, MemorySegment to, long at, long bytes) {
        if (bytes < SparseMemory.LEAST) {
            MemorySegment.copy(from, offset, to, at, bytes);
        } else {
            SparseMemory.copy(from.asSlice(offset, bytes), to.asSlice(at, bytes));
        }
    }

    public static MemorySegment fill(MemorySegment range, byte value) {
        if (value != 0 || range.byteSize() < SparseMemory.LEAST) {
            return range.fill(value);
        }
        SparseMemory.zero(range);
        return range;
    }

    public static SystemCall pageBytes(int fd) {
        return Descriptors.isSimulated(fd)
                ? new SystemCall(Descriptors.object(fd, PagedFile.class).pageBytes(), 0)
                : SharedMemory.pageBytes(fd);
    }

    public static void setBlocking(Errno errno, int fd, boolean blocking) {
        if (!Descriptors.isSimulated(fd)) {
            Sockets.setBlocking(errno, fd, blocking);
        }
    }

    public static void closeDescriptor(Errno errno, int fd) {
        SocketHooks.close(fd);
    }

    /** For messages. */
    public static Object url(Object server) {
        return "http://" + engine().running().address();
    }

    public static Object noConnectors(Object app) {
        return List.of();
    }

    public static Object endPoint(Object context) {
        return Proxy.newProxyInstance(
                EndPoint.class.getClassLoader(),
                new Class<?>[] {EndPoint.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getIdleTimeout" -> 30_000L;
                    case "getRemoteSocketAddress" -> new InetSocketAddress("127.0.0.1", 1);
                    default -> null;
                });
    }

    public static void nothing(Object self) {}

    public static Object noObstacle(int process, Object slices) {
        return Optional.empty();
    }

    public static boolean no(int process, Object slices) {
        return false;
    }

    public static @Nullable Object never(Object task, long time, Object unit) {
        return null;
    }

    public static Object noGroups(int process) {
        return Optional.empty();
    }
}
