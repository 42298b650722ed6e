package io.farpage.guest.vmm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.guest.command.CommandException;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.FileIo;
import io.farpage.linux.Libc;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** {@code /dev/kvm} and its requests (Documentation/virt/kvm/api.rst). */
final class Kvm {
    static final long KVM_GET_API_VERSION = 0xae00;
    static final long KVM_CREATE_VM = 0xae01;
    static final long KVM_GET_VCPU_MMAP_SIZE = 0xae04;
    static final long KVM_CREATE_VCPU = 0xae41;
    static final long KVM_SET_USER_MEMORY_REGION = 0x4020ae46;
    static final long KVM_RUN = 0xae80;
    static final long KVM_SET_REGS = 0x4090ae82L;
    static final long KVM_GET_SREGS = 0x8138ae83L;
    static final long KVM_SET_SREGS = 0x4138ae84L;

    private static final String DEVICE = "/dev/kvm";
    private static final int API_VERSION = 12;
    private static final int O_RDWR_CLOEXEC = 0x80002;
    private static final MethodHandle open$mh =
            Libc.capturing("open", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT), 2);

    private Kvm() {}

    /** Why no virtual machine can run on this machine; empty if one can. */
    static Optional<String> whyNot() {
        if (!System.getProperty("os.arch").equals("amd64")) {
            return Optional.of("the guest's code is for x86-64, and this is " + System.getProperty("os.arch"));
        }
        Errno errno = Errno.ofThread();
        int fd = tryOpen(errno);
        if (fd < 0) {
            return Optional.of(refusal(-fd));
        }
        FileIo.close(errno, fd);
        return Optional.empty();
    }

    /**
     * Opens the device.
     *
     * @return a file descriptor
     * @throws CommandException if there is no KVM, this user may not use it, or it is not the one that the
     *     documentation describes
     */
    static int open(Errno errno) {
        int fd = tryOpen(errno);
        if (fd < 0) {
            throw new CommandException(refusal(-fd));
        }
        int version = Ioctl.call(errno, fd, KVM_GET_API_VERSION, 0);
        if (version != API_VERSION) {
            FileIo.close(errno, fd);
            throw new CommandException(DEVICE + ": KVM_GET_API_VERSION gives " + version + ", not " + API_VERSION);
        }
        return fd;
    }

    private static int tryOpen(Errno errno) {
        try (Arena arena = Arena.ofConfined()) {
            long path = arena.allocateFrom(DEVICE).address();
            // SAFETY: the path lives in the arena until after the call.
            return errno.check((int) open$mh.invokeExact(errno.segment(), path, O_RDWR_CLOEXEC));
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        }
    }

    private static String refusal(int errno) {
        String fix = switch (errno) {
            case Errno.EACCES, Errno.EPERM -> "; usermod -aG kvm " + System.getProperty("user.name");
            case Errno.ENOENT -> "; modprobe kvm_intel || modprobe kvm_amd";
            default -> "";
        };
        return DEVICE + ": " + ErrnoName.of(errno) + fix;
    }
}
