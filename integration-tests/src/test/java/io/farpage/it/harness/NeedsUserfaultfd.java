package io.farpage.it.harness;

import io.farpage.linux.PosixException;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips a test, or all of a class, where this user may not have a userfaultfd. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsUserfaultfd.Condition.class)
public @interface NeedsUserfaultfd {
    /** Opens one. */
    final class Condition implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            try (Userfaultfd _ = Userfaultfd.open(0)) {
                return ConditionEvaluationResult.enabled("a userfaultfd is available");
            } catch (PosixException e) {
                return ConditionEvaluationResult.disabled(
                        e.getMessage() + "; allow it with sysctl vm.unprivileged_userfaultfd=1 or CAP_SYS_PTRACE");
            }
        }
    }
}
