package io.farpage.agent.control.device;

/** A kind of link, by the name that it has in the coordinator's REST API. Better ones first. */
public enum Transport {
    RDMA("rdma"),
    TCP("tcp");

    private final String word;

    Transport(String word) {
        this.word = word;
    }

    /** The name in endpoints. */
    public String word() {
        return word;
    }
}
