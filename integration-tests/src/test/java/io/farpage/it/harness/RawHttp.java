package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/** Requests exactly as written, such as no client would send them. */
public final class RawHttp {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private RawHttp() {}

    /** A request with a path and a method that are left as they are. */
    public static Answer send(Rest rest, String method, String path, String body) {
        return exchange(
                rest,
                ("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                + "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")
                        .formatted(method, path, body.length(), body));
    }

    /** Sends text as Latin-1, and reads the answer, which may be missing: then its status is 0. */
    public static Answer exchange(Rest rest, String request) {
        try (Socket socket = new Socket(rest.base().getHost(), rest.base().getPort())) {
            socket.setSoTimeout((int) Deadlines.of(TIMEOUT).toMillis());
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            socket.shutdownOutput();
            return parse(readAll(socket.getInputStream()));
        } catch (IOException e) {
            throw new UncheckedIOException(request.lines().findFirst().orElse(""), e);
        }
    }

    /** All that comes before the end, or before the connection is reset. */
    private static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        try {
            for (int n = in.read(part); n >= 0; n = in.read(part)) {
                all.write(part, 0, n);
            }
        } catch (java.net.SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            // Reset: what came before it counts.
        }
        return all.toByteArray();
    }

    private static Answer parse(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        int end = text.indexOf("\r\n\r\n");
        if (end < 0 || !text.startsWith("HTTP/1.")) {
            return new Answer(0, "", bytes);
        }
        String contentType = text.substring(0, end)
                .lines()
                .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("content-type:"))
                .map(line -> line.substring("content-type:".length()).strip())
                .findFirst()
                .orElse("");
        int status = Integer.parseInt(text.substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length()));
        return new Answer(status, contentType, Arrays.copyOfRange(bytes, end + 4, bytes.length));
    }
}
