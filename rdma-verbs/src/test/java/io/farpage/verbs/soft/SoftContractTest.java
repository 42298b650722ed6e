package io.farpage.verbs.soft;

import io.farpage.verbs.contract.CloseOrderContract;
import io.farpage.verbs.contract.ConcurrencyContract;
import io.farpage.verbs.contract.FlushContract;
import io.farpage.verbs.contract.ForgedAccessContract;
import io.farpage.verbs.contract.LargeRegionContract;
import io.farpage.verbs.contract.NotificationContract;
import io.farpage.verbs.contract.OrderingContract;
import io.farpage.verbs.contract.PathLimitsContract;
import io.farpage.verbs.contract.PeerLossContract;
import io.farpage.verbs.contract.ProtectionContract;
import io.farpage.verbs.contract.QueueLimitContract;
import io.farpage.verbs.contract.RangeContract;
import io.farpage.verbs.contract.ReadWriteContract;
import io.farpage.verbs.contract.SendReceiveContract;
import io.farpage.verbs.contract.SharedReceiveContract;
import io.farpage.verbs.contract.TransitionContract;
import io.farpage.verbs.contract.VerbsFixture;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The provider contract, against the soft provider. */
@Tag("portable")
final class SoftContractTest {
    @Nested
    final class CloseOrder extends CloseOrderContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Concurrency extends ConcurrencyContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Flush extends FlushContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class ForgedAccess extends ForgedAccessContract {

        @Override
        protected VerbsFixture open() {
            // Responders that do not spin: each of them waits for one request, and sixteen share the CPUs.
            return SoftFixture.open(new SoftOptions(
                    SoftOptions.DEFAULT.listening(),
                    new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO),
                    SoftOptions.DEFAULT.admission()));
        }

        @Test
        @Tag("soak")
        @Timeout(value = 20, unit = TimeUnit.MINUTES)
        void shouldMoveNoByteWhenAMillionAccessesAreForged() {
            forge(open(), 10_000 * Integer.getInteger("farpage.soak.percent", 100));
        }
    }

    @Nested
    final class LargeRegion extends LargeRegionContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Notification extends NotificationContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Ordering extends OrderingContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class PathLimits extends PathLimitsContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class PeerLoss extends PeerLossContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Protection extends ProtectionContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Ranges extends RangeContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class QueueLimit extends QueueLimitContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class ReadWrite extends ReadWriteContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class SendReceive extends SendReceiveContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class SharedReceive extends SharedReceiveContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }

    @Nested
    final class Transition extends TransitionContract {
        @Override
        protected VerbsFixture open() {
            return SoftFixture.open();
        }
    }
}
