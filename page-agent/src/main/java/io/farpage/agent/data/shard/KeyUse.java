package io.farpage.agent.data.shard;

/**
 * What a key was granted for. A home revokes the keys of an attachment and those of a pull at different times, and only
 * the former permit WRITEs; so a transfer shows a key of its own kind, also where this node has both for the same
 * bytes.
 */
public enum KeyUse {
    /** The node is attached to the space. */
    ATTACHMENT,
    /** The node pulls an extent of the space. */
    PULL
}
