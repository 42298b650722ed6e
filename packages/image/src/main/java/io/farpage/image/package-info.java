/**
 * Writes the container image of farpage as a file, without a container engine and without a base image that a registry
 * would have to give.
 */
@NullMarked
package io.farpage.image;

import org.jspecify.annotations.NullMarked;
