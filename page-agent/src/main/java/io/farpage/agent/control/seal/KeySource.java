package io.farpage.agent.control.seal;

/** Where the keys of encrypted spaces come from: files, or a key service. Any thread; a call may wait. */
interface KeySource {
    /**
     * The key that new spaces are sealed with.
     *
     * @throws SealException if there is none, or it is not clear which
     */
    SpaceKey current() throws SealException;

    /**
     * The key with an id.
     *
     * @throws SealException if it is not available
     */
    SpaceKey byId(String id) throws SealException;
}
