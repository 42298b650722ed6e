package io.farpage.verbs.soft;

import io.farpage.verbs.QpOptions;

/** What a queue pair is created with ({@code struct ibv_qp_init_attr}), and its number. */
record QpInit(SoftProtectionDomain domain, QpQueues queues, QpOptions options, int qpn) {
    SoftDevice device() {
        return domain.device();
    }

    @Override
    public String toString() {
        return "qp 0x%06x of %s".formatted(qpn, device().name());
    }
}
