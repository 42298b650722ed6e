package io.farpage.coordinator.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * IPv6 addresses as text (RFC 4291 section 2.2, RFC 5952), without ever asking a name server as the JDK's classes may.
 */
final class Ipv6Text {

    private Ipv6Text() {}

    static Optional<byte[]> parse(String text) {
        String head = text;
        String tail = "";
        int gap = text.indexOf("::");
        if (gap >= 0) {
            head = text.substring(0, gap);
            tail = text.substring(gap + 2);
        }
        Optional<List<Integer>> front = groups(head, gap < 0);
        Optional<List<Integer>> back = groups(tail, true);
        if (front.isEmpty() || back.isEmpty()) {
            return Optional.empty();
        }
        int given = front.get().size() + back.get().size();
        if (gap < 0 ? given != 8 : given > 7) {
            return Optional.empty();
        }
        List<Integer> all = new ArrayList<>(front.get());
        while (all.size() + back.get().size() < 8) {
            all.add(0);
        }
        all.addAll(back.get());
        byte[] bytes = new byte[16];
        for (int i = 0; i < 8; i++) {
            bytes[2 * i] = (byte) (all.get(i) >> 8);
            bytes[2 * i + 1] = (byte) (int) all.get(i);
        }
        return Optional.of(bytes);
    }

    /** The 16-bit groups of one side of the gap; dotted IPv4 may stand at the very end only. */
    private static Optional<List<Integer>> groups(String text, boolean atEnd) {
        List<Integer> groups = new ArrayList<>();
        if (text.isEmpty()) {
            return Optional.of(groups);
        }
        String[] parts = text.split(":", -1);
        for (int i = 0; i < parts.length; i++) {
            if (parts[i].indexOf('.') >= 0 && atEnd && i == parts.length - 1) {
                if (!dotted(parts[i], groups)) {
                    return Optional.empty();
                }
            } else if (parts[i].matches("[0-9a-fA-F]{1,4}")) {
                groups.add(Integer.parseInt(parts[i], 16));
            } else {
                return Optional.empty();
            }
        }
        return Optional.of(groups);
    }

    private static boolean dotted(String text, List<Integer> groups) {
        String[] octets = text.split("\\.", -1);
        if (octets.length != 4) {
            return false;
        }
        int[] values = new int[4];
        for (int i = 0; i < 4; i++) {
            if (!octets[i].matches("0|[1-9][0-9]{0,2}")) {
                return false;
            }
            values[i] = Integer.parseInt(octets[i]);
            if (values[i] > 255) {
                return false;
            }
        }
        groups.add(values[0] << 8 | values[1]);
        groups.add(values[2] << 8 | values[3]);
        return true;
    }

    static String format(long high, long low) {
        if (high == 0 && (low >>> 32) == 0xffffL) {
            return "::ffff:%d.%d.%d.%d".formatted(low >>> 24 & 255, low >>> 16 & 255, low >>> 8 & 255, low & 255);
        }
        int[] groups = new int[8];
        for (int i = 0; i < 4; i++) {
            groups[i] = (int) (high >>> (48 - 16 * i) & 0xffff);
            groups[i + 4] = (int) (low >>> (48 - 16 * i) & 0xffff);
        }
        int start = -1;
        int length = 1; // a single zero group is not shortened (RFC 5952 section 4.2.2)
        for (int i = 0; i < 8; i++) {
            int run = 0;
            while (i + run < 8 && groups[i + run] == 0) {
                run++;
            }
            if (run > length) {
                start = i;
                length = run;
            }
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8; i++) {
            if (i == start) {
                text.append("::");
                i += length - 1;
            } else {
                if (!text.isEmpty() && text.charAt(text.length() - 1) != ':') {
                    text.append(':');
                }
                text.append(Integer.toHexString(groups[i]));
            }
        }
        return text.toString();
    }
}
