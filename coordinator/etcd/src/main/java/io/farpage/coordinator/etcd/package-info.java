/**
 * The coordinator's state in an etcd cluster that several coordinators share, and the election of the one that leads.
 * Every transaction compares the leader's key, so a coordinator that was succeeded can write nothing.
 */
@org.jspecify.annotations.NullMarked
package io.farpage.coordinator.etcd;
