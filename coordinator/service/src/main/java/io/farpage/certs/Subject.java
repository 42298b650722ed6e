package io.farpage.certs;

import io.farpage.access.CertificateIdentity;
import io.farpage.access.Role;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * What a certificate says of its holder.
 *
 * @param name the CN
 * @param uri the identity, see {@link CertificateIdentity}
 * @param hosts names and IP addresses under which it is reached, without those of loopback
 */
public record Subject(String name, String uri, List<String> hosts) {

    private static final int DNS_NAME = 2;
    private static final int IP_ADDRESS = 7;
    /** As the JDK writes them. */
    private static final List<String> LOOPBACK = List.of("localhost", "127.0.0.1", "0:0:0:0:0:0:0:1");

    /** Copies the hosts and checks the name. */
    public Subject {
        hosts = List.copyOf(hosts);
        if (!name.matches("[A-Za-z0-9][A-Za-z0-9 ._@-]{0,62}")) {
            throw new IllegalArgumentException(
                    "'" + name + "' is not a name for a certificate: 1 to 63 letters, digits, spaces and . _ @ -");
        }
        for (String host : hosts) {
            if (!host.matches("[A-Za-z0-9:._-]{1,253}")) {
                throw new IllegalArgumentException("'" + host + "' is neither a host name nor an IP address");
            }
        }
    }

    /** A node. */
    public static Subject node(String id, List<String> hosts) {
        return new Subject(id, CertificateIdentity.ofNode(id), hosts);
    }

    /** The coordinator. */
    public static Subject coordinator(List<String> hosts) {
        return new Subject("coordinator", CertificateIdentity.COORDINATOR, hosts);
    }

    /** A person or a program. */
    public static Subject role(String name, Role role) {
        return new Subject(name, CertificateIdentity.ofRole(role), List.of());
    }

    /**
     * What a certificate says, to issue one that follows it.
     *
     * @throws IllegalArgumentException if it has no identity
     */
    public static Subject of(X509Certificate certificate) {
        return new Subject(
                CertificateIdentity.commonName(certificate).orElse(""),
                CertificateIdentity.uri(certificate),
                hosts(certificate));
    }

    private static List<String> hosts(X509Certificate certificate) {
        try {
            return Optional.ofNullable(certificate.getSubjectAlternativeNames()).stream()
                    .flatMap(Collection::stream)
                    .filter(name -> name.get(0).equals(DNS_NAME) || name.get(0).equals(IP_ADDRESS))
                    .map(name -> String.valueOf(name.get(1)))
                    .filter(host -> !LOOPBACK.contains(host))
                    .toList();
        } catch (CertificateParsingException e) {
            throw new IllegalArgumentException("the certificate's names cannot be read", e);
        }
    }

    /** Whether it serves, so that its certificate names hosts. */
    boolean isServer() {
        return !uri.startsWith(CertificateIdentity.SCHEME + "role/");
    }
}
