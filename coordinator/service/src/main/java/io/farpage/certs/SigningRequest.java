package io.farpage.certs;

import io.farpage.tls.Pem;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.io.StringReader;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.operator.jcajce.JcaContentVerifierProviderBuilder;
import org.bouncycastle.pkcs.PKCS10CertificationRequest;
import org.bouncycastle.pkcs.PKCSException;
import org.bouncycastle.pkcs.jcajce.JcaPKCS10CertificationRequest;
import org.bouncycastle.pkcs.jcajce.JcaPKCS10CertificationRequestBuilder;
import org.bouncycastle.util.io.pem.PemObject;
import org.bouncycastle.util.io.pem.PemReader;

/**
 * Certificate signing requests (PKCS #10, RFC 2986). Only the public key of one counts; its names are the CA's to
 * choose.
 */
public final class SigningRequest {

    private static final int LONGEST = 16 << 10;

    private SigningRequest() {}

    /** A request for a key, as PEM. */
    public static String make(String name, PublicKey publicKey, PrivateKey privateKey) {
        try {
            return Pem.block(
                    "CERTIFICATE REQUEST",
                    new JcaPKCS10CertificationRequestBuilder(new X500Principal("CN=" + name), publicKey)
                            .build(new JcaContentSignerBuilder(Keys.signatureOf(privateKey)).build(privateKey))
                            .getEncoded());
        } catch (OperatorCreationException | IOException e) {
            throw new TlsException("a certificate signing request cannot be made: " + e.getMessage(), e);
        }
    }

    /**
     * The public key of a request whose signature shows that the sender has the private one.
     *
     * @throws IllegalArgumentException if it is not such a request, or its key is too weak
     */
    public static PublicKey publicKey(String pem) {
        if (pem.length() > LONGEST) {
            throw new IllegalArgumentException("the signing request is longer than %d bytes".formatted(LONGEST));
        }
        try (PemReader reader = new PemReader(new StringReader(pem))) {
            PemObject object = reader.readPemObject();
            if (object == null || !object.getType().equals("CERTIFICATE REQUEST")) {
                throw new IllegalArgumentException("the signing request is not PEM of type CERTIFICATE REQUEST");
            }
            JcaPKCS10CertificationRequest request =
                    new JcaPKCS10CertificationRequest(new PKCS10CertificationRequest(object.getContent()));
            PublicKey key = request.getPublicKey();
            if (!request.isSignatureValid(new JcaContentVerifierProviderBuilder().build(key))) {
                throw new IllegalArgumentException("the signing request is not signed with its own key");
            }
            return KeyStrength.require(key);
        } catch (IOException | GeneralSecurityException | OperatorCreationException | PKCSException e) {
            throw new IllegalArgumentException("the signing request cannot be read: " + e.getMessage(), e);
        }
    }
}
