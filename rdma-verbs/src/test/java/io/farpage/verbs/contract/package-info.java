/**
 * What every verbs provider must do: one abstract test class per idea, over a
 * {@link io.farpage.verbs.contract.VerbsFixture} that a provider implements. Where the InfiniBand specification leaves
 * freedom, a test accepts all that it permits and nothing else.
 */
@NullMarked
package io.farpage.verbs.contract;

import org.jspecify.annotations.NullMarked;
