package io.farpage.coordinator.model.operation;

import io.farpage.access.Access;
import io.farpage.access.Role;

/** The rights that operations of the coordinator have. */
final class Rights {

    static final Access ANYONE = Access.anyone();
    static final Access ADMIN = Access.role(Role.ADMIN);
    static final Access OPERATOR = Access.role(Role.OPERATOR);
    static final Access VIEWER = Access.role(Role.VIEWER);

    /** What names no key and no rkey. */
    static final Access READ = VIEWER.or(Access.anyNode());

    /** What a node says of itself. */
    static final Access SELF = Access.nodeInPath("id");

    /** What an attached node says of itself. */
    static final Access ATTACHED_NODE = Access.nodeInPath("node");

    private Rights() {}
}
