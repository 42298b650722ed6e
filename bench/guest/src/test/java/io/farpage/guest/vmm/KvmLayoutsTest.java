package io.farpage.guest.vmm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.guest.vmm.KvmLayouts.Regs;
import io.farpage.guest.vmm.KvmLayouts.Run;
import io.farpage.guest.vmm.KvmLayouts.Segment;
import io.farpage.guest.vmm.KvmLayouts.Sregs;
import io.farpage.guest.vmm.KvmLayouts.UserspaceMemoryRegion;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asks a C compiler about every offset, size and number of the kernel's header that is used here. */
final class KvmLayoutsTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldHaveTheOffsetsOfLinuxKvmHeader() throws Exception {
        Map<String, Long> expected = new LinkedHashMap<>();
        expected.put("sizeof(struct kvm_userspace_memory_region)", UserspaceMemoryRegion.SIZE);
        expected.put("offsetof(struct kvm_userspace_memory_region, slot)", UserspaceMemoryRegion.SLOT);
        expected.put(
                "offsetof(struct kvm_userspace_memory_region, guest_phys_addr)", UserspaceMemoryRegion.GUEST_PHYS_ADDR);
        expected.put("offsetof(struct kvm_userspace_memory_region, memory_size)", UserspaceMemoryRegion.MEMORY_SIZE);
        expected.put(
                "offsetof(struct kvm_userspace_memory_region, userspace_addr)", UserspaceMemoryRegion.USERSPACE_ADDR);
        expected.put("sizeof(struct kvm_regs)", Regs.SIZE);
        expected.put("offsetof(struct kvm_regs, rip)", Regs.RIP);
        expected.put("offsetof(struct kvm_regs, rflags)", Regs.RFLAGS);
        expected.put("sizeof(struct kvm_segment)", Segment.SIZE);
        expected.put("offsetof(struct kvm_segment, base)", Segment.BASE);
        expected.put("offsetof(struct kvm_segment, limit)", Segment.LIMIT);
        expected.put("offsetof(struct kvm_segment, selector)", Segment.SELECTOR);
        expected.put("offsetof(struct kvm_segment, type)", Segment.TYPE);
        expected.put("offsetof(struct kvm_segment, present)", Segment.PRESENT);
        expected.put("offsetof(struct kvm_segment, db)", Segment.DB);
        expected.put("offsetof(struct kvm_segment, s)", Segment.S);
        expected.put("offsetof(struct kvm_segment, l)", Segment.L);
        expected.put("offsetof(struct kvm_segment, g)", Segment.G);
        expected.put("sizeof(struct kvm_sregs)", Sregs.SIZE);
        expected.put("offsetof(struct kvm_sregs, cs)", Sregs.CS);
        expected.put("offsetof(struct kvm_sregs, ds)", Sregs.DS);
        expected.put("offsetof(struct kvm_sregs, es)", Sregs.ES);
        expected.put("offsetof(struct kvm_sregs, ss)", Sregs.SS);
        expected.put("offsetof(struct kvm_sregs, cr0)", Sregs.CR0);
        expected.put("offsetof(struct kvm_sregs, cr3)", Sregs.CR3);
        expected.put("offsetof(struct kvm_sregs, cr4)", Sregs.CR4);
        expected.put("offsetof(struct kvm_sregs, efer)", Sregs.EFER);
        expected.put("offsetof(struct kvm_run, exit_reason)", Run.EXIT_REASON);
        expected.put("offsetof(struct kvm_run, io.direction)", Run.IO_DIRECTION);
        expected.put("offsetof(struct kvm_run, io.size)", Run.IO_SIZE);
        expected.put("offsetof(struct kvm_run, io.port)", Run.IO_PORT);
        expected.put("offsetof(struct kvm_run, io.data_offset)", Run.IO_DATA_OFFSET);
        expected.put("offsetof(struct kvm_run, mmio.phys_addr)", Run.MMIO_PHYS_ADDR);
        expected.put("offsetof(struct kvm_run, fail_entry.hardware_entry_failure_reason)", Run.FAIL_ENTRY_REASON);
        expected.put("offsetof(struct kvm_run, internal.suberror)", Run.INTERNAL_SUBERROR);
        expected.put("KVM_EXIT_IO", (long) Run.EXIT_IO);
        expected.put("KVM_EXIT_HLT", (long) Run.EXIT_HLT);
        expected.put("KVM_EXIT_MMIO", (long) Run.EXIT_MMIO);
        expected.put("KVM_EXIT_SHUTDOWN", (long) Run.EXIT_SHUTDOWN);
        expected.put("KVM_EXIT_FAIL_ENTRY", (long) Run.EXIT_FAIL_ENTRY);
        expected.put("KVM_EXIT_INTERNAL_ERROR", (long) Run.EXIT_INTERNAL_ERROR);
        expected.put("KVM_EXIT_IO_OUT", (long) Run.IO_OUT);
        expected.put("KVM_GET_API_VERSION", Kvm.KVM_GET_API_VERSION);
        expected.put("KVM_CREATE_VM", Kvm.KVM_CREATE_VM);
        expected.put("KVM_GET_VCPU_MMAP_SIZE", Kvm.KVM_GET_VCPU_MMAP_SIZE);
        expected.put("KVM_CREATE_VCPU", Kvm.KVM_CREATE_VCPU);
        expected.put("KVM_SET_USER_MEMORY_REGION", Kvm.KVM_SET_USER_MEMORY_REGION);
        expected.put("KVM_RUN", Kvm.KVM_RUN);
        expected.put("KVM_SET_REGS", Kvm.KVM_SET_REGS);
        expected.put("KVM_GET_SREGS", Kvm.KVM_GET_SREGS);
        expected.put("KVM_SET_SREGS", Kvm.KVM_SET_SREGS);

        StringBuilder source = new StringBuilder(
                "#include <linux/kvm.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n");
        expected.keySet().forEach(c -> source.append("printf(\"%s %%ld\\n\", (long) (%s));%n".formatted(c, c)));
        source.append("}\n");
        Map<String, Long> actual = new TreeMap<>();
        for (String line : Compiled.linesOf(directory, source.toString())) {
            int split = line.lastIndexOf(' ');
            actual.put(line.substring(0, split), Long.parseLong(line.substring(split + 1)));
        }
        assertEquals(new TreeMap<>(expected), actual);
    }
}
