package io.farpage.agent.doctor;

import static io.farpage.agent.doctor.Line.check;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.linux.crypto.LibCrypto;

/** What an agent needs to run guests of encrypted spaces. */
final class SealChecks {
    private SealChecks() {}

    /** An agent without keys runs no guest of an encrypted space, so it can do without the library. */
    static Line libcrypto(Host host) {
        Line.Check check = check("seal.libcrypto", "libcrypto");
        boolean needed = AgentOptions.sealDirectory(host.config()).isPresent();
        return switch (LibCrypto.load(host.config().get(AgentKeys.SEAL_LIBRARY))) {
            case LibCrypto.Loading.Loaded(LibCrypto library) -> check.ok(library.version() + " can seal pages");
            case LibCrypto.Loading.Failed failed
            when needed ->
                check.fail(failed.detail() + ": guests of encrypted spaces are refused", "apt-get install -y libssl3");
            case LibCrypto.Loading.Failed failed ->
                check.ok(failed.detail() + "; not needed: neither seal.keys nor seal.key_command is set");
        };
    }
}
