package io.farpage.verbs;

/** What a port's packets travel on: {@code IBV_LINK_LAYER_*}, and TCP for the soft provider. */
public enum LinkLayer {
    UNSPECIFIED,
    INFINIBAND,
    /** RoCE. */
    ETHERNET,
    /** The soft provider. */
    TCP
}
