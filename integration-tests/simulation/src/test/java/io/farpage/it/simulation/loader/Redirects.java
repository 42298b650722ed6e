package io.farpage.it.simulation.loader;

import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Which calls go to the engine, and which methods of the main code are replaced. */
final class Redirects {
    private static final Map<String, Call> CALLS = new HashMap<>();
    private static final String OF_RANGES = "(Ljava/lang/foreign/MemorySegment;JLjava/lang/foreign/MemorySegment;JJ)";
    private static final Map<String, Stub> STUBS = new HashMap<>();

    /** A call that goes to a static method with the same parameters, after the receiver if there is one. */
    record Call(ClassDesc hooks, String hook, ClassDesc receiver, Optional<ClassDesc> result) {}

    /** A method that is replaced. */
    record Stub(ClassDesc hooks, String hook) {}

    private Redirects() {}

    static {
        time(hooks("TimeHooks"));
        threads(hooks("ThreadHooks"));
        waits(hooks("WaitHooks"));
        chance(hooks("ChanceHooks"));
        order(hooks("OrderHooks"));
        world(hooks("WorldHooks"));
        sockets(hooks("SocketHooks"));
    }

    private static void time(ClassDesc to) {
        calls(to, "java/lang/System", "nanoTime", "currentTimeMillis");
        calls(to, "java/time/Instant", "now");
        call(to, "java/time/InstantSource", "system", "instantSource");
    }

    private static void threads(ClassDesc to) {
        calls(to, "java/lang/Thread", "sleep", "ofVirtual", "startVirtualThread", "onSpinWait");
        call(to, "java/lang/Thread", "yield", "relinquish");
        call(
                "java/lang/Thread",
                "ofPlatform",
                new Call(to, "ofVirtual", to, Optional.of(of("java.lang.Thread$Builder$OfVirtual"))));
        methods(to, "java.lang.Thread", "join");
        methods(to, "java.util.concurrent.TimeUnit", "sleep");
        calls(to, "java/util/concurrent/locks/LockSupport", "parkNanos");
        calls(to, "java/util/concurrent/Executors", "newVirtualThreadPerTaskExecutor");
        methods(to, "java.lang.Runtime", "halt");
    }

    private static void waits(ClassDesc to) {
        timed(to, "java.util.concurrent.Semaphore", "tryAcquire", "java/util/concurrent/Semaphore");
        timed(to, "java.util.concurrent.CountDownLatch", "await", "java/util/concurrent/CountDownLatch");
        timed(
                to,
                "java.util.concurrent.Future",
                "get",
                "java/util/concurrent/Future",
                "java/util/concurrent/CompletableFuture");
        timed(
                to,
                "java.util.concurrent.BlockingQueue",
                "poll",
                "java/util/concurrent/BlockingQueue",
                "java/util/concurrent/LinkedBlockingQueue",
                "java/util/concurrent/ArrayBlockingQueue",
                "java/util/concurrent/LinkedBlockingDeque");
        methods(to, "java.util.concurrent.locks.Condition", "awaitNanos");
        timed(to, "java.util.concurrent.locks.Condition", "await", "java/util/concurrent/locks/Condition");
        timed(
                to,
                "java.util.concurrent.locks.Lock",
                "tryLock",
                "java/util/concurrent/locks/Lock",
                "java/util/concurrent/locks/ReentrantLock");
    }

    private static void chance(ClassDesc to) {
        calls(to, "java/util/concurrent/ThreadLocalRandom", "current");
        methods(to, "java.util.concurrent.ThreadLocalRandom", "nextLong", "nextDouble", "nextInt");
        calls(to, "java/util/UUID", "randomUUID");
    }

    private static void order(ClassDesc to) {
        call(to, "java/util/Map", "of", "mapOf");
        call(to, "java/util/Map", "copyOf", "mapCopyOf");
        call(to, "java/util/Map", "ofEntries", "mapOfEntries");
        call(to, "java/util/Set", "of", "setOf");
        call(to, "java/util/Set", "copyOf", "setCopyOf");
        calls(to, "java/nio/file/Files", "list");
        calls(
                to,
                "java/util/stream/Collectors",
                "toUnmodifiableSet",
                "toUnmodifiableMap",
                "toSet",
                "toMap",
                "groupingBy");
    }

    private static void world(ClassDesc to) {
        call(to, "java/net/http/HttpClient", "newBuilder", "httpClient");
        methods(to, "io.javalin.Javalin", "start", "stop");
        methods(to, "java.nio.channels.FileChannel", "force");
        calls(to, "io/farpage/linux/Memory", "mlock", "madvise");
        methods(to, "java.lang.foreign.MemorySegment", "fill");
        CALLS.put("java/lang/foreign/MemorySegment.copy" + OF_RANGES, new Call(to, "copy", to, Optional.empty()));
        calls(to, "io/farpage/linux/SharedMemory", "pageBytes");
        calls(to, "io/farpage/linux/Sockets", "setBlocking");
        call(to, "io/farpage/linux/FileIo", "close", "closeDescriptor");
        call(
                "io/farpage/coordinator/store/MvStore",
                "open",
                new Call(to, "openStore", to, Optional.of(of("io.farpage.coordinator.store.Store"))));
        methods(to, "java.lang.Runtime", "addShutdownHook");
        stub(to, "io/farpage/coordinator/server/StoreAccess.elections", "elections");
        stub(to, "io/farpage/coordinator/server/LeadRehearsal.begin", "noRehearsal");
        stub(to, "io/farpage/agent/rehearsal/Rehearsal.run", "warmUp");
        stub(to, "io/prometheus/metrics/core/util/Scheduler.schedule", "never");
        stub(to, "io/farpage/rest/RestServer.connectors", "noConnectors");
        stub(to, "io/farpage/rest/RestServer.url", "url");
        stub(to, "io/farpage/rest/Bodies.connection", "endPoint");
        stub(to, "io/farpage/rest/Connections.endPoint", "endPoint");
        stub(to, "io/farpage/agent/rest/ApiSocket.publish", "nothing");
        stub(to, "io/farpage/agent/rest/ApiSocket.close", "nothing");
        stub(to, "io/farpage/agent/control/guest/HugePages.obstacle", "noObstacle");
        stub(to, "io/farpage/agent/control/guest/RamMappings.areFilledByVmm", "no");
        stub(to, "io/farpage/linux/MemoryHeadroom.ofGroups", "noGroups");
    }

    private static void sockets(ClassDesc to) {
        calls(to, "io/farpage/linux/Sockets", "openUnix", "listen", "accept", "setReceiveTimeout");
        calls(to, "io/farpage/linux/UnixSockets", "bind", "connect", "peer", "receive", "send");
        stub(to, "io/farpage/agent/control/socket/SocketPath.bound", "bound");
    }

    private static ClassDesc hooks(String name) {
        return of("io.farpage.it.simulation.engine." + name);
    }

    private static ClassDesc of(String name) {
        return ClassDesc.of(name);
    }

    /** Static methods, whose hooks have the same names. */
    private static void calls(ClassDesc to, String owner, String... names) {
        for (String name : names) {
            call(to, owner, name, name);
        }
    }

    private static void call(ClassDesc to, String owner, String name, String hook) {
        call(owner, name, new Call(to, hook, to, Optional.empty()));
    }

    private static void call(String owner, String name, Call call) {
        CALLS.put(owner + "." + name, call);
    }

    /** Methods of objects of a type, whose hooks have the same names. */
    private static void methods(ClassDesc to, String type, String... names) {
        for (String name : names) {
            call(type.replace('.', '/'), name, new Call(to, name, of(type), Optional.empty()));
        }
    }

    /** A method with a time and its unit, of objects of a type, where it is called on one of several classes. */
    private static void timed(ClassDesc to, String type, String name, String... owners) {
        for (String owner : owners) {
            CALLS.put(
                    owner + "." + name + "(JLjava/util/concurrent/TimeUnit;)",
                    new Call(to, name, of(type), Optional.empty()));
        }
    }

    private static void stub(ClassDesc to, String method, String hook) {
        STUBS.put(method, new Stub(to, hook));
    }

    static Optional<Call> call(String owner, String name, MethodTypeDesc type) {
        String key = owner + "." + name;
        Call call = CALLS.get(key);
        if (call == null) {
            String descriptor = type.descriptorString();
            call = CALLS.get(key + descriptor.substring(0, descriptor.indexOf(')') + 1));
        }
        // Without a time there is nothing to do: the wait is one of our virtual threads.
        if (call != null && name.equals("join") && owner.equals("java/lang/Thread") && type.parameterCount() == 0) {
            return Optional.empty();
        }
        if (call != null && owner.equals("io/javalin/Javalin") && type.parameterCount() > 0) {
            return Optional.empty();
        }
        return Optional.ofNullable(call);
    }

    static Optional<Stub> stub(String method, MethodTypeDesc type) {
        boolean isOfText =
                !type.parameterList().isEmpty() && !type.parameterType(0).isPrimitive();
        if (isOfText && (method.endsWith(".areFilledByVmm") || method.endsWith("HugePages.obstacle"))) {
            return Optional.empty();
        }
        return Optional.ofNullable(STUBS.get(method));
    }
}
