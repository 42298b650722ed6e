package io.farpage.verbs.soft;

import io.farpage.verbs.Availability;
import io.farpage.verbs.Device;
import io.farpage.verbs.LinkSecret;
import io.farpage.verbs.ProtectionDomain;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;

/** The soft provider with encryption required; every queue pair is given the same secret as soon as it is in INIT. */
public final class EncryptedProvider implements VerbsProvider {
    static final LinkSecret SECRET = new LinkSecret(new byte[LinkSecret.SIZE]);

    private final SoftProvider provider =
            new SoftProvider(SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED));

    @Override
    public String name() {
        return provider.name();
    }

    @Override
    public List<String> present() {
        return provider.present();
    }

    @Override
    public Availability probe(Set<String> except) {
        return provider.probe(except);
    }

    @Override
    public Device open(String device) {
        return securing(Device.class, provider.open(device));
    }

    /** {@code target}, with domains and queue pairs that it returns treated likewise. */
    private static <T> T securing(Class<T> type, Object target) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    Object result;
                    try {
                        result = method.invoke(target, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    if (target instanceof QueuePair queuePair
                            && method.getName().equals("modifyToInit")) {
                        queuePair.requireProof(SECRET);
                    }
                    return switch (result) {
                        case ProtectionDomain domain -> securing(ProtectionDomain.class, domain);
                        case QueuePair queuePair -> securing(QueuePair.class, queuePair);
                        case null, default -> result;
                    };
                }));
    }
}
