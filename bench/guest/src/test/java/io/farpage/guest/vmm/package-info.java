@NullMarked
package io.farpage.guest.vmm;

import org.jspecify.annotations.NullMarked;
