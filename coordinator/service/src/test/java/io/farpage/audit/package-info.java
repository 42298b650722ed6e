@NullMarked
package io.farpage.audit;

import org.jspecify.annotations.NullMarked;
