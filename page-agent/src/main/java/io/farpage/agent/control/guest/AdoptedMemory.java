package io.farpage.agent.control.guest;

import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.seal.SpaceSeal;
import java.util.Optional;

/**
 * Memory that an earlier process of this agent has served; it replaces a handoff.
 *
 * @param seal of an encrypted space
 */
record AdoptedMemory(Paging paging, Optional<SpaceSeal> seal) implements Guest.Admission {
    @Override
    public Paging admit(HandoffConnection.Message message) throws HandoffException {
        throw new HandoffException("the guest has its memory already");
    }

    @Override
    public Optional<Paging> adopted() {
        return Optional.of(paging);
    }

    @Override
    public Optional<String> leave() throws SealException {
        return seal.isPresent() ? seal.get().end() : Optional.empty();
    }

    @Override
    public void close() {
        seal.ifPresent(SpaceSeal::close);
    }
}
