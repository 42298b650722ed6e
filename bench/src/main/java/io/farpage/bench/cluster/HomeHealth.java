package io.farpage.bench.cluster;

import io.farpage.guest.command.CommandException;
import io.farpage.rest.Health;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Asks a home's REST API how it is. */
public final class HomeHealth {
    private static final int TIMEOUT_MILLIS = 60_000;

    private HomeHealth() {}

    /** What the pool of the agent at a port of this host is made of, in lower case. */
    public static String backing(int port) {
        URI address = URI.create("http://127.0.0.1:" + port + "/health");
        try {
            HttpURLConnection connection = (HttpURLConnection) address.toURL().openConnection();
            connection.setConnectTimeout(TIMEOUT_MILLIS);
            connection.setReadTimeout(TIMEOUT_MILLIS);
            try (InputStream body = connection.getInputStream()) {
                Health health = new JsonMapper().readValue(body, Health.class);
                return health.details()
                        .getOrDefault("pool", "unknown")
                        .toLowerCase(java.util.Locale.ROOT)
                        .replace('_', '-');
            }
        } catch (IOException | JacksonException e) {
            throw new CommandException("the home does not say how it is at " + address + ": " + e.getMessage(), e);
        }
    }
}
