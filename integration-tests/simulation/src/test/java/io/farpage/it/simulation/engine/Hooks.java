package io.farpage.it.simulation.engine;

import io.farpage.coordinator.store.Store;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.javalin.Javalin;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import org.eclipse.jetty.io.EndPoint;
import org.jspecify.annotations.Nullable;

/**
 * What the project's classes call instead of the JDK and the kernel. The parameters are those of the methods that are
 * replaced.
 */
@SuppressWarnings({"unchecked", "checkstyle:MethodName"})
public final class Hooks {
    /** The time of day at the beginning of each simulation. */
    private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

    private static final long SPIN_NANOS = 1_000;

    private Hooks() {}

    private static Engine engine() {
        return Engine.get();
    }

    // ---- time

    public static long nanoTime() {
        return engine().now();
    }

    public static Instant now() {
        return BEGINNING.plusNanos(engine().elapsed());
    }

    public static long currentTimeMillis() {
        return now().toEpochMilli();
    }

    public static InstantSource instantSource() {
        return Hooks::now;
    }

    // ---- threads

    public static Thread.Builder.OfVirtual ofVirtual() {
        return Threads.ofVirtual(engine().running());
    }

    public static Thread startVirtualThread(Runnable task) {
        return ofVirtual().start(task);
    }

    public static ExecutorService newVirtualThreadPerTaskExecutor() {
        return Executors.newThreadPerTaskExecutor(ofVirtual().factory());
    }

    public static void onSpinWait() {
        engine().pause(SPIN_NANOS);
    }

    public static void relinquish() {
        engine().pause(SPIN_NANOS);
    }

    public static void sleep(long millis) throws InterruptedException {
        await(millis * 1_000_000);
    }

    public static void sleep(Duration time) throws InterruptedException {
        await(time.toNanos());
    }

    public static void sleep(TimeUnit unit, long time) throws InterruptedException {
        await(unit.toNanos(time));
    }

    private static void await(long nanos) throws InterruptedException {
        boolean[] fired = new boolean[1];
        Thread thread = Thread.currentThread();
        Engine.Timer timer = engine().after(nanos, engine().running(), () -> {
            fired[0] = true;
            LockSupport.unpark(thread);
        });
        while (!fired[0]) {
            if (Thread.interrupted()) {
                timer.cancel();
                throw new InterruptedException();
            }
            LockSupport.park();
        }
    }

    public static void parkNanos(long nanos) {
        parkNanos(engine(), nanos);
    }

    public static void parkNanos(Object blocker, long nanos) {
        if (nanos <= 0) {
            return;
        }
        Thread thread = Thread.currentThread();
        Engine.Timer timer = engine().after(nanos, engine().running(), () -> LockSupport.unpark(thread));
        LockSupport.park(blocker);
        timer.cancel();
    }

    /** A wait that ends by an interruption at its deadline. */
    private static final class Deadline implements AutoCloseable {
        private final Thread thread = Thread.currentThread();
        private final Engine.Timer timer;
        private boolean passed;

        Deadline(long nanos) {
            timer = engine().after(nanos, engine().running(), () -> {
                passed = true;
                thread.interrupt();
            });
        }

        @Override
        public void close() {
            timer.cancel();
            if (passed) {
                Thread.interrupted();
            }
        }
    }

    private static void requireNotInterrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
    }

    public static boolean tryAcquire(Semaphore semaphore, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (semaphore.tryAcquire()) {
            return true;
        }
        if (time <= 0) {
            return false;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                semaphore.acquire();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, semaphore.tryAcquire());
            }
        }
    }

    private static <T> T ended(Deadline deadline, InterruptedException e, T value) throws InterruptedException {
        if (!deadline.passed) {
            throw e;
        }
        return value;
    }

    public static boolean await(CountDownLatch latch, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (latch.getCount() == 0 || time <= 0) {
            return latch.getCount() == 0;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                latch.await();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, latch.getCount() == 0);
            }
        }
    }

    public static Object get(Future<?> future, long time, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        requireNotInterrupted();
        if (future.isDone()) {
            return future.get();
        }
        if (time <= 0) {
            throw new TimeoutException();
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                return future.get();
            } catch (InterruptedException e) {
                if (ended(deadline, e, future.isDone())) {
                    return future.get();
                }
                throw new TimeoutException();
            }
        }
    }

    public static @Nullable Object poll(BlockingQueue<?> queue, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        Object first = queue.poll();
        if (first != null || time <= 0) {
            return first;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                return queue.take();
            } catch (InterruptedException e) {
                return deadline.passed ? queue.poll() : ended(deadline, e, null);
            }
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the caller is in one
    public static long awaitNanos(Condition condition, long nanos) throws InterruptedException {
        requireNotInterrupted();
        if (nanos <= 0) {
            return nanos;
        }
        long end = engine().now() + nanos;
        try (Deadline deadline = new Deadline(nanos)) {
            try {
                condition.await();
            } catch (InterruptedException e) {
                ended(deadline, e, true);
            }
        }
        return end - engine().now();
    }

    public static boolean await(Condition condition, long time, TimeUnit unit) throws InterruptedException {
        return awaitNanos(condition, unit.toNanos(time)) > 0;
    }

    public static boolean tryLock(Lock lock, long time, TimeUnit unit) throws InterruptedException {
        requireNotInterrupted();
        if (lock.tryLock()) {
            return true;
        }
        try (Deadline deadline = new Deadline(unit.toNanos(time))) {
            try {
                lock.lockInterruptibly();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, lock.tryLock());
            }
        }
    }

    public static boolean join(Thread thread, Duration time) throws InterruptedException {
        if (!thread.isAlive()) {
            return true;
        }
        try (Deadline deadline = new Deadline(time.toNanos())) {
            try {
                thread.join();
                return true;
            } catch (InterruptedException e) {
                return ended(deadline, e, !thread.isAlive());
            }
        }
    }

    public static void join(Thread thread, long millis) throws InterruptedException {
        var _ = join(thread, Duration.ofMillis(millis));
    }

    public static void halt(Runtime runtime, int status) {
        engine().fail(engine().running() + " halts with status " + status);
        LockSupport.park();
    }

    // ---- chance

    public static @Nullable ThreadLocalRandom current() {
        return null;
    }

    public static int nextInt(ThreadLocalRandom unused, int bound) {
        return engine().random().nextInt(bound);
    }

    public static int nextInt(ThreadLocalRandom unused, int low, int high) {
        return engine().random().nextInt(low, high);
    }

    public static int nextInt(ThreadLocalRandom unused) {
        return engine().random().nextInt();
    }

    public static long nextLong(ThreadLocalRandom unused) {
        return engine().random().nextLong();
    }

    public static long nextLong(ThreadLocalRandom unused, long bound) {
        return engine().random().nextLong(bound);
    }

    public static long nextLong(ThreadLocalRandom unused, long low, long high) {
        return engine().random().nextLong(low, high);
    }

    public static double nextDouble(ThreadLocalRandom unused) {
        return engine().random().nextDouble();
    }

    public static double nextDouble(ThreadLocalRandom unused, double bound) {
        return engine().random().nextDouble(bound);
    }

    public static double nextDouble(ThreadLocalRandom unused, double low, double high) {
        return engine().random().nextDouble(low, high);
    }

    public static UUID randomUUID() {
        return new UUID(engine().random().nextLong(), engine().random().nextLong());
    }

    // ---- collections whose order would differ from one JVM to the next

    private static void put(Map<Object, Object> all, Object key, Object value) {
        if (key == null || value == null) {
            throw new NullPointerException();
        }
        if (all.put(key, value) != null) {
            throw new IllegalArgumentException("duplicate key: " + key);
        }
    }

    private static Set<Object> distinct(List<Object> elements) {
        Set<Object> all = new LinkedHashSet<>(elements);
        if (all.size() < elements.size()) {
            throw new IllegalArgumentException("duplicate element in " + elements);
        }
        return Collections.unmodifiableSet(all);
    }

    public static Set<Object> setOf(Object[] elements) {
        return distinct(Arrays.asList(elements));
    }

    public static Set<Object> setCopyOf(Collection<?> elements) {
        elements.forEach(java.util.Objects::requireNonNull);
        return Collections.unmodifiableSet(new LinkedHashSet<>(elements));
    }

    public static Map<Object, Object> mapCopyOf(Map<?, ?> map) {
        return Collections.unmodifiableMap(new LinkedHashMap<>(map));
    }

    public static Map<Object, Object> mapOfEntries(Map.Entry<?, ?>[] entries) {
        Map<Object, Object> all = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : entries) {
            put(all, entry.getKey(), entry.getValue());
        }
        return Collections.unmodifiableMap(all);
    }

    public static Collector<Object, ?, Set<Object>> toUnmodifiableSet() {
        return Collectors.collectingAndThen(Collectors.toCollection(LinkedHashSet::new), Collections::unmodifiableSet);
    }

    public static Collector<Object, ?, Map<Object, Object>> toUnmodifiableMap(
            Function<Object, Object> key, Function<Object, Object> value) {
        BinaryOperator<Object> refuse = (a, b) -> {
            throw new IllegalStateException("duplicate key");
        };
        return Collectors.collectingAndThen(
                Collectors.toMap(key, value, refuse, LinkedHashMap::new), Collections::unmodifiableMap);
    }

    public static Collector<Object, ?, ?> toSet() {
        return Collectors.toCollection(LinkedHashSet::new);
    }

    public static Collector<Object, ?, ?> toMap(Function<Object, Object> key, Function<Object, Object> value) {
        BinaryOperator<Object> refuse = (a, b) -> {
            throw new IllegalStateException("duplicate key");
        };
        return Collectors.toMap(key, value, refuse, LinkedHashMap::new);
    }

    public static Collector<Object, ?, ?> toMap(
            Function<Object, Object> key, Function<Object, Object> value, BinaryOperator<Object> merge) {
        return Collectors.toMap(key, value, merge, LinkedHashMap::new);
    }

    public static Collector<Object, ?, ?> toMap(
            Function<Object, Object> key,
            Function<Object, Object> value,
            BinaryOperator<Object> merge,
            java.util.function.Supplier<Map<Object, Object>> map) {
        return Collectors.toMap(key, value, merge, map);
    }

    public static Collector<Object, ?, ?> groupingBy(Function<Object, Object> key) {
        return Collectors.groupingBy(key, LinkedHashMap::new, Collectors.toList());
    }

    public static Collector<Object, ?, ?> groupingBy(Function<Object, Object> key, Collector<Object, ?, Object> down) {
        return Collectors.groupingBy(key, LinkedHashMap::new, down);
    }

    public static Collector<Object, ?, ?> groupingBy(
            Function<Object, Object> key,
            java.util.function.Supplier<Map<Object, Object>> map,
            Collector<Object, ?, Object> down) {
        return Collectors.groupingBy(key, map, down);
    }

    // ---- the world

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

    public static void setBlocking(Errno errno, int fd, boolean blocking) {
        if (!Descriptors.isSimulated(fd)) {
            Sockets.setBlocking(errno, fd, blocking);
        }
    }

    public static void closeDescriptor(Errno errno, int fd) {
        if (!Descriptors.isSimulated(fd)) {
            FileIo.close(errno, fd);
        }
    }

    // ---- methods that are replaced

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

    public static Map<Object, Object> mapOf() {
        Map<Object, Object> all = new LinkedHashMap<>();
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0, Object k1, Object v1) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0, Object k1, Object v1, Object k2, Object v2) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0, Object v0, Object k1, Object v1, Object k2, Object v2, Object k3, Object v3) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7,
            Object k8,
            Object v8) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        put(all, k8, v8);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7,
            Object k8,
            Object v8,
            Object k9,
            Object v9) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        put(all, k8, v8);
        put(all, k9, v9);
        return Collections.unmodifiableMap(all);
    }

    public static Set<Object> setOf() {
        return distinct(List.of());
    }

    public static Set<Object> setOf(Object e0) {
        return distinct(List.of(e0));
    }

    public static Set<Object> setOf(Object e0, Object e1) {
        return distinct(List.of(e0, e1));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2) {
        return distinct(List.of(e0, e1, e2));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3) {
        return distinct(List.of(e0, e1, e2, e3));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4) {
        return distinct(List.of(e0, e1, e2, e3, e4));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4, Object e5) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6));
    }

    public static Set<Object> setOf(
            Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6, Object e7) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7));
    }

    public static Set<Object> setOf(
            Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6, Object e7, Object e8) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7, e8));
    }

    public static Set<Object> setOf(
            Object e0,
            Object e1,
            Object e2,
            Object e3,
            Object e4,
            Object e5,
            Object e6,
            Object e7,
            Object e8,
            Object e9) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7, e8, e9));
    }
}
