package io.farpage.bench.agents;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The HTTP clients of the pretended agents, each at a loopback address of its own: a coordinator lets one address have
 * half of its connections at most. An HTTP client has a thread that waits for all its connections; a thread for each
 * agent would take CPU time from the coordinator that is measured.
 */
final class Hosts {
    private static final int ADDRESSES = 4;

    private Hosts() {}

    static List<HttpClient> clients() {
        return IntStream.rangeClosed(1, ADDRESSES)
                .mapToObj(last -> HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .localAddress(address(last))
                        .executor(task -> Thread.ofVirtual().name("agents").start(task))
                        .build())
                .toList();
    }

    private static InetAddress address(int last) {
        try {
            return InetAddress.getByAddress(new byte[] {127, 0, 1, (byte) last});
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("four bytes are an IPv4 address", e);
        }
    }
}
