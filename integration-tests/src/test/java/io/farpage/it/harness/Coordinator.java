package io.farpage.it.harness;

import io.farpage.tls.Credentials;
import java.nio.file.Path;

/** A coordinator. It runs in this JVM or is a process of its own. */
public interface Coordinator extends AutoCloseable {
    /** Its REST interface; over TLS the coordinator's own certificate is shown, which is an admin's. */
    Rest rest();

    /** Where it keeps its state. */
    Path store();

    /** What a client of the test shows. */
    Credentials credentials();

    @Override
    void close();
}
