/**
 * Where each page of a guest is: its state in a {@link io.farpage.agent.data.pager.page.PageTable}, and its address in
 * a {@link io.farpage.agent.data.pager.page.GuestLayout}. Uses no other part of the pager.
 */
@NullMarked
package io.farpage.agent.data.pager.page;

import org.jspecify.annotations.NullMarked;
