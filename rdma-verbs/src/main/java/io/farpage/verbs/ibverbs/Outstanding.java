package io.farpage.verbs.ibverbs;

import io.farpage.verbs.QpState;

/** The work requests that are outstanding on a queue pair, and its state: what its completion queues change. */
final class Outstanding {
    private final String name;
    private final int qpn;
    private final WrRing sends;
    private final WrRing receives;
    /** The state as last known: the device moves the queue pair to ERR by itself. */
    private volatile QpState state = QpState.RESET;

    /** @param name of the queue pair, for messages */
    Outstanding(String name, int qpn, WrRing sends, WrRing receives) {
        this.name = name;
        this.qpn = qpn;
        this.sends = sends;
        this.receives = receives;
    }

    int qpn() {
        return qpn;
    }

    WrRing sends() {
        return sends;
    }

    WrRing receives() {
        return receives;
    }

    QpState state() {
        return state;
    }

    void setState(QpState next) {
        state = next;
    }

    /** A work request has failed, so the device has moved the queue pair to ERR. */
    void onFailure() {
        if (state != QpState.RESET) {
            state = QpState.ERR;
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
