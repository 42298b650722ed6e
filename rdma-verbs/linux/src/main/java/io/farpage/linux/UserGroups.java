package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.TreeSet;

/**
 * The groups of a user in the group database (getgrouplist(3)). A user that the database does not have is in none.
 * Thread-safe.
 */
public final class UserGroups {
    private static final MethodHandle getgrouplist$mh =
            Libc.plain("getgrouplist", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
    /** (gid_t)-1, which the kernel gives to no group. */
    private static final int NO_GROUP = -1;
    /** NGROUPS_MAX of Linux: a user cannot be in more. */
    private static final int MAX_GROUPS = 65536;

    private UserGroups() {}

    /** The ids of the groups that list a user as a member. */
    public static Set<Integer> of(String user) {
        for (int room = 64; ; room = MAX_GROUPS + 1) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment name = arena.allocateFrom(user);
                MemorySegment groups = arena.allocate(JAVA_INT, room);
                MemorySegment count = arena.allocateFrom(JAVA_INT, room);
                int found =
                        (int) getgrouplist$mh.invokeExact(name.address(), NO_GROUP, groups.address(), count.address());
                if (found < 0 && room <= MAX_GROUPS) {
                    continue;
                }
                Set<Integer> all = new TreeSet<>();
                for (int i = 0; i < found; i++) {
                    all.add(groups.getAtIndex(JAVA_INT, i));
                }
                all.remove(NO_GROUP);
                return Set.copyOf(all);
            } catch (Throwable t) {
                throw Libc.unexpected(t);
            }
        }
    }
}
