package io.farpage.coordinator.model;

import java.util.Arrays;
import java.util.List;

/**
 * What a space may have that an agent must understand before it may attach the space. An agent names its features when it attaches; one that is older
 * than a feature does not name it.
 */
public enum Feature {
    /** Pages are sealed by the agent whose guest uses the space. An agent that does not do so would write plain pages and read ciphertext. */
    ENCRYPTION("encryption"),
    /** Extents have several homes. An agent that does not know this would write each page to one of them and leave the others behind. */
    REPLICAS("replicas"),
    /** A home may join an extent: the agent writes to it, copies the pages to it, and has it promoted. No space needs it; an older agent gets no joining homes. */
    REPAIR("repair"),
    /**
     * The agent copies pages to its own pool where a home joins an extent that no agent is attached to, and grants others the reads for that. No space needs
     * it; a node names it when it registers, and homes of an older agent neither join such an extent nor are copied from.
     */
    PULL("pull"),
    /**
     * The agent notes the pages that it writes while a home that joins pulls an extent, and copies these alone. No space needs it; a node names it when it registers, and
     * an older agent copies all pages.
     */
    PULL_ATTACHED("pull-attached");

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
