package io.farpage.it.simulation.engine;

import jakarta.servlet.ReadListener;
import jakarta.servlet.Servlet;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One request as a servlet sees it, and its answer. */
final class ServletExchange {
    private final HttpRequest request;
    private final byte[] requestBody;
    private final String client;
    private final Map<String, Object> attributes = new HashMap<>();
    private final Map<String, List<String>> requestHeaders = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayInputStream in;
    private int status = 200;

    ServletExchange(HttpRequest request, byte[] body, String client) {
        this.request = request;
        this.requestBody = body;
        this.client = client;
        in = new ByteArrayInputStream(body);
        requestHeaders.putAll(request.headers().map());
        requestHeaders.put("Host", List.of(request.uri().getAuthority()));
        if (body.length > 0) {
            requestHeaders.put("Content-Length", List.of(Integer.toString(body.length)));
        }
    }

    int status() {
        return status;
    }

    Map<String, List<String>> headers() {
        return new LinkedHashMap<>(headers);
    }

    byte[] body() {
        return out.toByteArray();
    }

    void run(Servlet servlet) {
        ClassLoader loader = HttpServletRequest.class.getClassLoader();
        HttpServletRequest asked = (HttpServletRequest) Proxy.newProxyInstance(
                loader,
                new Class<?>[] {HttpServletRequest.class},
                (_, method, arguments) -> request(method, arguments));
        HttpServletResponse answer = (HttpServletResponse) Proxy.newProxyInstance(
                loader,
                new Class<?>[] {HttpServletResponse.class},
                (_, method, arguments) -> answer(method, arguments));
        try {
            servlet.service(asked, answer);
        } catch (ServletException | IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("JdkObsolete") // the interface has a StringBuffer
    private Object request(Method method, Object[] arguments) {
        return switch (method.getName()) {
            case "getMethod" -> request.method();
            case "getRequestURI", "getServletPath" -> request.uri().getRawPath();
            case "getPathInfo" -> null;
            case "getContextPath" -> "";
            case "getQueryString" -> request.uri().getRawQuery();
            case "getRequestURL" ->
                new StringBuffer(
                        "http://" + request.uri().getAuthority() + request.uri().getRawPath());
            case "getScheme" -> "http";
            case "getProtocol" -> "HTTP/1.1";
            case "getServerName" -> request.uri().getHost();
            case "getServerPort" -> request.uri().getPort();
            case "getRemoteAddr", "getRemoteHost" -> client;
            case "getHeader" -> first((String) arguments[0]);
            case "getHeaders" -> Collections.enumeration(requestHeaders.getOrDefault((String) arguments[0], List.of()));
            case "getHeaderNames" -> Collections.enumeration(requestHeaders.keySet());
            case "getContentType" -> first("Content-Type");
            case "getContentLength" -> requestBody.length;
            case "getContentLengthLong" -> (long) requestBody.length;
            case "getCharacterEncoding" -> "UTF-8";
            case "getInputStream" -> new Input();
            case "getAttribute" -> attributes.get((String) arguments[0]);
            case "getAttributeNames" -> Collections.enumeration(attributes.keySet());
            case "setAttribute" -> {
                attributes.put((String) arguments[0], arguments[1]);
                yield null;
            }
            case "getParameterMap" -> Map.of();
            case "hashCode" -> 1;
            case "toString" -> request.toString();
            default -> nothing(method);
        };
    }

    private String first(String header) {
        return requestHeaders.getOrDefault(header, List.of()).stream()
                .findFirst()
                .orElse(null);
    }

    private Object answer(Method method, Object[] arguments) {
        return switch (method.getName()) {
            case "setStatus", "sendError" -> {
                status = (int) arguments[0];
                yield null;
            }
            case "getStatus" -> status;
            case "setHeader", "setIntHeader", "setDateHeader" -> {
                if (arguments[1] == null) {
                    headers.remove((String) arguments[0]);
                } else {
                    headers.put((String) arguments[0], List.of(String.valueOf(arguments[1])));
                }
                yield null;
            }
            case "addHeader", "addIntHeader" -> {
                headers.merge((String) arguments[0], List.of(String.valueOf(arguments[1])), (a, b) -> {
                    List<String> all = new java.util.ArrayList<>(a);
                    all.addAll(b);
                    return all;
                });
                yield null;
            }
            case "setContentType" -> {
                if (arguments[0] != null) {
                    headers.put("Content-Type", List.of((String) arguments[0]));
                }
                yield null;
            }
            case "getContentType" ->
                headers.getOrDefault("Content-Type", List.of()).stream()
                        .findFirst()
                        .orElse(null);
            case "getHeader" ->
                headers.getOrDefault((String) arguments[0], List.of()).stream()
                        .findFirst()
                        .orElse(null);
            case "getHeaders" -> headers.getOrDefault((String) arguments[0], List.of());
            case "getHeaderNames" -> headers.keySet();
            case "containsHeader" -> headers.containsKey((String) arguments[0]);
            case "getOutputStream" -> new Output();
            case "getWriter" -> new PrintWriter(out, true, StandardCharsets.UTF_8);
            case "getCharacterEncoding" -> "UTF-8";
            case "resetBuffer", "reset" -> {
                out.reset();
                yield null;
            }
            case "hashCode" -> 1;
            case "toString" -> "answer " + status;
            default -> nothing(method);
        };
    }

    private static Object nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type == boolean.class) {
            return false;
        }
        if (type == int.class) {
            return 0;
        }
        return type == long.class ? (Object) 0L : null;
    }

    private final class Input extends ServletInputStream {
        @Override
        public int read() {
            return in.read();
        }

        @Override
        public int read(byte[] into, int from, int length) {
            return in.read(into, from, length);
        }

        @Override
        public boolean isFinished() {
            return in.available() == 0;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setReadListener(ReadListener listener) {
            throw new UnsupportedOperationException("the body of a simulated request is read by blocking");
        }
    }

    private final class Output extends ServletOutputStream {
        @Override
        public void write(int b) {
            out.write(b);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            out.write(bytes, from, length);
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            throw new UnsupportedOperationException("the body of a simulated answer is written by blocking");
        }
    }
}
