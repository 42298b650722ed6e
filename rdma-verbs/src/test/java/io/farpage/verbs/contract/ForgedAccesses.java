package io.farpage.verbs.contract;

import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.contract.ForgedAccess.Operation;
import io.farpage.verbs.contract.ForgedAccess.Reason;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;

/** Draws accesses that a {@link ForgedPool} must refuse. */
final class ForgedAccesses {
    static final int LONGEST = 2 * ForgedPool.PAGE;
    private static final List<Reason> REASONS = List.of(Reason.values());
    private static final List<Operation> OPERATIONS = List.of(Operation.values());
    private static final int[] LENGTHS = {1, 8, 64, ForgedPool.PAGE - 1, ForgedPool.PAGE, LONGEST};

    private final ForgedPool pool;
    private final Random random;

    ForgedAccesses(ForgedPool pool, Random random) {
        this.pool = pool;
        this.random = random;
    }

    ForgedAccess next() {
        Reason reason = any(REASONS);
        return switch (reason) {
            case UNKNOWN_KEY -> within(reason, any(pool.regions()), unknownKey());
            case ALTERED_KEY -> within(reason, any(pool.regions()), alteredKey());
            case KEY_OF_ANOTHER_REGION -> {
                MemoryRegion target = any(pool.regions());
                yield within(
                        reason, target, region(other -> !other.equals(target)).rkey());
            }
            case DEREGISTERED_KEY ->
                within(reason, pool.deregistered(), pool.deregistered().rkey());
            case KEY_OF_ANOTHER_DOMAIN ->
                within(reason, pool.foreign(), pool.foreign().rkey());
            case OUTSIDE_BY_LITTLE -> outsideByLittle();
            case ANY_ADDRESS -> anyAddress();
            case WRAPS_AROUND -> wrapsAround();
            case NOT_PERMITTED -> notPermitted();
        };
    }

    private int unknownKey() {
        int key = random.nextInt();
        while (pool.knows(key)) {
            key = random.nextInt();
        }
        return key;
    }

    private int alteredKey() {
        int key;
        do {
            int right = any(pool.regions()).rkey();
            int choice = random.nextInt(34);
            key = choice < 32 ? right ^ (1 << choice) : right + (choice == 32 ? 1 : -1);
        } while (pool.knows(key));
        return key;
    }

    /** A range within {@code target}, with {@code rkey}. */
    private ForgedAccess within(Reason reason, MemoryRegion target, int rkey) {
        Operation operation = any(OPERATIONS);
        int length = length();
        long offset = random.nextLong(target.length() - Math.min(length, target.length()) + 1);
        return new ForgedAccess(reason, operation, target.address() + offset, length, rkey);
    }

    /** Before the region's first byte, behind its last one, or across either. */
    private ForgedAccess outsideByLittle() {
        MemoryRegion region = any(pool.regions());
        Operation operation = any(OPERATIONS);
        int length = length();
        long by = random.nextBoolean() ? 1 : ForgedPool.PAGE;
        long address = random.nextBoolean() ? region.address() - by : region.address() + region.length() - length + by;
        return new ForgedAccess(Reason.OUTSIDE_BY_LITTLE, operation, address, length, region.rkey());
    }

    private ForgedAccess anyAddress() {
        MemoryRegion region = any(pool.regions());
        Operation operation = any(OPERATIONS);
        long address;
        do {
            address = random.nextBoolean() ? random.nextLong() : random.nextInt();
        } while (address - region.address() >= 0 && address - region.address() < region.length());
        return new ForgedAccess(Reason.ANY_ADDRESS, operation, address, length(), region.rkey());
    }

    private ForgedAccess wrapsAround() {
        Operation operation = random.nextBoolean() ? Operation.READ : Operation.WRITE;
        int length = 1 + random.nextInt(LONGEST);
        long address = -1L - random.nextInt(length);
        return new ForgedAccess(
                Reason.WRAPS_AROUND,
                operation,
                address,
                length,
                any(pool.regions()).rkey());
    }

    private ForgedAccess notPermitted() {
        Operation operation = any(OPERATIONS);
        AccessFlag needed = switch (operation) {
            case READ -> AccessFlag.REMOTE_READ;
            case WRITE -> AccessFlag.REMOTE_WRITE;
        };
        MemoryRegion target = region(region -> !region.access().contains(needed));
        int length = Math.toIntExact(Math.min(length(), target.length()));
        long offset = random.nextLong(target.length() - length + 1);
        return new ForgedAccess(Reason.NOT_PERMITTED, operation, target.address() + offset, length, target.rkey());
    }

    private int length() {
        return LENGTHS[random.nextInt(LENGTHS.length)];
    }

    private MemoryRegion region(Predicate<MemoryRegion> condition) {
        MemoryRegion region = any(pool.regions());
        while (!condition.test(region)) {
            region = any(pool.regions());
        }
        return region;
    }

    private <T> T any(List<T> all) {
        return all.get(random.nextInt(all.size()));
    }
}
