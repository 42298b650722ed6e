package io.farpage.agent.doctor;

import java.util.List;

/** Checks one thing. */
interface Check {
    /** What was found; never throws for what it finds, and every wait within has a deadline. */
    List<Line> run();
}
