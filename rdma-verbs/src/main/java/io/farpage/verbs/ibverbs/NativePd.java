package io.farpage.verbs.ibverbs;

import io.farpage.linux.Errno;

/** {@code struct ibv_pd}: what the regions and queues of a protection domain know of it. */
final class NativePd {
    private final NativeDevice device;
    private final long pointer;
    private final String name;
    private final Children children;

    NativePd(NativeDevice device) {
        this.device = device;
        Errno errno = Errno.create();
        this.pointer = Failure.check(
                device.library().allocPd(errno, device.context()),
                errno,
                "alloc_pd",
                device.toString(),
                "the device has no more protection domains");
        this.name = device + " pd 0x" + Long.toHexString(pointer);
        this.children = new Children(device, name);
    }

    NativeDevice device() {
        return device;
    }

    long pointer() {
        return pointer;
    }

    Children children() {
        return children;
    }

    @Override
    public String toString() {
        return name;
    }
}
