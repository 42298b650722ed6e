/** Tests of the ibverbs provider: what needs no device here, and what the rig runs on SoftRoCE. */
@NullMarked
package io.farpage.verbs.ibverbs;

import org.jspecify.annotations.NullMarked;
