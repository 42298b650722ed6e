package io.farpage.it.simulation.loader;

import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.classfile.MethodElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodHandleDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.Map;
import java.util.Optional;

/** Redirects what a class asks of the JDK and of the kernel about time, threads, locks and chance to the engine. */
final class Transformer {
    private static final ClassDesc OF_PLATFORM = ClassDesc.of("java.lang.Thread$Builder$OfPlatform");
    private static final ClassDesc OF_VIRTUAL = ClassDesc.of("java.lang.Thread$Builder$OfVirtual");
    private static final ClassDesc MONITORS = ClassDesc.of("io.farpage.it.simulation.engine.Monitors");
    private static final MethodTypeDesc OF_OBJECT = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_Object);

    /**
     * What iterates in the order of hash codes, which are those of identities for some keys, and what iterates in the
     * order of insertion.
     */
    private static final Map<String, ClassDesc> LINKED = Map.of(
            "java/util/HashMap", ClassDesc.of("java.util.LinkedHashMap"),
            "java/util/HashSet", ClassDesc.of("java.util.LinkedHashSet"));

    private final ClassFile classFile;

    Transformer(ClassLoader classes) {
        classFile =
                ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(classes)
                        .orElse(ClassHierarchyResolver.defaultResolver())
                        .cached()));
    }

    byte[] transform(byte[] bytes) {
        ClassModel model = classFile.parse(bytes);
        return classFile.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel method) {
                transform(model, builder, method);
            } else {
                builder.with(element);
            }
        });
    }

    private void transform(ClassModel owner, ClassBuilder builder, MethodModel method) {
        String name =
                owner.thisClass().asInternalName() + "." + method.methodName().stringValue();
        Optional<Redirects.Stub> stub = Redirects.stub(name, method.methodTypeSymbol());
        boolean isSynchronized = method.flags().has(AccessFlag.SYNCHRONIZED);
        int flags = method.flags().flagsMask() & ~ClassFile.ACC_SYNCHRONIZED;
        builder.withMethod(method.methodName(), method.methodType(), flags, to -> {
            for (MethodElement element : method) {
                if (element instanceof CodeModel code) {
                    if (stub.isPresent()) {
                        to.withCode(body -> replace(body, method, stub.get()));
                    } else if (isSynchronized) {
                        to.transformCode(
                                code,
                                new Locked(
                                        owner.thisClass().asSymbol(),
                                        method.flags().has(AccessFlag.STATIC)));
                    } else {
                        to.transformCode(code, Transformer::rewrite);
                    }
                } else if (!(element instanceof java.lang.classfile.AccessFlags)) {
                    to.with(element);
                }
            }
        });
    }

    private static void replace(CodeBuilder body, MethodModel method, Redirects.Stub stub) {
        MethodTypeDesc type = method.methodTypeSymbol();
        MethodTypeDesc call = type;
        int slot = 0;
        if (!method.flags().has(AccessFlag.STATIC)) {
            body.aload(0);
            call = call.insertParameterTypes(0, ConstantDescs.CD_Object);
            slot = 1;
        }
        for (ClassDesc parameter : type.parameterList()) {
            TypeKind kind = TypeKind.from(parameter);
            body.loadLocal(kind, slot);
            slot += kind.slotSize();
        }
        for (int i = 0; i < call.parameterCount(); i++) {
            if (!call.parameterType(i).isPrimitive()) {
                call = call.changeParameterType(i, ConstantDescs.CD_Object);
            }
        }
        boolean casts = !type.returnType().isPrimitive();
        if (casts) {
            call = call.changeReturnType(ConstantDescs.CD_Object);
        }
        body.invokestatic(stub.hooks(), stub.hook(), call);
        if (casts) {
            body.checkcast(type.returnType());
        }
        body.return_(TypeKind.from(type.returnType()));
    }

    /** A synchronized method: it holds a monitor of the engine instead. */
    private static final class Locked implements CodeTransform {
        private final ClassDesc owner;
        private final boolean isStatic;
        private Label start;

        Locked(ClassDesc owner, boolean isStatic) {
            this.owner = owner;
            this.isStatic = isStatic;
        }

        private void call(CodeBuilder builder, String what) {
            if (isStatic) {
                builder.ldc(owner);
            } else {
                builder.aload(0);
            }
            builder.invokestatic(MONITORS, what, OF_OBJECT);
        }

        @Override
        public void atStart(CodeBuilder builder) {
            call(builder, "enter");
            start = builder.newBoundLabel();
        }

        @Override
        public void accept(CodeBuilder builder, CodeElement element) {
            if (element instanceof ReturnInstruction) {
                call(builder, "exit");
            }
            rewrite(builder, element);
        }

        @Override
        public void atEnd(CodeBuilder builder) {
            Label end = builder.newBoundLabel();
            Label handler = builder.newBoundLabel();
            call(builder, "exit");
            builder.athrow();
            builder.exceptionCatchAll(start, end, handler);
        }
    }

    private static void rewrite(CodeBuilder builder, CodeElement element) {
        switch (element) {
            case MonitorInstruction monitor ->
                builder.invokestatic(MONITORS, monitor.opcode() == Opcode.MONITORENTER ? "enter" : "exit", OF_OBJECT);
            case NewObjectInstruction made
            when LINKED.containsKey(made.className().asInternalName()) ->
                builder.new_(LINKED.get(made.className().asInternalName()));
            case InvokeInstruction invoke
            when invoke.opcode() == Opcode.INVOKESPECIAL
                    && invoke.name().equalsString("<init>")
                    && LINKED.containsKey(invoke.owner().asInternalName()) ->
                builder.invokespecial(LINKED.get(invoke.owner().asInternalName()), "<init>", invoke.typeSymbol());
            case InvokeInstruction invoke -> rewrite(builder, invoke);
            case InvokeDynamicInstruction dynamic -> rewrite(builder, dynamic);
            default -> builder.with(element);
        }
    }

    private static void rewrite(CodeBuilder builder, InvokeInstruction invoke) {
        String owner = invoke.owner().asInternalName();
        String name = invoke.name().stringValue();
        MethodTypeDesc type = invoke.typeSymbol();
        if (owner.equals("java/lang/Thread$Builder$OfPlatform")) {
            ofPlatform(builder, name, type);
            return;
        }
        Optional<Redirects.Call> call = Redirects.call(owner, name, type);
        if (call.isEmpty()) {
            builder.with(invoke);
            return;
        }
        MethodTypeDesc hook = type;
        if (invoke.opcode() != Opcode.INVOKESTATIC) {
            hook = hook.insertParameterTypes(0, call.get().receiver());
        }
        if (call.get().result().isPresent()) {
            hook = hook.changeReturnType(call.get().result().get());
        }
        builder.invokestatic(call.get().hooks(), call.get().hook(), hook);
    }

    private static void ofPlatform(CodeBuilder builder, String name, MethodTypeDesc type) {
        if (name.equals("daemon")) {
            if (type.parameterCount() == 1) {
                builder.pop();
            }
            return;
        }
        MethodTypeDesc to = type.returnType().equals(OF_PLATFORM) ? type.changeReturnType(OF_VIRTUAL) : type;
        builder.invokeinterface(OF_VIRTUAL, name, to);
    }

    private static void rewrite(CodeBuilder builder, InvokeDynamicInstruction dynamic) {
        boolean changed = false;
        ConstantDesc[] arguments = dynamic.bootstrapArgs().toArray(ConstantDesc[]::new);
        for (int i = 0; i < arguments.length; i++) {
            if (arguments[i] instanceof DirectMethodHandleDesc handle
                    && handle.lookupDescriptor().startsWith("(")) {
                String owner = handle.owner().descriptorString();
                MethodTypeDesc type = MethodTypeDesc.ofDescriptor(handle.lookupDescriptor());
                Optional<Redirects.Call> call =
                        Redirects.call(owner.substring(1, owner.length() - 1), handle.methodName(), type);
                String made = owner.substring(1, owner.length() - 1);
                if (handle.kind() == DirectMethodHandleDesc.Kind.CONSTRUCTOR && LINKED.containsKey(made)) {
                    arguments[i] = MethodHandleDesc.ofConstructor(
                            LINKED.get(made), type.parameterList().toArray(ClassDesc[]::new));
                    changed = true;
                }
                if (call.isPresent()) {
                    boolean isStatic = handle.kind() == DirectMethodHandleDesc.Kind.STATIC
                            || handle.kind() == DirectMethodHandleDesc.Kind.INTERFACE_STATIC;
                    MethodTypeDesc hook = isStatic
                            ? type
                            : type.insertParameterTypes(0, call.get().receiver());
                    arguments[i] = MethodHandleDesc.ofMethod(
                            DirectMethodHandleDesc.Kind.STATIC,
                            call.get().hooks(),
                            call.get().hook(),
                            hook);
                    changed = true;
                }
            }
        }
        if (!changed) {
            builder.with(dynamic);
            return;
        }
        builder.invokedynamic(DynamicCallSiteDesc.of(
                dynamic.bootstrapMethod(), dynamic.name().stringValue(), dynamic.typeSymbol(), arguments));
    }
}
