package io.farpage.agent.control.seal;

import io.farpage.agent.control.seal.SpaceSeal.SealPlace;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.Space;
import io.farpage.linux.crypto.LibCrypto;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens encrypted spaces for guests of this agent. Thread-safe. */
public final class Seals {
    private static final Logger log = LoggerFactory.getLogger(Seals.class);

    private final Options options;
    private final Optional<KeySource> source;
    /** Loaded only where there are keys. */
    private final Optional<LibCrypto.Loading> library;

    /**
     * The configuration.
     *
     * @param directory where tags and versions are kept between two attachments
     * @param keys a directory of key files
     * @param command a program that prints keys, instead; empty for none
     * @param deadline of the program
     * @param library libcrypto; the system's if empty
     * @param require whether guests get encrypted spaces only
     */
    public record Options(
            Path directory,
            Optional<Path> keys,
            List<String> command,
            Duration deadline,
            Optional<Path> library,
            boolean require) {

        /** No keys, so no encrypted spaces. */
        public static Options none(Path directory) {
            return new Options(directory, Optional.empty(), List.of(), Duration.ofSeconds(10), Optional.empty(), false);
        }

        /** Checks that keys have one source at most. */
        public Options {
            command = List.copyOf(command);
            if (keys.isPresent() && !command.isEmpty()) {
                throw new IllegalArgumentException(
                        "seal.keys and seal.key_command: keys have one source; remove one of the two");
            }
        }
    }

    /**
     * How far an attachment trusts what was left.
     *
     * @param force to take tags that the coordinator does not know as the latest: pages may be those of an earlier
     *     moment
     * @param reset to begin with zeros and drop the earlier tags
     */
    public record Trust(boolean force, boolean reset) {}

    public Seals(Options options) {
        this.options = options;
        if (!options.command().isEmpty()) {
            source = Optional.of(new KeyCommand(options.command(), options.deadline()));
        } else {
            source = options.keys().map(KeyFiles::new);
        }
        library = source.map(keys -> LibCrypto.load(options.library()));
    }

    /**
     * The id of the key that a new encrypted space gets.
     *
     * @param wanted the id of a key, which must be at hand; the key for new spaces if empty
     */
    public String keyId(Optional<String> wanted) throws SealException {
        requireLibrary();
        try (SpaceKey key = wanted.isPresent() ? key(wanted.get()) : source().current()) {
            return key.id();
        }
    }

    private KeySource source() throws SealException {
        return source.orElseThrow(Seals::noKeys);
    }

    private static SealException noKeys() {
        return new SealException(
                "this agent has no keys: set seal.keys to a directory of key files, or seal.key_command to a program"
                        + " that prints keys");
    }

    private SpaceKey key(String id) throws SealException {
        SpaceKey key = source().byId(id);
        if (!key.id().equals(id)) {
            String other = key.id();
            key.close();
            throw new SealException(
                    "the key service was asked for key %s and gave %s; correct seal.key_command".formatted(id, other));
        }
        return key;
    }

    private LibCrypto requireLibrary() throws SealException {
        return switch (library.orElseThrow(Seals::noKeys)) {
            case LibCrypto.Loading.Loaded loaded -> loaded.library();
            case LibCrypto.Loading.Failed failed ->
                throw new SealException("pages cannot be sealed: %s".formatted(failed));
        };
    }

    /**
     * Opens a space that this agent has attached exclusively.
     *
     * @return empty if the space is not encrypted
     * @throws SealException if it is encrypted and cannot be opened, or is not and must be
     */
    public Optional<SpaceSeal> open(Space space, Trust trust) throws SealException {
        SealPlace place = place(space.id(), space.pageSize());
        if (space.encryption().isEmpty()) {
            checkPlain(space, place, trust);
            return Optional.empty();
        }
        LibCrypto loaded = requireLibrary();
        Encryption encryption = space.encryption().get();
        makeDirectory();
        SpaceKey key = key(encryption.keyId());
        boolean done = false;
        try {
            SpaceSeal seal = new SpaceSeal(place, loaded, key, contents(space, encryption, place, trust, key));
            done = true;
            return Optional.of(seal);
        } finally {
            if (!done) {
                key.close();
            }
        }
    }

    /**
     * Opens a space whose guest an earlier process of this node has left.
     *
     * @param space id
     * @param keyId of its key
     * @param salts of the keys that its pages are sealed with, by generation
     * @param table tags and versions of its pages, as that process has left them
     * @throws SealException if the key is not available; the call may be repeated
     */
    public SpaceSeal adopt(long space, int pageBytes, String keyId, SortedMap<Integer, byte[]> salts, SealTable table)
            throws SealException {
        LibCrypto loaded = requireLibrary();
        makeDirectory();
        SpaceSeal seal = new SpaceSeal(
                place(space, pageBytes), loaded, key(keyId), new SealFile.Contents(table, new TreeMap<>(salts)));
        seal.forgetUnused();
        return seal;
    }

    private SealPlace place(long space, int pageBytes) {
        return new SealPlace(options.directory().resolve("space-" + space + ".seal"), space, pageBytes);
    }

    private void checkPlain(Space space, SealPlace place, Trust trust) throws SealException {
        if (options.require()) {
            throw new SealException(
                    "space '%s' (id %d) is not encrypted, and this agent serves encrypted spaces only (seal.require)"
                            .formatted(space.name(), space.id()));
        }
        if (trust.reset()) {
            throw new SealException(
                    "space '%s' (id %d) is not encrypted: there are no tags to reset; load an image of zeros into it"
                            .formatted(space.name(), space.id()));
        }
        if (Files.exists(place.file())) {
            throw new SealException(
                    ("the coordinator says that space '%s' (id %d) is not encrypted, but %s has tags of its pages; if"
                                    + " the space is another one, remove the file")
                            .formatted(space.name(), space.id(), place.file()));
        }
    }

    private void makeDirectory() throws SealException {
        Path directory = options.directory();
        try {
            if (!Files.isDirectory(directory)) {
                if (directory.toAbsolutePath().getParent() != null) {
                    Files.createDirectories(directory.toAbsolutePath().getParent());
                }
                Files.createDirectory(
                        directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
        } catch (IOException e) {
            throw new SealException("%s (seal.directory) cannot be made: %s".formatted(directory, e), e);
        }
        if (!Files.isWritable(directory)) {
            throw new SealException(
                    "%s (seal.directory) cannot be written to; tags of pages are kept there".formatted(directory));
        }
    }

    private SealFile.Contents contents(Space space, Encryption encryption, SealPlace place, Trust trust, SpaceKey key)
            throws SealException {
        Optional<Path> file = trust.reset() ? Optional.empty() : find(space, encryption, place, trust);
        if (file.isEmpty()) {
            return new SealFile.Contents(new SealTable(space.pages()), new TreeMap<>());
        }
        try {
            SealFile.Header expected = new SealFile.Header(space.id(), space.pages(), space.pageSize(), "");
            return SealFile.read(file.get(), expected, key);
        } catch (IOException e) {
            throw new SealException("%s cannot be read: %s".formatted(file.get(), e), e);
        }
    }

    /** The file with the tags; empty if no page is at its home. */
    private static Optional<Path> find(Space space, Encryption encryption, SealPlace place, Trust trust)
            throws SealException {
        Optional<Encryption.Sealed> sealed = encryption.sealed();
        if (Files.exists(place.file())) {
            check(space, sealed, place.file(), trust);
            return Optional.of(place.file());
        }
        if (sealed.isEmpty() && !Files.exists(place.aside())) {
            return Optional.empty();
        }
        if (trust.force() && Files.exists(place.aside())) {
            log.warn(
                    "space {} (id {}): takes the tags of before its last guest, by force; pages that it wrote home are"
                            + " lost",
                    space.name(),
                    space.id());
            return Optional.of(place.aside());
        }
        throw new SealException(missing(space, sealed, place));
    }

    private static String missing(Space space, Optional<Encryption.Sealed> sealed, SealPlace place) {
        if (Files.exists(place.aside())) {
            return ("space '%s' (id %d) was attached when this agent ended, and the tags of its pages are gone; %s has"
                            + " those of before: force takes the pages that were not written since, reset (--reset)"
                            + " begins with zeros")
                    .formatted(space.name(), space.id(), place.aside());
        }
        return ("space '%s' (id %d) is encrypted, and %s is missing, which has the tags of its pages: node '%s' wrote"
                        + " it when it detached; move it here from that node's seal.directory, or begin with zeros"
                        + " (--reset)")
                .formatted(
                        space.name(),
                        space.id(),
                        place.file(),
                        sealed.map(Encryption.Sealed::node).orElse("?"));
    }

    private static void check(Space space, Optional<Encryption.Sealed> sealed, Path file, Trust trust)
            throws SealException {
        String mark;
        try {
            mark = SealFile.header(file).mark();
        } catch (IOException e) {
            throw new SealException("%s cannot be read: %s".formatted(file, e), e);
        }
        if (sealed.map(Encryption.Sealed::mark).filter(mark::equals).isPresent()) {
            return;
        }
        String latest = sealed.map(
                        last -> "those that node '%s' left last have the mark %s".formatted(last.node(), last.mark()))
                .orElse("the coordinator knows of no guest that used it");
        String what = "space '%s' (id %d): %s has the tags of another attachment, with the mark %s; %s"
                .formatted(space.name(), space.id(), file, mark, latest);
        if (!trust.force()) {
            throw new SealException(what
                    + "; put the latest file there, or take it as it is with force, or begin with zeros (--reset)");
        }
        log.warn("{}; taken by force: its pages may be those of an earlier moment", what);
    }
}
