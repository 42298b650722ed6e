/** What libvirt's description of a domain says about a guest on remote memory. */
@NullMarked
package io.farpage.agent.libvirt;

import org.jspecify.annotations.NullMarked;
