package io.farpage.tls;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Refuses to serve other hosts without authentication, unless the configuration says {@code insecure}. */
public final class Exposure {

    private static final Logger LOG = LoggerFactory.getLogger(Exposure.class);

    private Exposure() {}

    /**
     * An address that the configuration makes others reach, or be reached at, without TLS.
     *
     * @param key that has it, such as {@code server.listen}
     * @param value of the key
     * @param host in the value
     */
    public record Address(String key, String value, String host) {}

    /**
     * Checks addresses of a service without TLS.
     *
     * @throws ConfigException for all that are not on loopback, unless {@code insecure} is set; then one warning is
     *     logged
     */
    public static void check(Config config, List<Address> addresses) {
        List<Address> exposed = addresses.stream()
                .filter(address -> !isLoopback(address.host()))
                .toList();
        if (exposed.isEmpty()) {
            return;
        }
        if (!config.get(TlsKeys.INSECURE)) {
            throw new ConfigException(exposed.stream()
                    .map(address ->
                            ("%s: '%s' is not a loopback address, and there is no authentication without TLS; set"
                                            + " tls.certificate, tls.key and tls.ca ('coordinator certs init' makes"
                                            + " them), or insecure: true to let all that reach it do everything")
                                    .formatted(address.key(), address.value()))
                    .toList());
        }
        exposed.forEach(address -> LOG.warn(
                "insecure: {} {} is served without TLS and authentication: all that reach it can read and change all"
                        + " memory of the cluster",
                address.key(),
                address.value()));
    }

    /** Whether a host is this machine's loopback. A name that does not resolve is not. */
    public static boolean isLoopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}
