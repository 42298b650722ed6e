package io.farpage.agent.control.guest;

import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.keeper.KeptName;
import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.linux.Memory;
import io.farpage.linux.ProcessFd;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import java.nio.file.Path;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether guests outlive this process, and which do.
 *
 * @param node this one
 * @param incarnation of this agent
 * @param keeper that holds their descriptors; empty if none does
 */
public record GuestKeeping(String node, Incarnation incarnation, Optional<KeptMemory> keeper) {
    private static final Logger log = LoggerFactory.getLogger(GuestKeeping.class);

    /**
     * Makes a guest survive this process, if possible. If not, the log says why.
     *
     * @param socket where its VMM handed the memory over
     * @param past what earlier guests have left of the space
     */
    Optional<KeptGuest> keep(SpaceUse use, Path socket, VmmMemory memory, PagerOptions options, SpacePast past) {
        if (keeper.isEmpty()) {
            return Optional.empty();
        }
        Space space = use.space();
        Optional<String> obstacle = obstacle(space, memory, past.seal());
        if (obstacle.isEmpty()) {
            SystemCall process = ProcessFd.open(memory.pid());
            if (process.succeeded()) {
                try {
                    return Optional.of(KeptGuest.create(
                            keeper.get(),
                            record(use, socket, memory, options, past),
                            (int) process.value(),
                            Memory::mlock));
                } catch (KeptGuestException e) {
                    obstacle = Optional.ofNullable(e.getMessage());
                }
            } else {
                obstacle = Optional.of("process %d of its VMM cannot be watched: pidfd_open: %s"
                        .formatted(memory.pid(), process.error()));
            }
        }
        log.warn(
                "space {}: this guest does not survive the agent's end, because {}",
                space.name(),
                obstacle.orElse("it cannot be kept"));
        return Optional.empty();
    }

    private static Optional<String> obstacle(Space space, VmmMemory memory, Optional<SpaceSeal> seal) {
        if (seal.isPresent() && seal.get().generations() >= GuestRecord.Sealed.MOST) {
            return Optional.of("its pages are sealed with the keys of %d attachments"
                    .formatted(seal.get().generations()));
        }
        if (space.id() > KeptName.LAST_GROUP) {
            return Optional.of("the id of its space is too large");
        }
        return memory.backing() == null
                ? Optional.of("its VMM handed over no memory file")
                : FilePages.obstacle(memory.file(), space.pageSize());
    }

    private GuestRecord record(SpaceUse use, Path socket, VmmMemory memory, PagerOptions options, SpacePast past) {
        return new GuestRecord(
                node,
                incarnation,
                use.map().id(),
                use.map().name(),
                socket.toString(),
                memory.pid(),
                use.map().pageSize(),
                (int) use.map().pages(),
                past.written(),
                options.localPages(),
                options.prefetchPages(),
                MemoryFile.lengthOf(memory.file()),
                memory.slices(),
                past.seal().map(seal -> new GuestRecord.Sealed(seal.keyId(), new TreeMap<>())),
                Optional.empty(),
                Optional.empty(),
                use.space().isCoherent() ? Optional.of(AttachMode.MEMBER) : Optional.empty());
    }

    /** Passes descriptors to the keeper, by part. The keeper may already hold them. */
    void hold(long space, NavigableMap<Integer, Integer> parts) {
        NavigableMap<KeptName, Integer> named = new TreeMap<>();
        parts.forEach((part, descriptor) -> named.put(new KeptName(space, part), descriptor));
        keeper.ifPresent(one -> one.hold(named));
    }

    /** The descriptors of guests that an earlier process has left, by space and part; the caller's. */
    NavigableMap<Long, NavigableMap<Integer, Integer>> takeLeft() {
        NavigableMap<Long, NavigableMap<Integer, Integer>> left = new TreeMap<>();
        keeper.ifPresent(one -> one.takeLeft()
                .forEach((name, descriptor) ->
                        left.computeIfAbsent(name.group(), _ -> new TreeMap<>()).put(name.part(), descriptor)));
        return left;
    }
}
