package io.farpage.verbs.soft;

import io.farpage.verbs.QpOptions;

/**
 * What a queue pair is created with ({@code struct ibv_qp_init_attr}), and its number.
 *
 * @param port that peers connect to
 * @param regions that its requests and those of its peer may use
 */
record QpInit(SoftContext device, int port, Regions regions, QpQueues queues, QpOptions options, int qpn) {
    @Override
    public String toString() {
        return "qp 0x%06x of %s".formatted(qpn, device.name());
    }
}
