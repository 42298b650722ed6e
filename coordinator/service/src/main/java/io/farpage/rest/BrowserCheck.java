package io.farpage.rest;

import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests that a browser sends on behalf of a web page of another origin. A change with an {@code Origin} (RFC
 * 6454) that is not the service's own, or with {@code Sec-Fetch-Site} that says so, is a forged request. A {@code Host}
 * that does not name this service means that the page's own name resolves to this address (DNS rebinding). With TLS,
 * the certificate's names exclude that already.
 */
final class BrowserCheck {

    private static final Pattern ADDRESS = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}|\\[[0-9a-fA-F:.]+(%[^\\]]*)?\\]");
    private static final Set<HandlerType> READS = Set.of(HandlerType.GET, HandlerType.HEAD, HandlerType.OPTIONS);

    /** Not from the resolver, which may wait for a name server. Source: proc(5). */
    private static final Path HOST_NAME = Path.of("/proc/sys/kernel/hostname");

    private final boolean checkHost;
    private final Set<String> names;

    private BrowserCheck(boolean checkHost, Set<String> names) {
        this.checkHost = checkHost;
        this.names = Set.copyOf(names);
    }

    static BrowserCheck secure() {
        return new BrowserCheck(false, Set.of());
    }

    static BrowserCheck plain(List<String> names) {
        Set<String> all = new HashSet<>(Set.of("localhost"));
        names.forEach(name -> all.add(name.toLowerCase(Locale.ROOT)));
        try {
            all.add(Files.readString(HOST_NAME).strip().toLowerCase(Locale.ROOT));
        } catch (IOException e) {
            // Without /proc the host is reached by address, or by the names that are configured.
        }
        return new BrowserCheck(true, all);
    }

    /**
     * Looks at one request.
     *
     * @throws ProblemException 403 if it must not be carried out
     */
    void check(Context ctx) {
        if (checkHost) {
            checkHost(ctx);
        }
        if (READS.contains(ctx.method())) {
            return;
        }
        @Nullable String origin = ctx.header("Origin");
        if (origin != null && !origin.equalsIgnoreCase(ctx.scheme() + "://" + ctx.header("Host"))) {
            throw crossOrigin("a web page of origin '%s' may not change anything at '%s'"
                    .formatted(origin, String.valueOf(ctx.header("Host"))));
        }
        @Nullable String site = ctx.header("Sec-Fetch-Site");
        if (site != null && !site.equals("same-origin") && !site.equals("none")) {
            throw crossOrigin(
                    "a web page of another site may not change anything (Sec-Fetch-Site: %s)".formatted(site));
        }
    }

    private void checkHost(Context ctx) {
        @Nullable String host = ctx.header("Host");
        if (host == null || host.isEmpty()) {
            return; // HTTP/1.0: no browser
        }
        String name = host.replaceFirst(":\\d*$", "").toLowerCase(Locale.ROOT);
        if (!ADDRESS.matcher(name).matches() && !names.contains(name)) {
            throw new ProblemException(
                    403,
                    "foreign-host",
                    ("Host '%s' is not a name of this service; use its address, or list the name in the configuration"
                                    + " key that ends in .names")
                            .formatted(host));
        }
    }

    private static ProblemException crossOrigin(String detail) {
        return new ProblemException(403, "cross-origin", detail);
    }
}
