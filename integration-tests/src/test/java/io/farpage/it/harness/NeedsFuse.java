package io.farpage.it.harness;

import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.PosixException;
import io.farpage.linux.fuse.FuseMounts;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips a test, or all of a class, where this user may not mount a file system in user space. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsFuse.Condition.class)
public @interface NeedsFuse {
    /** Mounts one. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            Path directory = Path.of("");
            try {
                directory = Files.createTempDirectory("farpage-fuse");
                int fd = FuseMounts.mount("farpage-test", directory);
                var _ = FuseMounts.unmount(directory);
                FileIo.close(Errno.create(), fd);
                return ConditionEvaluationResult.enabled("file systems can be mounted");
            } catch (PosixException | IOException e) {
                return ConditionEvaluationResult.disabled(
                        e.getMessage() + "; run the test as root, on a kernel with the module fuse");
            } finally {
                Directories.delete(directory);
            }
        }
    }
}
