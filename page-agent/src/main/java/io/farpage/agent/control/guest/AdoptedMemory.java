package io.farpage.agent.control.guest;

import java.util.Optional;

/** In the place of a handoff: memory that an earlier process of this agent has served. */
record AdoptedMemory(Paging paging) implements Guest.Admission {
    @Override
    public Paging admit(HandoffConnection.Message message) throws HandoffException {
        throw new HandoffException("the guest has its memory already");
    }

    @Override
    public Optional<Paging> adopted() {
        return Optional.of(paging);
    }
}
