package io.farpage.agent.data.coherence;

import io.farpage.agent.data.coherence.DirectoryExtents.Extent;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.agent.data.shard.MessageListener;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The directories and members of this node, and the channels over which they exchange messages with those of others.
 * All of them are on one shard, whose thread alone uses them; what may be called from any thread says so.
 */
public final class CoherentSpaces implements CoherentHome, CoherentMembers, MessageListener, DutyCycle {
    /** The shard that this node's directories and members are on. Any thread. */
    public interface Home {
        /** Runs a task on the shard's thread. */
        void run(Runnable task);

        /** Adds this to what the shard runs. */
        void add(DutyCycle cycle);

        /** Has messages exchanged with another node. */
        void open(String peer);
    }

    private final String node;
    private final long incarnation;
    private final MemorySegment exported;
    private final Home shard;
    private final LongSupplier clock;

    private final Map<Long, Hosted> directories = new HashMap<>();
    private final Map<Long, SecondHome> seconds = new HashMap<>();
    private final Map<Long, Member> members = new HashMap<>();
    private final List<MessageChannel> channels = new ArrayList<>();
    private final Set<String> opened = ConcurrentHashMap.newKeySet();
    /** From this node's members to its directories; null before it is needed. */
    private @Nullable Loopback loopback;

    private boolean added;
    /**
     * Whether the extents that this node serves were applied once. What an earlier process of this node has served is
     * among those: the members of any other space can have no pages before this process has a directory of it.
     */
    private boolean applied;

    /** By space: the extents whose first home this node is, and that had no members when that was applied last. */
    private Map<Long, Set<HostedExtent.Place>> idle = Map.of();

    private long lastSession;

    /** A directory, and what it was made for. */
    private record Hosted(Directory directory, Set<HostedExtent.Place> places) {}

    /**
     * @param node id of this node
     * @param incarnation of this node
     * @param exported frames of the pool
     * @param clock monotonic nanoseconds
     */
    public CoherentSpaces(String node, long incarnation, MemorySegment exported, Home shard, LongSupplier clock) {
        this.node = node;
        this.incarnation = incarnation;
        this.exported = exported;
        this.shard = shard;
        this.clock = clock;
    }

    @Override
    public CompletableFuture<Void> host(Collection<HostedExtent> all) {
        CompletableFuture<Void> applied = new CompletableFuture<>();
        Map<Long, List<HostedExtent>> spaces = all.stream().collect(Collectors.groupingBy(HostedExtent::space));
        all.stream()
                .filter(extent -> !extent.members().isEmpty())
                .flatMap(extent -> extent.second().stream())
                .forEach(this::open);
        shard.run(() -> {
            try {
                apply(spaces);
                applied.complete(null);
            } catch (RuntimeException | OutOfMemoryError e) {
                applied.completeExceptionally(e);
            }
        });
        return applied;
    }

    /** The directories of this node. Any thread. */
    public CompletableFuture<List<DirectoryStatus>> status() {
        CompletableFuture<List<DirectoryStatus>> status = new CompletableFuture<>();
        shard.run(() -> status.complete(directories.values().stream()
                .map(hosted -> hosted.directory().status())
                .sorted(Comparator.comparingLong(DirectoryStatus::space))
                .toList()));
        return status;
    }

    private void apply(Map<Long, List<HostedExtent>> spaces) {
        Map<Long, List<HostedExtent>> first =
                used(spaces, extent -> extent.directory().isEmpty());
        Map<Long, List<HostedExtent>> second =
                used(spaces, extent -> extent.directory().isPresent());
        // Without members all newest versions are in the frames.
        directories.keySet().retainAll(first.keySet());
        seconds.keySet().retainAll(second.keySet());
        second.forEach(this::follow);
        first.forEach(this::serve);
        idle = spaces.values().stream()
                .flatMap(List::stream)
                .filter(extent ->
                        extent.members().isEmpty() && extent.directory().isEmpty())
                .collect(Collectors.groupingBy(
                        HostedExtent::space, Collectors.mapping(HostedExtent::place, Collectors.toSet())));
        applied = true;
    }

    /** The extents of spaces with members. */
    private static Map<Long, List<HostedExtent>> used(
            Map<Long, List<HostedExtent>> spaces, Predicate<HostedExtent> which) {
        return spaces.values().stream()
                .flatMap(List::stream)
                .filter(extent -> !extent.members().isEmpty() && which.test(extent))
                .sorted(Comparator.comparingLong(HostedExtent::firstPage))
                .collect(Collectors.groupingBy(HostedExtent::space));
    }

    /** This node is the second home of extents. */
    private void follow(long space, List<HostedExtent> extents) {
        start();
        seconds.computeIfAbsent(space, id -> new SecondHome(id, exported, this::nextSession))
                .set(extents, channels);
    }

    private long nextSession() {
        return ++lastSession;
    }

    private void serve(long space, List<HostedExtent> extents) {
        HostedExtent first = extents.getFirst();
        Set<HostedExtent.Place> places =
                extents.stream().map(HostedExtent::place).collect(Collectors.toSet());
        Hosted known = directories.get(space);
        boolean isOther = known == null || !known.places().equals(places);
        boolean mayHavePages = isOther && (known != null || !applied || isSuccessor(space, extents));
        Hosted hosted = known != null && !isOther
                ? known
                : new Hosted(
                        new Directory(space, frames(extents), first.torn() && mayHavePages, this::nextSession), places);
        directories.put(space, hosted);
        start();
        List<Optional<String>> others =
                extents.stream().map(HostedExtent::second).toList();
        hosted.directory().setSecondHomes(others, channels);
        hosted.directory().setMembers(first.members(), first.torn(), mayHavePages, homeChannels());
    }

    /** Whether another node may have had the directory of extents while the space had members. */
    private boolean isSuccessor(long space, List<HostedExtent> extents) {
        Set<HostedExtent.Place> unused = idle.getOrDefault(space, Set.of());
        return extents.stream().anyMatch(extent -> extent.isMoved() && !unused.contains(extent.place()));
    }

    private List<Extent> frames(List<HostedExtent> extents) {
        return extents.stream()
                .map(extent -> new Extent(
                        extent.firstPage(),
                        exported.asSlice(extent.offset(), (long) extent.pages() * CoherentMessage.PAGE_BYTES)))
                .toList();
    }

    private void start() {
        if (!added) {
            added = true;
            shard.add(this);
        }
    }

    /** Has messages exchanged with a node. Any thread. */
    private void open(String peer) {
        if (!opened.add(peer)) {
            return;
        }
        if (peer.equals(node)) {
            shard.run(this::openLoopback);
        } else {
            shard.open(peer);
        }
    }

    private void openLoopback() {
        Loopback own = Loopback.pair(node, incarnation);
        loopback = own;
        directories.values().forEach(hosted -> hosted.directory().onOpened(own.other()));
        members.values().forEach(member -> member.onOpened(own));
    }

    /** The channels of directories to members. */
    private List<MessageChannel> homeChannels() {
        return with(loopback == null ? null : loopback.other());
    }

    /** The channels of members to directories. */
    private List<MessageChannel> memberChannels() {
        return with(loopback);
    }

    private List<MessageChannel> with(@Nullable MessageChannel own) {
        List<MessageChannel> all = new ArrayList<>(channels);
        if (own != null) {
            all.add(own);
        }
        return all;
    }

    @Override
    public CoherentMember make(
            MemberGuest guest, Supplier<SpaceMap> map, PagerOptions options, Consumer<PagerEnd> ended) {
        SpaceMap now = map.get();
        for (int i = 0; i < now.extents(); i++) {
            // Others do not become homes while the space has members.
            for (int copy = 0; copy < now.copies(i); copy++) {
                open(now.node(i, copy));
            }
        }
        Member member = new Member(guest, map, options, clock, new Connecting(), ended);
        shard.run(() -> {
            start();
            members.put(guest.space(), member);
        });
        return member;
    }

    /** What a member asks of its node. */
    private final class Connecting implements Member.Node {
        @Override
        public List<MessageChannel> channels() {
            return memberChannels();
        }

        @Override
        public void closed(Member member) {
            shard.run(() -> members.remove(member.space(), member));
        }
    }

    @Override
    public void onOpened(MessageChannel channel) {
        channels.add(channel);
        directories.values().forEach(hosted -> hosted.directory().onOpened(channel));
        members.values().forEach(member -> member.onOpened(channel));
    }

    @Override
    public void onClosed(MessageChannel channel) {
        channels.remove(channel);
        directories.values().forEach(hosted -> hosted.directory().onClosed(channel));
        seconds.values().forEach(second -> second.onClosed(channel));
        members.values().forEach(member -> member.onClosed(channel));
    }

    @Override
    public void onMessage(MessageChannel channel, MemorySegment message) {
        MessageKind kind = CoherentMessage.kind(message);
        if (kind == null) {
            throw new IllegalArgumentException("a message of no kind of coherent spaces");
        }
        long space = CoherentMessage.space(message);
        switch (kind.receiver()) {
            case DIRECTORY -> {
                Hosted hosted = directories.get(space);
                if (hosted != null) {
                    hosted.directory().onMessage(channel, message);
                }
            }
            case MEMBER -> {
                Member member = members.get(space);
                if (member != null) {
                    member.onMessage(channel, message);
                }
            }
            case SECOND_HOME -> {
                SecondHome second = seconds.get(space);
                if (second != null) {
                    second.onMessage(channel, message);
                }
            }
        }
    }

    @Override
    public int doUrgentWork() {
        int work = 0;
        for (Hosted hosted : directories.values()) {
            work += hosted.directory().send();
        }
        for (SecondHome second : seconds.values()) {
            work += second.send();
        }
        Loopback own = loopback;
        if (own != null) {
            work += deliver(own, own.other()) + deliver(own.other(), own);
        }
        return work;
    }

    /** Gives what was sent over one side to the listener of the other. */
    private int deliver(Loopback from, Loopback to) {
        int work = 0;
        while (from.hasMessages()) {
            onMessage(to, from.first());
            from.delivered();
            work++;
        }
        return work;
    }

    @Override
    public int doWork() {
        return doUrgentWork();
    }

    /** Each message stands for itself: the shard goes on with the next. */
    @Override
    public boolean failed(Throwable cause) {
        return true;
    }

    /** What it does next is brought by a message, a member, or a command. */
    @Override
    public boolean isQuiescent() {
        return loopback == null;
    }
}
