/**
 * The audit: one line of JSON for each administrative act, link, handoff and refused attempt.
 * {@link io.farpage.audit.Audit} takes events on any thread and writes them on a thread of its own;
 * {@link io.farpage.audit.AuditFile} rotates. Repeated refusals are counted instead of written.
 */
@NullMarked
package io.farpage.audit;

import org.jspecify.annotations.NullMarked;
