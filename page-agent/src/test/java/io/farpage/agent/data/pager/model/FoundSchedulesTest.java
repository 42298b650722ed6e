package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertThrows;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Schedules that once did harm. */
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

    /** A child gave up pages, took the place of the VMM, and they were evicted before the kernel had taken them out. */
    @Test
    void shouldNotEvictWhatAChildIsGivingUpWhenItTakesThePlaceOfTheVmm() {
        Replay.run(
                new Setup(6, 0, 1, 4, 1, 2, 15),
                World.LONG_NANOS,
                Step.parse("y . . . g . . w0/2 . . . g e p . B1/2 . . . . . . g1"));
    }

    /** A schedule that was written down for other calls into the kernel than the agent makes now tests nothing. */
    @Test
    void shouldFailWhenAStepDoesNotApplyAnyMore() {
        Setup setup = new Setup(4, 0, 1, 4, 1, 4, 15);
        List<Step> steps = Step.parse("r0/1 . g .");
        assertThrows(IllegalArgumentException.class, () -> Replay.run(setup, World.LONG_NANOS, steps));
    }

    /** Stored zeros were not written home, and of what the home had the dead agent alone knew that it was older. */
    @Test
    void shouldWriteZerosHomeWhereTheHomeHasSomethingOlder() {
        Replay.run(
                new Setup(8, 0, 2, 6, 1, 1, 14),
                World.LONG_NANOS,
                Step.parse("w0/1 r1/7 . . . . . . g1 . . . g . . . . . g . z1/1"));
    }

    /** The pause after a lack of memory was measured from when the fault had come, and so never ended for one that waited. */
    @Test
    void shouldAnswerAFaultThatThereWasNoMemoryFor() {
        Replay.run(new Setup(4, 1, 1, 4, 1, 4, 15), World.SHORT_NANOS, Step.parse("o w"));
    }

    /** What was fetched was dropped when it came, and with it whoever waited for it. */
    @Test
    void shouldWakeWhoeverWaitsForAPageThatIsGivenUp() {
        Replay.run(
                new Setup(8, 1, 3, 2, 1, 4, 9),
                World.LONG_NANOS,
                Step.parse(
                        "w0/4 . r1/6 . . . . . . . . . g g1 w2/3 . . . . . . . . . . . . . g2 . g . g1 c . . . . . g ."
                                + " r0/3 . . . . . . . b2/3"));
    }

    /** A run that did not fit into what was free of the staging memory was tried again as it was. */
    @Test
    void shouldTakePagesOutOneByOneWhereStagingMemoryIsShort() {
        Replay.run(
                new Setup(7, 0, 3, 6, 4, 3, 2),
                World.SHORT_NANOS,
                Step.parse("w0/5 . . . g r2/1 w0/4 w1/2 . . . . . g2 g . . r2 g1 . b1/3 w0/6 . g1 g1 w1/3"));
    }

    /** As before, at the VMM's end. */
    @Test
    void shouldSavePagesOneByOneWhereStagingMemoryIsShort() {
        Replay.run(new Setup(5, 0, 3, 3, 1, 1, 3), World.SHORT_NANOS, Step.parse("| B0/3 B1/1"));
    }

    /** A fault was answered with zeros after a removal that was read with it had been carried out, and these were taken for what was removed. */
    @Test
    void shouldLearnOfRemovalsBeforeItAnswersFaults() {
        Replay.run(
                new Setup(5, 0, 3, 3, 4, 1, 5),
                World.SHORT_NANOS,
                Step.parse("B0/1 . . w2 . w1 g g . . . . w0/4 g2 b2/4 . . . . g2 g2"));
    }

    /** The end of a write that had begun before the VMM ended was taken for that of the zeros which were to follow it. */
    @Test
    void shouldSaveZerosAfterAWriteOfWhatWasThereBefore() {
        Replay.run(
                new Setup(4, 0, 3, 1, 1, 3, 14),
                World.LONG_NANOS,
                Step.parse("r0/3 . . . . . . . b2/1 g . . . . . . g2 g2 w2/1 . . . g2 . . b2/1 . . . g2 g2 e"));
    }

    /** Looking whether the VMM was there mapped its first page, writable, after the kernel had taken it out of the page table. */
    @Test
    void shouldNotLetThePageBeWrittenByLookingWhetherTheVmmIsThere() {
        Replay.run(
                new Setup(2, 1, 3, 1, 1, 5, 6),
                World.LONG_NANOS,
                Step.parse("b2 . . g2 g2 p . w2 . . . . g2 k p . w1"));
    }

    /** A fault that waited was to be answered with zeros, and what had been given up and was still there was kept instead. */
    @Test
    void shouldNotKeepWhatIsThereUntilARemovalIsCarriedOut() {
        Replay.run(
                new Setup(3, 0, 2, 1, 4, 5, 6),
                World.LONG_NANOS,
                Step.parse("q w0/1 . w1/1 . . . . g1 g . . . g1 . . . g . b1/1 . . . . g1 c"));
    }

    /** The home took a page and was lost; the page was evicted on the word of the completion, which the agent read after the loss. */
    @Test
    void shouldKeepPageResidentWhenItsHomeIsLostBetweenAWriteAndItsCompletion() {
        Replay.run(
                new Setup(3, 0, 3, 1, 4, 1, 8),
                World.SHORT_NANOS,
                Step.parse(
                        "q . . . . r2 . . . . . . g2 . . . . w2 . . . . . . . w0/1 . . . . . . . . . . . . . . . . . . . . . . ."
                                + " . . . . . . . . c !"));
    }

    /** A page was given up between the fault that found it lost and its poisoning, which was then left out, and with it the waking. */
    @Test
    void shouldWakeThreadWhenItsLostPageIsGivenUpBeforeItIsPoisoned() {
        Replay.run(new Setup(7, 0, 2, 6, 1, 3, 9), World.LONG_NANOS, Step.parse("| ! r0/3 . . B1/2"));
    }

    /** A removal of a part of a large page was taken for one of the page, and the rest of it read as zeros. */
    @Test
    void shouldKeepTheRestOfALargePageWhenAPartIsGivenUp() {
        Replay.run(
                new Setup(4, 0, 1, 4, 1, 1, 5).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/3 . . . g C0/3"));
    }

    /** A removal that ended within a large page was rounded, and that page stayed clean although the kernel filled a part of it with zeros. */
    @Test
    void shouldTreatLargePagesAtBothEndsOfARemovalAsCut() {
        Replay.run(
                new Setup(8, 0, 3, 7, 1, 1, 9).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w1/5 . . . X2/3"));
    }

    /** A page of private memory was given up, no hugepage was left to bring zeros, and the page was fetched from its home instead. */
    @Test
    void shouldNotFetchGivenUpPageWhenNoHugepageIsLeft() {
        Replay.run(
                new Setup(5, 0, 2, 2, 1, 4, 16).with(Feature.TWO_HOMES, Feature.PRIVATE, Feature.LARGE_PAGES),
                World.SHORT_NANOS,
                Step.parse("B1/1 r0/1 o"));
    }

    /** Pages of a home that fell silent filled the limit, and pages of this node waited until it answered. */
    @Test
    void shouldServePagesOfOthersWhenPagesOfASilentHomeFillTheLimit() {
        Replay.run(new Setup(3, 1, 3, 2, 1, 2, 8), World.SHORT_NANOS, Step.parse("| r2/1 w S"));
    }

    /** Zeros of a lost home waited for room that is left to homes that answer. */
    @Test
    void shouldNotLeaveRoomToOthersWhenAPageIsOfALostHome() {
        Replay.run(
                new Setup(8, 0, 3, 6, 1, 4, 5).with(Feature.TWO_HOMES),
                World.LONG_NANOS,
                Step.parse("r2/2 . . . w1 . . . . . . . w !"));
    }

    /** A VMM was killed while it gave up a part of a page; its child found zeros, and the page was evicted as the home had it before. */
    @Test
    void shouldKeepLargePageWhenVmmIsKilledWhileItGivesUpAPartAndAChildSharesIt() {
        Replay.run(
                new Setup(3, 0, 2, 1, 1, 3, 8).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/2 . . . g . . . y . . g X1 e r2/2 c"));
    }

    /** As before, but the write ended only after the child had taken the place of the VMM. */
    @Test
    void shouldKeepLargePageWhenItsWriteEndsAfterAChildHasTakenThePlaceOfTheVmm() {
        Replay.run(
                new Setup(3, 0, 2, 1, 1, 3, 8).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/2 . . . g . . . y . . g X1 e r2/2 p . . . . . . . . . . c"));
    }

    /** A WRITE that had waited while the link was down made its home count as silent the moment the link was up, and pages came beyond the limit. */
    @Test
    void shouldTakeAHomeForOneThatAnswersWhenItsLinkHasJustComeUp() {
        Replay.run(
                new Setup(4, 1, 3, 1, 4, 2, 8),
                World.SHORT_NANOS,
                Step.parse("w . h . f . . g . . g h u . . c . . w0/3"));
    }

    /** A page was written to between MADV_DONTNEED and its hole, so the agent took it out although the link to its home was down. */
    @Test
    void shouldTakeOutAPageThatIsBeingGivenUpWhenItsHomeIsLost() {
        Replay.run(
                new Setup(6, 0, 3, 2, 1, 2, 7).with(Feature.TWO_HOMES),
                World.SHORT_NANOS,
                Step.parse("| . r2/3 . r1/4 c1 . . !1 . . . g1 D0/3 w1/3"));
    }

    /** A page that had arrived and could not be installed kept the only transfer slot, so no page could be written back to make room for it. */
    @Test
    void shouldEvictWhenMemoryIsScarceAndAnArrivedPageHasTheOnlySlot() {
        Replay.run(
                new Setup(5, 0, 3, 5, 1, 1, 14).with(Feature.LARGE_PAGES, Feature.SCARCE_MEMORY),
                World.LONG_NANOS,
                Step.parse("| z2/1 r0/2 . h z1/4"));
    }

    /** A page that was installed while it was given up counted as resident, so nothing was evicted for another one. */
    @Test
    void shouldEvictWhenMemoryIsScarceAndAPageWasGivenUpAfterItCame() {
        Replay.run(
                new Setup(2, 0, 2, 2, 1, 5, 5).with(Feature.SCARCE_MEMORY),
                World.SHORT_NANOS,
                Step.parse("b r1 . . g . g w0/1"));
    }

    /** A queued write to a page that had been given up mapped its old bytes again, before the VMM punched the hole. */
    @Test
    void shouldNotMapAPageAgainForAQueuedWriteWhenItIsGivenUp() {
        Replay.run(
                new Setup(7, 0, 3, 2, 4, 3, 14).with(Feature.LARGE_PAGES),
                World.LONG_NANOS,
                Step.parse("w0/6 r2/2 . . . . . g2 w2/6 . . i . g . D2/6 . . I . . . . . . g2 g2 . . . i I . ."));
    }

    /** A page had arrived and could not be installed, so its home counted as silent, and a page of this node came above the limit. */
    @Test
    void shouldNotTakeAHomeForSilentWhileAPageThatItSentWaitsToBeInstalled() {
        Replay.run(
                new Setup(3, 1, 3, 1, 1, 5, 5).with(Feature.LARGE_PAGES),
                World.SHORT_NANOS,
                Step.parse("| w1 C2/2 . . c w0/2 . h . g2"));
    }

    /** A fault of a page that had come meanwhile: the page counts as stored to, and so stays while pins are held. */
    @Test
    void shouldKeepAPageThatIsFoundResidentWhilePinsAreHeld() {
        Replay.run(
                new Setup(3, 1, 3, 1, 1, 1, 10),
                World.LONG_NANOS,
                Step.parse("| D1/1 r0/2 . . . . . . g1 w2 . . c . . g2 d2/2 i I . . . g g2 q"));
    }
}
