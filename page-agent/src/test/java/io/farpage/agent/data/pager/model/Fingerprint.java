package io.farpage.agent.data.pager.model;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A number for the state of a world between two duty cycles of the agent: from two states with the same number the same
 * steps lead to the same states. Reads every field of the pager, its fetcher and its link, except for times and
 * statistics, on which no step depends, and for what follows from others.
 */
final class Fingerprint {
    private static final Set<String> WITHOUT_EFFECT = Set.of(
            "startedAt",
            "askedAt",
            "postedAt",
            "seenAt",
            "arrivedAt",
            "pausedUntil",
            "handledUntil",
            "generation",
            "latency",
            "peakResident",
            "status",
            "answeredAt",
            "savedAt",
            "examinedPages",
            "partOf",
            "since",
            "passed");

    private static final Map<Class<?>, List<Field>> FIELDS = new HashMap<>();

    private final IdentityHashMap<Object, Boolean> visited = new IdentityHashMap<>();
    private long hash = 1;

    private final World world;

    private Fingerprint(World world) {
        this.world = world;
    }

    static long of(World world, String progress) {
        Fingerprint fingerprint = new Fingerprint(world);
        fingerprint.add(world.kernel().shape().hashCode());
        fingerprint.add(world.fabric.shape().hashCode());
        fingerprint.add(world.coordinator.room().shape().hashCode());
        fingerprint.add(world.truth().shape().hashCode());
        fingerprint.add(world.threads.toString().hashCode());
        fingerprint.add(world.pins.shape().hashCode());
        fingerprint.add(progress.hashCode());
        fingerprint.add(world.agent.ended() == null ? 0 : 1);
        fingerprint.add(world.agent.kills());
        for (int frame = 0; frame < World.MAX_FRAMES; frame++) {
            boolean free = world.pool.stagingFrames().isFree(frame);
            fingerprint.add(free ? -1 : Memory.version(world.pool.stagingAddress() + world.pool.offset(frame)));
        }
        fingerprint.visit(world.agent.pager());
        fingerprint.visit(world.agent.fetcher());
        world.fabric.homes().forEach(home -> fingerprint.visit(home.link()));
        return fingerprint.hash;
    }

    private void add(long value) {
        hash = (hash ^ value) * 0x9E3779B97F4A7C15L;
        hash ^= hash >>> 29;
    }

    private void visit(Object object) {
        if (visited.put(object, true) != null) {
            return;
        }
        if (object.getClass().getSimpleName().equals("FaultQueue")) {
            ring(object, "count", "pages", "writes");
            return;
        }
        if (object.getClass().getSimpleName().equals("Protected")) {
            ring(object, "size", "firsts", "counts");
            inspections(object);
            return;
        }
        if (object instanceof MemorySegment segment) {
            for (long at = 0; at < segment.byteSize(); at++) {
                add(segment.get(ValueLayout.JAVA_BYTE, at));
            }
            return;
        }
        for (Field field : fields(object.getClass())) {
            value(get(field, object));
        }
    }

    /** The entries of a ring, wherever in the arrays it starts. */
    private void ring(Object ring, String size, String... arrays) {
        int head = (int) field(ring, "head");
        int count = (int) field(ring, size);
        for (int i = 0; i < count; i++) {
            for (String array : arrays) {
                Object all = field(ring, array);
                value(Array.get(all, (head + i) % Array.getLength(all)));
            }
        }
        add(count);
    }

    /** How far the inspections are that runs wait for, instead of their numbers. */
    private void inspections(Object waiting) {
        int head = (int) field(waiting, "head");
        int size = (int) field(waiting, "size");
        long[] inspections = (long[]) field(waiting, "inspections");
        for (int i = 0; i < size; i++) {
            add(world.pins.stage(inspections[(head + i) % inspections.length]));
        }
    }

    private static Object field(Object of, String name) {
        for (Field field : fields(of.getClass())) {
            if (field.getName().equals(name)) {
                return Objects.requireNonNull(get(field, of));
            }
        }
        throw new IllegalStateException(of.getClass() + " has no field " + name);
    }

    private static @Nullable Object get(Field field, Object of) {
        try {
            return field.get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private void value(@Nullable Object value) {
        switch (value) {
            case null -> add(0);
            case Number number -> add(number.longValue());
            case Boolean bool -> add(bool ? 1 : 2);
            case Character character -> add(character);
            case Enum<?> constant -> add(constant.ordinal());
            case Collection<?> all -> all.forEach(this::value);
            default -> {
                if (value.getClass().isArray()) {
                    for (int i = 0; i < Array.getLength(value); i++) {
                        value(Array.get(value, i));
                    }
                } else if (isOurs(value.getClass()) || value instanceof MemorySegment) {
                    visit(value);
                }
            }
        }
    }

    private static boolean isOurs(Class<?> type) {
        String name = type.getName();
        return (name.startsWith("io.farpage.agent.data.pager.") || name.startsWith("io.farpage.agent.data.shard."))
                && !name.startsWith("io.farpage.agent.data.pager.model.")
                && !name.endsWith("Heat")
                && !name.endsWith("Counter")
                && !name.endsWith("Counters")
                && !name.endsWith("Shard")
                && !name.endsWith("SilenceClock")
                && !name.contains("$$Lambda");
    }

    private static List<Field> fields(Class<?> type) {
        return FIELDS.computeIfAbsent(type, of -> {
            List<Field> fields = new ArrayList<>();
            for (Class<?> declaring = of;
                    declaring != null && isOurs(declaring);
                    declaring = declaring.getSuperclass()) {
                for (Field field : declaring.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers()) && !WITHOUT_EFFECT.contains(field.getName())) {
                        field.setAccessible(true);
                        fields.add(field);
                    }
                }
            }
            return fields;
        });
    }
}
