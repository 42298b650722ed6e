package io.farpage.verbs;

import java.util.Collection;

/** An object was closed while others that came from it are open (EBUSY). It stays open. */
public final class ResourceBusyException extends VerbsException {
    private static final long serialVersionUID = 1L;
    private static final int EBUSY = 16;

    public ResourceBusyException(String object, Collection<String> children) {
        super(object + " is busy (EBUSY): close first " + String.join(", ", children), EBUSY);
    }
}
