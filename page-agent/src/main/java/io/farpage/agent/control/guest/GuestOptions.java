package io.farpage.agent.control.guest;

import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.data.pager.page.VictimMemory;
import java.time.Duration;

/**
 * What holds for every guest.
 *
 * @param depth transfers that a pager may have under way
 * @param deadline of one of them
 * @param flushDeadline how long, once a VMM has ended, no page may reach a home before the rest is discarded
 * @param parkAfter how long a guest has to be idle to be parked; zero: none is
 * @param pins policy for guests whose memory may be pinned
 * @param seals opens encrypted spaces
 * @param mirrors treatment of pages with several homes
 * @param keeping whether guests outlive this process
 * @param victims memory for pages that were evicted a moment ago
 */
public record GuestOptions(
        int depth,
        Duration deadline,
        Duration flushDeadline,
        Duration parkAfter,
        PinPolicy pins,
        Seals seals,
        Drops.Options mirrors,
        GuestKeeping keeping,
        VictimMemory victims) {}
