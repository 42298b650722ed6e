package io.farpage.agent.control.guest;

import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.data.pager.page.WorkingSet;
import java.util.Optional;

/**
 * What earlier guests have left of a space.
 *
 * @param written whether the space may hold data
 * @param workingSet pages to prefetch
 * @param seal of an encrypted space; empty if the homes may read the pages
 */
record SpacePast(boolean written, WorkingSet workingSet, Optional<SpaceSeal> seal) {}
