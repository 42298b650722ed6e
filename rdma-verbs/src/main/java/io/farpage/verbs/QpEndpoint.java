package io.farpage.verbs;

/**
 * What one side of a queue pair must know of the other to connect to it.
 *
 * <p>The soft provider keeps to the same four values: its GID is the IP address that it listens on and its LID the TCP
 * port.
 *
 * @param qpn queue pair number, 24 bits
 * @param lid local identifier of the port, 16 bits; 0 on RoCE
 * @param gid global identifier of the port
 * @param psn first packet sequence number that this side sends, 24 bits
 */
public record QpEndpoint(int qpn, int lid, Gid gid, int psn) {
    /** Largest value of a queue pair number and of a packet sequence number. */
    public static final int MAX_24_BIT = 0xFF_FFFF;

    public QpEndpoint {
        require24Bit("qpn", qpn);
        require24Bit("psn", psn);
        if (lid < 0 || lid > 0xFFFF) {
            throw new IllegalArgumentException("lid " + lid + " is not within 0..65535");
        }
    }

    private static void require24Bit(String name, int value) {
        if (value < 0 || value > MAX_24_BIT) {
            throw new IllegalArgumentException(name + " " + value + " is not within 0..16777215 (24 bits)");
        }
    }

    @Override
    public String toString() {
        return "qpn 0x%06x lid %d gid %s psn 0x%06x".formatted(qpn, lid, gid, psn);
    }
}
