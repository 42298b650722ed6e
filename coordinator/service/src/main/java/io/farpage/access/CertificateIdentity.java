package io.farpage.access;

import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import org.jspecify.annotations.Nullable;

/**
 * The identity in a certificate: exactly one URI of scheme {@code farpage} among its subject alternative names (RFC
 * 5280, section 4.2.1.6). {@code farpage://node/ID} is a node, {@code farpage://coordinator} the coordinator,
 * {@code farpage://role/ROLE} a person or a program whose name is the CN. The certificate itself is taken as verified.
 */
public final class CertificateIdentity {

    /** What the URI of every identity begins with. */
    public static final String SCHEME = "farpage://";

    /** The URI of the coordinator. */
    public static final String COORDINATOR = SCHEME + "coordinator";

    private static final String NODE = SCHEME + "node/";
    private static final String ROLE = SCHEME + "role/";
    private static final Pattern NODE_ID = Pattern.compile("[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?");
    private static final int URI_NAME = 6;

    private CertificateIdentity() {}

    /** The URI of a node. */
    public static String ofNode(String id) {
        if (!NODE_ID.matcher(id).matches()) {
            throw new IllegalArgumentException("'" + id + "' is not a node id: 1 to 63 of a-z, 0-9, . and -");
        }
        return NODE + id;
    }

    /** The URI of a role. */
    public static String ofRole(Role role) {
        return ROLE + role.word();
    }

    /** The identity in a certificate; a {@link Identity.Stranger} with the reason, if it has none or several. */
    public static Identity of(X509Certificate certificate) {
        List<String> uris;
        try {
            uris = farpageUris(certificate);
        } catch (CertificateParsingException e) {
            return new Identity.Stranger(
                    "its certificate '%s' cannot be read: %s".formatted(subject(certificate), e.getMessage()));
        }
        if (uris.size() != 1) {
            return new Identity.Stranger("its certificate '%s' has %s of the form %snode/ID, %s or %srole/ROLE"
                    .formatted(
                            subject(certificate),
                            uris.isEmpty() ? "no URI" : uris.size() + " URIs",
                            SCHEME,
                            COORDINATOR,
                            SCHEME));
        }
        return parse(uris.getFirst(), certificate);
    }

    /**
     * The identity's URI.
     *
     * @throws IllegalArgumentException if there is not exactly one
     */
    public static String uri(X509Certificate certificate) {
        try {
            List<String> uris = farpageUris(certificate);
            if (uris.size() == 1) {
                return uris.getFirst();
            }
        } catch (CertificateParsingException e) {
            throw new IllegalArgumentException("certificate '%s' cannot be read".formatted(subject(certificate)), e);
        }
        throw new IllegalArgumentException("certificate '%s' has no identity".formatted(subject(certificate)));
    }

    private static Identity parse(String uri, X509Certificate certificate) {
        if (uri.equals(COORDINATOR)) {
            return new Identity.Coordinator();
        }
        if (uri.startsWith(NODE)
                && NODE_ID.matcher(uri.substring(NODE.length())).matches()) {
            return new Identity.Node(uri.substring(NODE.length()));
        }
        if (uri.startsWith(ROLE)) {
            try {
                Role role = Role.parse(uri.substring(ROLE.length()));
                return new Identity.Principal(commonName(certificate).orElse("unnamed"), role, "certificate");
            } catch (IllegalArgumentException e) {
                return new Identity.Stranger("its certificate: " + e.getMessage());
            }
        }
        return new Identity.Stranger("its certificate has the URI '%s', which is neither node, role nor coordinator"
                .formatted(uri.replaceAll("[^ -~]", "?")));
    }

    /** The URIs of scheme {@code farpage}. */
    private static List<String> farpageUris(X509Certificate certificate) throws CertificateParsingException {
        @Nullable Collection<List<?>> names = certificate.getSubjectAlternativeNames();
        if (names == null) {
            return List.of();
        }
        return names.stream()
                .filter(name -> name.get(0).equals(URI_NAME))
                .map(name -> String.valueOf(name.get(1)))
                .filter(uri -> uri.startsWith(SCHEME))
                .toList();
    }

    /** The CN of a certificate, as printable text. */
    public static Optional<String> commonName(X509Certificate certificate) {
        try {
            return new LdapName(certificate.getSubjectX500Principal().getName())
                    .getRdns().stream()
                            .filter(rdn -> rdn.getType().equalsIgnoreCase("CN"))
                            .map(Rdn::getValue)
                            .map(String::valueOf)
                            .map(name -> name.replaceAll("[^ -~]", "?"))
                            .findFirst();
        } catch (InvalidNameException e) {
            return Optional.empty();
        }
    }

    /** The subject of a certificate as one line of printable text. */
    public static String subject(X509Certificate certificate) {
        return certificate.getSubjectX500Principal().getName().replaceAll("[^ -~]", "?");
    }
}
