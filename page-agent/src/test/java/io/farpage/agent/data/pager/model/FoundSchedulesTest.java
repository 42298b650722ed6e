package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertThrows;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Schedules that once found a fault. The comment of each describes the fault. */
final class FoundSchedulesTest {
    private static final Logger logger = (Logger) LoggerFactory.getLogger("io.farpage.agent");

    @BeforeAll
    static void beSilent() {
        logger.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        logger.setLevel(null);
    }

    /** A child gave up pages and replaced the VMM, and the pages were evicted before the kernel had removed them. */
    @Test
    void shouldKeepPagesThatChildGivesUpWhenItReplacesVmm() {
        Replay.run(
                new Setup(6, 0, 1, 4, 1, 2, 15),
                World.LONG_NANOS,
                Step.parse("y . . . g . . w0/2 . . . g e p . B1/2 . . . . . . g1"));
    }

    /** A home that had been slow counted as slow although its link had come up anew, and no page was read from it. */
    @Test
    void shouldReadFromAHomeWhoseLinkIsUpAgainWhenTheOtherFallsSilent() {
        Replay.run(
                new Setup(28, 0, 5, 25, 4, 4, 16).with(Feature.MIRRORED),
                World.LONG_NANOS,
                Step.parse("| d1/17 . . . . . . . . . . D0/3 . . . . . . . . . f1 S"));
    }

    /** A fault waited among those of pages without a home, and held them up when its page got one that was silent. */
    @Test
    void shouldServeOtherFaultsWhenAPageGetsRoomAtASilentHome() {
        Replay.run(
                new Setup(4, 1, 2, 3, 1, 2, 9)
                        .with(Feature.TWO_HOMES, Feature.KEPT, Feature.NO_POISON, Feature.PRESENCE, Feature.THIN),
                World.SHORT_NANOS,
                Step.parse(". w1/3 S1 . . . . . . g1 r1/2 . . . g1 z . . . . . . K . . . . g D0/3 . . . g . . . . o g ."
                        + " B1/1 . . g1 . g1 g w0/2 ."));
    }

    /** The VMM was killed while it gave up a page, without an event. A snapshot had zeros in place of the page. */
    @Test
    void shouldFailASnapshotWhenTheVmmIsKilledWhileItGivesUpAPage() {
        Replay.run(
                new Setup(4, 0, 2, 4, 1, 4, 6).with(Feature.LARGE_PAGES, Feature.SNAPSHOT),
                World.LONG_NANOS,
                Step.parse("w0/2 . . . g F . . . . b0/2 e"));
    }

    /** A page was frozen while an older version of it was being written home, and that WRITE failed. */
    @Test
    void shouldHavePagesOfTheMomentWhenAnEarlierWriteFails() {
        Replay.run(
                new Setup(7, 1, 1, 1, 1, 5, 2).with(Feature.KEPT, Feature.SNAPSHOT),
                World.LONG_NANOS,
                Step.parse("w0/3 F . . . . . . . i I . g . . . . . . . g d0/1 . . . . g K1 . . . . . . . . . . . u . ."
                        + " . . c g w0/4 . . . . . . . i . I . . . . . . . . . . . . . F . f"));
    }

    /** A frozen page became writable with its neighbour, and counted as clean when its WRITE had ended. */
    @Test
    void shouldKeepWhatTheGuestStoresBesideAFrozenPage() {
        Replay.run(
                new Setup(4, 0, 2, 4, 4, 1, 6).with(Feature.SNAPSHOT),
                World.LONG_NANOS,
                Step.parse("w0/3 . r1 . . . . g1 w1/1 g . . . g1 F . . i I . . w0/1 . . . z1/2 . . . . . g w0/3"));
    }

    /** A device wrote to a frozen page after that had been copied. */
    @Test
    void shouldHavePagesOfTheMomentWhenADeviceWrites() {
        Replay.run(
                new Setup(27, 0, 5, 26, 4, 2, 16).with(Feature.MIRRORED, Feature.SNAPSHOT),
                World.LONG_NANOS,
                Step.parse("d1/12 . . . F g1 . . ."));
    }

    /** A page was given up as a snapshot began, and the snapshot had an older version of it. */
    @Test
    void shouldNotSaveAnOlderVersionOfAPageThatIsGivenUp() {
        Replay.run(
                new Setup(40, 0, 8, 36, 1, 4, 16).with(Feature.TWO_HOMES, Feature.SNAPSHOT),
                World.LONG_NANOS,
                Step.parse("w3/37 D1/37 . . g1 . F"));
    }

    /** The WRITE of zeros over an older version failed while a snapshot was made. */
    @Test
    void shouldWriteZerosOfASnapshotAgainWhenTheyFail() {
        Replay.run(
                new Setup(6, 0, 3, 1, 4, 4, 6).with(Feature.LARGE_PAGES, Feature.SNAPSHOT),
                World.SHORT_NANOS,
                Step.parse("w1/1 . . . g1 . . . . . . . . . . . F . . . . . . . . c" + " .".repeat(73)
                        + " b1 . . . . B0/1 . . . g . . U g . . f F"));
    }

    /** The WRITE of a page failed after the guest had stored to the page, and the snapshot counted as saved. */
    @Test
    void shouldFailASnapshotWhenAPageChangedBeforeItsWriteFailed() {
        Replay.run(
                new Setup(30, 0, 4, 25, 1, 4, 16).with(Feature.SNAPSHOT),
                World.SHORT_NANOS,
                Step.parse("w2/18 . . . g2 F . . . . w3/18 . h"));
    }

    /** Zeros of a snapshot that was given up failed, and were written for the next one, over what was stored since. */
    @Test
    void shouldNotRepeatZerosOfAnEarlierSnapshot() {
        Replay.run(
                new Setup(8, 0, 3, 7, 4, 5, 16).with(Feature.CLONE, Feature.SNAPSHOT),
                World.SHORT_NANOS,
                Step.parse("D2/7 . w0/5 . S g2 g2 F . v3 . g2 . . B2/4 r1/6 . . g2 g2 b2/6 . . . . . g1 . g . g2 . t7 ."
                        + " g2 . g1 . . . V . . . . g w0/7 . . g U F"));
    }

    /** A page was stored to while its room was being given back, and was written there. */
    @Test
    void shouldNotWriteToRoomThatIsBeingGivenBack() {
        Replay.run(
                new Setup(7, 0, 2, 3, 4, 5, 2).with(Feature.THIN),
                World.LONG_NANOS,
                Step.parse("r1/4 | . b0/4 . g . W4 w1/4 . . . g1"));
    }

    /** A page was given up while it was written home, and its room was given back under the WRITE. */
    @Test
    void shouldKeepRoomWhileAPageIsWrittenThere() {
        Replay.run(
                new Setup(3, 0, 2, 2, 4, 4, 11).with(Feature.PRESENCE, Feature.THIN),
                World.LONG_NANOS,
                Step.parse("z1 . . . . w0/2 . . . . . . . . t2 g . . . g1 . D1/2 . . W2"));
    }

    /** A schedule tests nothing if the agent now makes other calls into the kernel than when the schedule was found. */
    @Test
    void shouldFailWhenStepDoesNotApplyAnyMore() {
        Setup setup = new Setup(4, 0, 1, 4, 1, 4, 15);
        List<Step> steps = Step.parse("r0/1 . g .");
        assertThrows(IllegalArgumentException.class, () -> Replay.run(setup, World.LONG_NANOS, steps));
    }

    /** Stored zeros were not written home, and only the killed agent knew that the bytes at the home were older. */
    @Test
    void shouldWriteZerosHomeWhenHomeHasOlderVersion() {
        Replay.run(
                new Setup(8, 0, 2, 6, 1, 1, 14),
                World.LONG_NANOS,
                Step.parse("w0/1 r1/7 . . . . . . g1 . . . g . . . . . g . z1/1"));
    }

    /**
     * The pause after a lack of memory was measured from the time of the fault, and so never ended for a waiting fault.
     */
    @Test
    void shouldServeFaultWhenMemoryIsFreeAgain() {
        Replay.run(new Setup(4, 1, 1, 4, 1, 4, 15), World.SHORT_NANOS, Step.parse("o w"));
    }

    /**
     * A fetched page was dropped on arrival because it had been given up, and the threads that waited for it were not
     * woken.
     */
    @Test
    void shouldWakeThreadsWhenFetchedPageIsGivenUp() {
        Replay.run(new Setup(7, 0, 3, 1, 1, 1, 12), World.SHORT_NANOS, Step.parse("| w1/1 . . D2/1"));
    }

    /** A run that was larger than the free staging memory was retried at the same size. */
    @Test
    void shouldEvictPagesOneByOneWhenStagingMemoryIsShort() {
        Replay.run(
                new Setup(7, 0, 3, 6, 4, 3, 2),
                World.SHORT_NANOS,
                Step.parse("w0/5 . . . g r2/1 w0/4 w1/2 . . . . . g2 g . . r2 g1 . b1/3 w0/6 . g1 g1 w1/3"));
    }

    /** As before, when the VMM has ended. */
    @Test
    void shouldSavePagesOneByOneWhenStagingMemoryIsShort() {
        Replay.run(new Setup(5, 0, 3, 3, 1, 1, 3), World.SHORT_NANOS, Step.parse("| B0/3 B1/1"));
    }

    /**
     * A fault was served with zeros after the removal of the same batch had been carried out, and the zeros counted as
     * the removed page.
     */
    @Test
    void shouldHandleRemovalsBeforeFaultsWhenBothAreRead() {
        Replay.run(
                new Setup(5, 0, 3, 3, 4, 1, 5),
                World.SHORT_NANOS,
                Step.parse("B0/1 . . w2 . w1 g g . . . . w0/4 g2 b2/4 . . . . g2 g2"));
    }

    /**
     * The completion of a write that had begun before the VMM ended counted as that of the zeros which were to follow.
     */
    @Test
    void shouldSaveZerosWhenEvictionWriteOfOlderBytesCompletesLate() {
        Replay.run(
                new Setup(4, 0, 3, 1, 1, 3, 14),
                World.LONG_NANOS,
                Step.parse("r0/3 . . . . . . . b2/1 g . . . . . . g2 g2 w2/1 . . . g2 . . b2/1 . . . g2 g2 e"));
    }

    /** The probe for the VMM mapped its first page, writable, after the kernel had unmapped it. */
    @Test
    void shouldKeepPageProtectedWhenAgentProbesVmm() {
        Replay.run(
                new Setup(2, 1, 3, 1, 1, 5, 6),
                World.LONG_NANOS,
                Step.parse("b2 . . g2 g2 p . w2 . . . . g2 k p . w1"));
    }

    /**
     * A waiting fault was to be served with zeros, and the given-up page that was still in the file was kept instead.
     */
    @Test
    void shouldInstallZerosWhenRemovedPageIsStillResident() {
        Replay.run(
                new Setup(3, 0, 2, 1, 4, 5, 6),
                World.LONG_NANOS,
                Step.parse("q w0/1 . w1/1 . . . . g1 g . . . g1 . . . g . b1/1 . . . . g1 c"));
    }

    /** The home received a page and was lost; the agent read the completion after the loss and evicted the page. */
    @Test
    void shouldKeepPageResidentWhenHomeIsLostBeforeCompletionIsRead() {
        Replay.run(
                new Setup(3, 0, 3, 1, 4, 1, 8),
                World.SHORT_NANOS,
                Step.parse(
                        "q . . . . r2 . . . . . . g2 . . . . w2 . . . . . . . w0/1 . . . . . . . . . . . . . . . . . ."
                                + " . . . . . . . . . . . . . c !"));
    }

    /**
     * A page was given up between the fault that found it lost and its poisoning; the page was not poisoned, and the
     * thread not woken.
     */
    @Test
    void shouldWakeThreadWhenLostPageIsGivenUpBeforeItIsPoisoned() {
        Replay.run(new Setup(7, 0, 2, 6, 1, 3, 9), World.LONG_NANOS, Step.parse("| ! r0/3 . . B1/2"));
    }

    /** The removal of a part of a large page was handled as that of the whole page, and the rest read as zeros. */
    @Test
    void shouldKeepRestOfLargePageWhenPartIsGivenUp() {
        Replay.run(
                new Setup(4, 0, 1, 4, 1, 1, 5).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/3 . . . g C0/3"));
    }

    /**
     * A removal that ended within a large page was rounded, and that page stayed clean although the kernel filled a
     * part of it with zeros.
     */
    @Test
    void shouldMarkLargePagesDirtyWhenRemovalEndsWithinThem() {
        Replay.run(
                new Setup(8, 0, 3, 7, 1, 1, 9).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w1/5 . . . X2/3"));
    }

    /**
     * A page of private memory was given up, no hugepage was free for zeros, and the page was fetched from its home
     * instead.
     */
    @Test
    void shouldNotFetchGivenUpPageWhenNoHugepageIsLeft() {
        Replay.run(
                new Setup(5, 0, 2, 2, 1, 4, 16).with(Feature.TWO_HOMES, Feature.PRIVATE, Feature.LARGE_PAGES),
                World.SHORT_NANOS,
                Step.parse("B1/1 r0/1 o"));
    }

    /** Pages of a home that fell silent filled the limit, and pages of this node waited until it answered. */
    @Test
    void shouldServePagesOfOtherHomesWhenPagesOfSilentHomeFillLimit() {
        Replay.run(new Setup(3, 1, 3, 2, 1, 2, 8), World.SHORT_NANOS, Step.parse("| r2/1 w S"));
    }

    /** Zero pages of a lost home waited for frames that are reserved for homes that answer. */
    @Test
    void shouldInstallZerosAboveLimitWhenHomeIsLost() {
        Replay.run(
                new Setup(8, 0, 3, 6, 1, 4, 5).with(Feature.TWO_HOMES),
                World.LONG_NANOS,
                Step.parse("r2/2 . . . w1 . . . . . . . w !"));
    }

    /**
     * A VMM was killed while it gave up a part of a page; its child read zeros, and the page was evicted although the
     * home had the earlier bytes.
     */
    @Test
    void shouldKeepSharedLargePageWhenVmmIsKilledDuringPartialRemoval() {
        Replay.run(
                new Setup(3, 0, 2, 1, 1, 3, 8).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/2 . . . g . . . y . . g X1 e r2/2 c"));
    }

    /** As before, but the write completed after the child had replaced the VMM. */
    @Test
    void shouldKeepLargePageWhenWriteCompletesAfterChildReplacedVmm() {
        Replay.run(
                new Setup(3, 0, 2, 1, 1, 3, 8).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/2 . . . g . . . y . . g X1 e r2/2 p . . . . . . . . . . c"));
    }

    /**
     * A WRITE that had waited while the link was down made its home count as silent as soon as the link was up, and
     * pages were installed above the limit.
     */
    @Test
    void shouldCountHomeAsAnsweringWhenLinkHasJustComeUp() {
        Replay.run(
                new Setup(4, 1, 3, 1, 4, 2, 8),
                World.SHORT_NANOS,
                Step.parse("w . h . f . . g . . g h u . . c . . w0/3"));
    }

    /**
     * A page was written to between MADV_DONTNEED and its hole, so the agent evicted it although the link to its home
     * was down.
     */
    @Test
    void shouldEvictPageThatIsBeingGivenUpWhenHomeIsLost() {
        Replay.run(
                new Setup(6, 0, 3, 2, 1, 2, 7).with(Feature.TWO_HOMES),
                World.SHORT_NANOS,
                Step.parse("| . r2/3 . r1/4 c1 . . !1 . . . . . g1 D0/3 w1/3"));
    }

    /**
     * A page that had arrived and could not be installed kept the only transfer slot, so no page could be written back
     * to make room for it.
     */
    @Test
    void shouldEvictWhenMemoryIsScarceAndArrivedPageHoldsOnlySlot() {
        Replay.run(
                new Setup(5, 0, 3, 5, 1, 1, 14).with(Feature.LARGE_PAGES, Feature.SCARCE_MEMORY),
                World.LONG_NANOS,
                Step.parse("| z2/1 r0/2 . h z1/4"));
    }

    /** A page that was installed while it was given up counted as resident, so nothing was evicted for another one. */
    @Test
    void shouldEvictWhenMemoryIsScarceAndInstalledPageWasGivenUp() {
        Replay.run(
                new Setup(2, 0, 2, 2, 1, 5, 5).with(Feature.SCARCE_MEMORY),
                World.SHORT_NANOS,
                Step.parse("b r1 . . g . g w0/1"));
    }

    /**
     * The VMM punched a page out without an event before it was evicted: zeros were kept of it, while its homes had
     * what was stored before, so the guest read zeros and then the older bytes.
     */
    @Test
    void shouldNotKeepEvictedPageWhenVmmHasPunchedItOut() {
        Replay.run(
                new Setup(6, 0, 3, 3, 4, 2, 15).with(Feature.MIRRORED, Feature.VICTIMS),
                World.LONG_NANOS,
                Step.parse(". D1/4 . . g1 w2/4 . . . g2 . . c c1 g1 g1 . . r2/4"));
    }

    /** A page that came back from the agent's memory counted as stranded, and so not against the limit. */
    @Test
    void shouldCountPageAgainstLimitWhenItComesBackFromAgent() {
        Replay.run(
                new Setup(7, 1, 3, 2, 4, 4, 16).with(Feature.VICTIMS),
                World.LONG_NANOS,
                Step.parse("d1/1 . . . g1 g1 . i . r2/2 d I . . . c . . . . . w1/1 ."));
    }

    /** A queued write to a page that had been given up mapped its old bytes again, before the VMM punched the hole. */
    @Test
    void shouldDropQueuedWriteWhenPageIsGivenUp() {
        Replay.run(
                new Setup(7, 0, 3, 2, 4, 3, 14).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/6 r2/2 . . . . . g2 w2/6 . . i . g . D2/6 . . I . . . . . . g2 g2 . . . i I . ."));
    }

    /**
     * A page had arrived and could not be installed, so its home counted as silent, and a page of this node was
     * installed above the limit.
     */
    @Test
    void shouldCountHomeAsAnsweringWhenArrivedPageWaitsToBeInstalled() {
        Replay.run(
                new Setup(3, 1, 3, 1, 1, 5, 5).with(Feature.LARGE_PAGES),
                World.SHORT_NANOS,
                Step.parse("| w1 C2/2 . . c w0/2 . h . g2"));
    }

    /**
     * A fault of a page that was installed meanwhile: the page counts as stored to, and so stays resident while pins
     * are held.
     */
    @Test
    void shouldKeepPageWhenItIsFoundResidentWhilePinsAreHeld() {
        Replay.run(
                new Setup(3, 1, 3, 1, 1, 1, 10),
                World.LONG_NANOS,
                Step.parse("| D1/1 r0/2 . . . . . . g1 w2 . . c . . g2 . d2/2 i I . . . g g2 q"));
    }

    /**
     * A page counts as stored to for a minute after a part of it is given up, and so stays resident above the limit
     * while pins are held.
     */
    @Test
    void shouldKeepPageOfWhichAPartIsGivenUpWhilePinsAreHeld() {
        Replay.run(
                new Setup(7, 0, 2, 1, 4, 3, 14).with(Feature.TWO_HOMES, Feature.LARGE_PAGES),
                World.SHORT_NANOS,
                Step.parse("| r0/5 d1 . i I . c1 . c . g X0/3 . g g d0/3"));
    }

    /**
     * The VMM punched a page out while it was written back; the agent's successor took it for one that the agent had
     * punched out, and read its old bytes.
     */
    @Test
    void shouldTakeAWrittenBackAbsentPageForZerosWhenAgentWasKilled() {
        Replay.run(
                new Setup(7, 0, 3, 5, 4, 1, 3).with(Feature.KEPT),
                World.LONG_NANOS,
                Step.parse("w2/2 . . . . w0/3 . . . . . . . . . . . . g . . . D1/4 . w0/2 . . . . . . . . . . . . . . ."
                        + " g1 . . . . c g2 . . . . . g1 g1 D1/3 . . r2/3 . . g1 . . . g1 . . . g1 . K"));
    }

    /**
     * All homes were lost when the home that joined had pulled and lacked one noted page, which was resident. The agent
     * read it from a lost home again and again.
     */
    @Test
    void shouldGiveUpTheHomeThatJoinsWhenTheOthersAreLost() {
        Replay.run(
                new Setup(4, 0, 2, 1, 1, 6, 8).with(Feature.JOINING),
                World.SHORT_NANOS,
                Step.parse(
                        "w1 . . . g1 r1/3 . . . . . . . !1 . . . . . . . . . . . . . . . . . . . . . . . . . . . . . ."
                                + " . . . . . . . . . . . . . . . . . . . . . . . . . . j2 . . . . A2 n n n n N2 . . ."
                                + " . . . . . . P2/1 . . . . . . j . . . . . . . A . n2 . n2 n2 n2 . !2"));
    }

    /**
     * The agent was killed after it had written stored zeros home and punched the page out. Its successor read from the
     * table that the page is zeros, and wrote them home again, sealed anew. Until that WRITE lands, the homes hold an
     * older form that no longer opens; the next successor reads the table, too.
     */
    @Test
    void shouldHaveZerosFromTheTableWhileTheyAreWrittenHomeAgain() {
        Replay.run(
                new Setup(5, 0, 2, 3, 1, 4, 5).with(Feature.JOINING, Feature.SEALED, Feature.KEPT),
                World.LONG_NANOS,
                Step.parse(
                        "w1/4 r . . . . g1 . . . . . g . . . . . . z0/4 . . . . . . . . . . . . . . . . . . . . . g . ."
                                + " . . . . c r0/1 . . . . . . . . . . . . . . . . . . c1 . . . . . . . . . . . . . . ."
                                + " . . . . c c1 . . K1"));
    }

    /**
     * The VMM was killed while it gave a dirty page up, and the agent while it wrote what the VMM had left home. Its
     * successor took the page, which the memory file did not have, for zeros that no home has an older version of. The
     * homes had a part of the WRITE, or none, and the tags were those of the WRITE: the next guest could not open it.
     */
    @Test
    void shouldWriteZerosHomeWhenTheAgentWasKilledDuringAWrite() {
        Replay.run(
                new Setup(24, 0, 7, 21, 4, 4, 16).with(Feature.MIRRORED, Feature.SEALED, Feature.KEPT),
                World.LONG_NANOS,
                Step.parse(
                        "w6/9 w3/20 z2/13 r0/10 D4/11 w5/6 . . . . . . . . g4 . . D1/15 . . . . . . . . . g1 . . . . ."
                                + " . . . e . . . . . . . . . K1"));
    }
}
