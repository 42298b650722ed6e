package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.control.link.LinkEncryption;
import io.farpage.linux.crypto.LibSsl;

/** What an agent needs to encrypt links. */
final class LinkChecks {
    private LinkChecks() {}

    /** An agent without the library cannot link with a peer that requires encryption, but needs it for nothing else. */
    static Line libssl(Host host) {
        Line.Check check = check("link.libssl", "libssl");
        boolean needed = host.config().get(AgentKeys.LINK_ENCRYPTION) == LinkEncryption.REQUIRE;
        return switch (LibSsl.load(host.config().get(AgentKeys.LINK_SSL_LIBRARY))) {
            case LibSsl.Loading.Loaded(LibSsl library) ->
                check.ok(library.version() + " can encrypt links with " + LibSsl.CIPHER
                        + (needed ? ": RDMA is not used" : ", if a peer requires it"));
            case LibSsl.Loading.Failed failed
            when needed ->
                check.fail(
                        failed.detail() + ": the agent does not start, link.encryption is require",
                        "apt-get install -y libssl3");
            case LibSsl.Loading.Failed failed ->
                check.ok(failed.detail() + "; not needed unless a peer requires encryption");
        };
    }
}
