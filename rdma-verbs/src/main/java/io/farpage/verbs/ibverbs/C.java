package io.farpage.verbs.ibverbs;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/**
 * What a class or a constant is called in {@code <infiniband/verbs.h>}: a structure, a field of it by its path, or an
 * enumerator. A test has a C compiler confirm every one.
 */
@Retention(RetentionPolicy.RUNTIME)
@interface C {
    String value();
}
