package io.farpage.it.harness;

/** What can happen to several coordinators and the etcd cluster that they share. */
public enum Trouble {
    /** The coordinator that leads is killed, and started again afterwards. */
    KILL_LEADER,
    /** The coordinator that leads is stopped with all that it has in memory, and goes on afterwards. */
    STOP_LEADER,
    KILL_FOLLOWER,
    STOP_FOLLOWER,
    /** The member of etcd that leads there. */
    KILL_ETCD_LEADER,
    STOP_ETCD_LEADER,
    KILL_ETCD_FOLLOWER,
    STOP_ETCD_FOLLOWER,
    /** The coordinator that leads reaches no member of etcd. */
    CUT_LEADER_FROM_ETCD,
    /** Agents and clients do not reach the coordinator that leads. It keeps the lead. */
    CUT_LEADER_FROM_AGENTS,
    /** A member of etcd reaches no other member; coordinators reach it. */
    CUT_ETCD_FOLLOWER,
    CUT_ETCD_LEADER,
    /** The member of etcd that leads there reaches neither members nor coordinators. */
    ISOLATE_ETCD_LEADER;

    /** Whether it is a partition of the network. */
    public boolean isPartition() {
        return ordinal() >= CUT_LEADER_FROM_ETCD.ordinal();
    }

    /** Whether agents and clients may be without a leader that they reach until it ends. */
    public boolean hidesTheLeader() {
        return this == CUT_LEADER_FROM_AGENTS;
    }
}
