package io.farpage.agent.control.guest;

import io.farpage.linux.UnixSockets;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The process at the other end of a handoff, as it was when it connected.
 *
 * @param pid its id
 * @param user its effective user id
 * @param group its effective group id
 * @param executable what it runs; empty if the agent may not see it
 */
public record HandoffPeer(int pid, int user, int group, String executable) {

    static HandoffPeer of(UnixSockets.Credentials peer) {
        return new HandoffPeer(peer.pid(), peer.user(), peer.group(), executable(peer.pid()));
    }

    private static String executable(int pid) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/" + pid + "/exe")).toString();
        } catch (IOException e) {
            // The process has ended, or is another user's and the agent is not root.
            return "";
        }
    }
}
