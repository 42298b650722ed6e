package io.farpage.coordinator.model;

import java.util.Arrays;
import java.util.List;

/**
 * What a space may have that an agent must understand before it may attach the space. An agent names its features when
 * it attaches; one that is older than a feature does not name it.
 */
public enum Feature {
    /**
     * Pages are sealed by the agent whose guest uses the space. An agent that does not do so would write plain pages
     * and read ciphertext.
     */
    ENCRYPTION("encryption"),
    /**
     * Extents have several homes. An agent that does not know this would write each page to one of them and leave the
     * others behind.
     */
    REPLICAS("replicas"),
    /**
     * Behind the pages of the guest is a {@link Presence map of those that the homes have}. An agent that does not know
     * it would leave it behind.
     */
    PRESENCE("presence"),
    /**
     * The space is a snapshot, which is read-only, or a clone, whose guest reads the pages of a snapshot. An agent
     * that does not know this would take a clone for a space that has lost its pages.
     */
    CLONES("clones"),
    /**
     * Extents may have no home yet. An agent that does not know this would find no place for what its guest has
     * written.
     */
    THIN("thin"),
    /**
     * The space is a clone whose changed pages have homes of their own. An agent that does not know this would read all
     * pages from the snapshot.
     */
    CLONE_PAGES("clone-pages"),
    /**
     * Several nodes use the space at once, each as a {@link AttachMode#MEMBER member}. An agent that does not know this
     * would read pages from their homes while another node has a newer version.
     */
    COHERENT("coherent");

    private final String word;

    Feature(String word) {
        this.word = word;
    }

    /** Its name in requests and messages. */
    public String word() {
        return word;
    }

    /** The names of all features that this program knows. */
    public static List<String> words() {
        return Arrays.stream(values()).map(Feature::word).toList();
    }
}
