package io.farpage.agent.data.seal;

import io.farpage.linux.crypto.LibCrypto;

/**
 * What the parts of a sealed space share during one attachment.
 *
 * @param library does the work
 * @param table tags and versions of all pages
 * @param keys of all generations that the table names, and of {@code generation}
 * @param identity of the space
 * @param generation under which pages are sealed; no other attachment may seal under its key
 */
public record SealedSpace(LibCrypto library, SealTable table, SealKeys keys, Identity identity, int generation) {
    /**
     * What a tag covers of the space.
     *
     * @param id the coordinator's id of the space
     * @param pageBytes bytes of a page
     */
    public record Identity(long id, int pageBytes) {}

    /**
     * Seals and opens a run of the pages, for one thread. Two seals of one generation must not cover the same page.
     *
     * @param firstPage of the space, which is page 0 of the part
     * @param pages of the part
     */
    public PageSeal part(long firstPage, int pages) {
        return new PageSeal(this, firstPage, pages);
    }
}
