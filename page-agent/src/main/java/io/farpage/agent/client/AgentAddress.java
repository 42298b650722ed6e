package io.farpage.agent.client;

import io.farpage.agent.rest.SocketDirectory;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Where the REST API of an agent is. */
public sealed interface AgentAddress {

    /** What the address of a Unix socket begins with. */
    String UNIX = "unix:";

    /** What a node's id looks like. */
    String NODE = "[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?";

    /**
     * Over TCP.
     *
     * @param url http or https, without a path
     */
    record Tcp(URI url) implements AgentAddress {
        @Override
        public String toString() {
            return url.toString();
        }
    }

    /**
     * A Unix socket.
     *
     * @param path of it
     */
    record Unix(Path path) implements AgentAddress {
        @Override
        public String toString() {
            return UNIX + path;
        }
    }

    /**
     * Reads an address.
     *
     * @param text {@code unix:PATH}, {@code http(s)://HOST:PORT} or the id of a node on this host; null or empty: the
     *     only agent that listens in the directories of agents' sockets
     * @throws NoAgentException if it is none of these, or leads to no agent or to several
     */
    static AgentAddress of(@Nullable String text) {
        if (text == null || text.isEmpty()) {
            return only();
        }
        if (text.startsWith(UNIX)) {
            return new Unix(Path.of(text.substring(UNIX.length())));
        }
        if (text.startsWith("http://") || text.startsWith("https://")) {
            return tcp(text);
        }
        if (text.matches(NODE)) {
            return SocketDirectory.searched().stream()
                    .map(directory -> SocketDirectory.socket(directory, text))
                    .filter(Files::exists)
                    .findFirst()
                    .<AgentAddress>map(Unix::new)
                    .orElseThrow(() -> new NoAgentException(
                            ("no agent of node '%s' has its socket in %s; is it running? Otherwise give --agent"
                                            + " unix:PATH or http(s)://HOST:PORT")
                                    .formatted(text, directories())));
        }
        throw new NoAgentException(
                "--agent '%s' is not unix:PATH, http(s)://HOST:PORT or the id of a node on this host".formatted(text));
    }

    private static AgentAddress tcp(String text) {
        try {
            URI url = URI.create(text);
            if (url.getHost() != null) {
                return new Tcp(url);
            }
        } catch (IllegalArgumentException e) {
            // reported below
        }
        throw new NoAgentException("--agent '%s' is no URL such as http://127.0.0.1:7401".formatted(text));
    }

    private static AgentAddress only() {
        List<Path> live = new ArrayList<>();
        for (Path directory : SocketDirectory.searched()) {
            try (DirectoryStream<Path> sockets = Files.newDirectoryStream(directory, "*" + SocketDirectory.SUFFIX)) {
                sockets.forEach(path -> {
                    if (listens(path)) {
                        live.add(path);
                    }
                });
            } catch (IOException e) {
                // No agent has made the directory, or this user may not look into it.
            }
        }
        return switch (live.size()) {
            case 1 -> new Unix(live.getFirst());
            case 0 ->
                throw new NoAgentException(
                        ("no agent that this user may connect to has its socket in %s; is one running? Otherwise give"
                                        + " --agent unix:PATH or http(s)://HOST:PORT")
                                .formatted(directories()));
            default ->
                throw new NoAgentException("several agents run on this host; choose one with --agent: "
                        + live.stream()
                                .map(path -> path.getFileName().toString())
                                .map(name -> name.substring(0, name.length() - SocketDirectory.SUFFIX.length()))
                                .sorted()
                                .collect(Collectors.joining(", ")));
        };
    }

    private static boolean listens(Path path) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(path));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static String directories() {
        return SocketDirectory.searched().stream().map(Path::toString).collect(Collectors.joining(" or "));
    }
}
