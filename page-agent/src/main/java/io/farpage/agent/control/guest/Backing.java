package io.farpage.agent.control.guest;

import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.pins.PinWatch;
import io.farpage.agent.control.pins.PinWatches;
import io.farpage.linux.uffd.MemoryFile;
import java.io.IOException;

/** The file behind a guest's memory, and the watch over what may pin it. Any thread, but for {@link #close}. */
final class Backing implements AutoCloseable {
    private final MemoryFile file;
    private final PinWatch pins;

    private Backing(MemoryFile file, PinWatch pins) {
        this.file = file;
        this.pins = pins;
    }

    /**
     * Inspects the VMM and begins to watch it.
     *
     * @param descriptor of the memory file; the caller's if this throws, this one's to close otherwise
     * @param vmm the process that handed it over
     * @throws HandoffException if the memory may be pinned and such memory must be refused
     */
    static Backing start(String space, int descriptor, int vmm, PinWatches watches) throws HandoffException {
        try {
            PinWatch pins = watches.start(space, vmm, descriptor);
            if (watches.policy().mode() == PinPolicy.Mode.REFUSE && pins.isHeld()) {
                pins.close();
                throw new HandoffException(pins.found()
                        + "; memory that may be pinned cannot be evicted. Open disks without O_DIRECT (QEMU:"
                        + " cache=writeback), preload libfarpage-preload.so, or set guest.pins to hold");
            }
            return new Backing(MemoryFile.adopt(descriptor), pins);
        } catch (IOException e) {
            throw new HandoffException("the memory file cannot be inspected: " + e);
        }
    }

    MemoryFile file() {
        return file;
    }

    PinWatch pins() {
        return pins;
    }

    @Override
    public void close() {
        pins.close();
        file.close();
    }
}
