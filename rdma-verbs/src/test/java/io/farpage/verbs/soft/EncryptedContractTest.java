package io.farpage.verbs.soft;

import io.farpage.verbs.contract.CloseOrderContract;
import io.farpage.verbs.contract.ConcurrencyContract;
import io.farpage.verbs.contract.FlushContract;
import io.farpage.verbs.contract.LargeRegionContract;
import io.farpage.verbs.contract.NotificationContract;
import io.farpage.verbs.contract.OrderingContract;
import io.farpage.verbs.contract.PathLimitsContract;
import io.farpage.verbs.contract.PeerLossContract;
import io.farpage.verbs.contract.ProtectionContract;
import io.farpage.verbs.contract.QueueLimitContract;
import io.farpage.verbs.contract.ReadWriteContract;
import io.farpage.verbs.contract.SendReceiveContract;
import io.farpage.verbs.contract.SharedReceiveContract;
import io.farpage.verbs.contract.TransitionContract;
import io.farpage.verbs.contract.VerbsFixture;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The provider contract, against the soft provider with encrypted connections. */
@Tag("portable")
final class EncryptedContractTest {
    @Nested
    final class CloseOrder extends CloseOrderContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Concurrency extends ConcurrencyContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Flush extends FlushContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class LargeRegion extends LargeRegionContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Notification extends NotificationContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Ordering extends OrderingContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class PathLimits extends PathLimitsContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class PeerLoss extends PeerLossContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Protection extends ProtectionContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class QueueLimit extends QueueLimitContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class ReadWrite extends ReadWriteContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class SendReceive extends SendReceiveContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class SharedReceive extends SharedReceiveContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }

    @Nested
    final class Transition extends TransitionContract {
        @Override
        protected VerbsFixture open() {
            return EncryptedFixture.open();
        }
    }
}
