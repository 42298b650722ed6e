package io.farpage.agent.data.shard;

/**
 * What a peer has granted to this node, as registered with one of the peer's devices. Immutable.
 *
 * @param attachments ranges of spaces that this node is attached to
 * @param pulls ranges of extents that this node pulls
 */
public record DeviceGrants(GrantedRanges attachments, GrantedRanges pulls) {
    /** The grants of a peer that has granted nothing. */
    public static final DeviceGrants NOTHING = new DeviceGrants(GrantedRanges.NOTHING, GrantedRanges.NOTHING);

    GrantedRanges of(KeyUse use) {
        return use == KeyUse.PULL ? pulls : attachments;
    }

    int count() {
        return attachments.count() + pulls.count();
    }

    /** The same without a range. Allocates. */
    DeviceGrants without(KeyUse use, int range) {
        return use == KeyUse.PULL
                ? new DeviceGrants(attachments, pulls.without(range))
                : new DeviceGrants(attachments.without(range), pulls);
    }
}
