package io.farpage.agent.control.keeper;

import io.farpage.it.simulation.engine.Keepers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** In place of the class of the same name: a keeper of the simulation. */
final class KeeperConnection implements AutoCloseable {
    private final Keepers.Keeper keeper;

    private KeeperConnection(Keepers.Keeper keeper) {
        this.keeper = keeper;
    }

    static KeeperConnection open(Path path) {
        return new KeeperConnection(Keepers.at(path));
    }

    Optional<Integer> claim() throws IOException {
        return keeper.claim();
    }

    Optional<Integer> claim(long format) throws IOException {
        return keeper.claim();
    }

    KeeperState look() {
        return new KeeperState(1, 0);
    }

    void keep(int descriptor) {
        keeper.keep(descriptor);
    }

    void drop() {
        keeper.drop();
    }

    boolean hold(KeptName name, int descriptor) {
        keeper.hold(name.value(), descriptor);
        return true;
    }

    void release(long group) {
        keeper.release(new KeptName(group, 0).value(), new KeptName(group, 255).value());
    }

    NavigableMap<KeptName, Integer> held() {
        NavigableMap<KeptName, Integer> all = new TreeMap<>();
        keeper.held().forEach((name, descriptor) -> all.put(KeptName.of(name), descriptor));
        return all;
    }

    boolean isBroken() {
        return false;
    }

    @Override
    public void close() {}
}
