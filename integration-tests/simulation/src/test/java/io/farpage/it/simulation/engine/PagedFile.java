package io.farpage.it.simulation.engine;

/** A file of the simulation that consists of pages. */
public interface PagedFile {
    /** Bytes of a page. */
    int pageBytes();
}
