/**
 * Making an empty or older coordinator whole from what agents know: agents report, the reports are merged, and the
 * result is written to the store in one commit. Nothing else is served until then.
 */
@NullMarked
package io.farpage.coordinator.rebuild;

import org.jspecify.annotations.NullMarked;
