package io.farpage.it.simulation.loader;

import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Which calls go to the engine, and which methods of the main code are replaced. */
final class Redirects {
    static final ClassDesc HOOKS = ClassDesc.of("io.farpage.it.simulation.engine.Hooks");

    private static final Map<String, Call> CALLS = new HashMap<>();
    private static final Map<String, Stub> STUBS = new HashMap<>();

    /** A call that goes to a static method with the same parameters, after the receiver if there is one. */
    record Call(String hook, ClassDesc receiver, Optional<ClassDesc> result) {}

    /** A method that is replaced. */
    record Stub(String hook) {}

    private Redirects() {}

    static {
        calls("java/lang/System", "nanoTime", "currentTimeMillis");
        calls("java/time/Instant", "now");
        call("java/time/InstantSource", "system", "instantSource");
        calls("java/lang/Thread", "sleep", "ofVirtual", "startVirtualThread", "onSpinWait");
        call("java/lang/Thread", "yield", "relinquish");
        call(
                "java/lang/Thread",
                "ofPlatform",
                new Call("ofVirtual", HOOKS, Optional.of(of("java.lang.Thread$Builder$OfVirtual"))));
        receiver("java/lang/Thread", "join", "java.lang.Thread", "java/lang/Thread");
        receiver(
                "java/util/concurrent/TimeUnit",
                "sleep",
                "java.util.concurrent.TimeUnit",
                "java/util/concurrent/TimeUnit");
        calls("java/util/concurrent/locks/LockSupport", "parkNanos");
        timed("java.util.concurrent.Semaphore", "tryAcquire", "java/util/concurrent/Semaphore");
        timed("java.util.concurrent.CountDownLatch", "await", "java/util/concurrent/CountDownLatch");
        timed(
                "java.util.concurrent.Future",
                "get",
                "java/util/concurrent/Future",
                "java/util/concurrent/CompletableFuture");
        timed(
                "java.util.concurrent.BlockingQueue",
                "poll",
                "java/util/concurrent/BlockingQueue",
                "java/util/concurrent/LinkedBlockingQueue",
                "java/util/concurrent/ArrayBlockingQueue",
                "java/util/concurrent/LinkedBlockingDeque");
        receiver(
                "java/util/concurrent/locks/Condition",
                "awaitNanos",
                "java.util.concurrent.locks.Condition",
                "java/util/concurrent/locks/Condition");
        timed("java.util.concurrent.locks.Condition", "await", "java/util/concurrent/locks/Condition");
        timed(
                "java.util.concurrent.locks.Lock",
                "tryLock",
                "java/util/concurrent/locks/Lock",
                "java/util/concurrent/locks/ReentrantLock");
        call("java/util/concurrent/Executors", "newVirtualThreadPerTaskExecutor", "newVirtualThreadPerTaskExecutor");
        calls("java/util/concurrent/ThreadLocalRandom", "current");
        for (String name : new String[] {"nextLong", "nextDouble", "nextInt"}) {
            receiver(null, name, "java.util.concurrent.ThreadLocalRandom", "java/util/concurrent/ThreadLocalRandom");
        }
        calls("java/util/UUID", "randomUUID");
        call("java/util/Map", "of", "mapOf");
        call("java/util/Map", "copyOf", "mapCopyOf");
        call("java/util/Map", "ofEntries", "mapOfEntries");
        call("java/util/Set", "of", "setOf");
        call("java/util/Set", "copyOf", "setCopyOf");
        calls("java/util/stream/Collectors", "toUnmodifiableSet", "toUnmodifiableMap", "toSet", "toMap", "groupingBy");
        call("java/net/http/HttpClient", "newBuilder", "httpClient");
        receiver(null, "halt", "java.lang.Runtime", "java/lang/Runtime");
        for (String name : new String[] {"start", "stop"}) {
            receiver(null, name, "io.javalin.Javalin", "io/javalin/Javalin");
        }
        call("io/farpage/linux/Sockets", "setBlocking", "setBlocking");
        call("io/farpage/linux/FileIo", "close", "closeDescriptor");
        call(
                "io/farpage/coordinator/store/MvStore",
                "open",
                new Call("openStore", HOOKS, Optional.of(of("io.farpage.coordinator.store.Store"))));

        stub("io/prometheus/metrics/core/util/Scheduler.schedule", "never");
        stub("io/farpage/rest/RestServer.connectors", "noConnectors");
        stub("io/farpage/rest/Bodies.connection", "endPoint");
        stub("io/farpage/rest/Connections.endPoint", "endPoint");
        stub("io/farpage/agent/rest/ApiSocket.publish", "nothing");
        stub("io/farpage/agent/rest/ApiSocket.close", "nothing");
        stub("io/farpage/agent/control/guest/HugePages.obstacle", "noObstacle");
        stub("io/farpage/agent/control/guest/RamMappings.areFilledByVmm", "no");
        stub("io/farpage/linux/MemoryHeadroom.ofGroups", "noGroups");
    }

    private static ClassDesc of(String name) {
        return ClassDesc.of(name);
    }

    private static void calls(String owner, String... names) {
        for (String name : names) {
            call(owner, name, name);
        }
    }

    private static void call(String owner, String name, String hook) {
        call(owner, name, new Call(hook, HOOKS, Optional.empty()));
    }

    private static void call(String owner, String name, Call call) {
        CALLS.put(owner + "." + name, call);
    }

    private static void receiver(String unused, String name, String type, String owner) {
        call(owner, name, new Call(name, of(type), Optional.empty()));
    }

    private static void timed(String type, String name, String... owners) {
        for (String owner : owners) {
            CALLS.put(
                    owner + "." + name + "(JLjava/util/concurrent/TimeUnit;)",
                    new Call(name, of(type), Optional.empty()));
        }
    }

    private static void stub(String method, String hook) {
        STUBS.put(method, new Stub(hook));
    }

    static Optional<Call> call(String owner, String name, MethodTypeDesc type) {
        String key = owner + "." + name;
        Call call = CALLS.get(key);
        if (call == null && type.parameterCount() == 2) {
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
