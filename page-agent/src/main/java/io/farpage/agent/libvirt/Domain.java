package io.farpage.agent.libvirt;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.config.Quantities;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * A domain of libvirt, as its hooks get it. The element {@code guest} of the namespace {@value #NAMESPACE} in its
 * metadata says that its RAM must be on remote memory; a domain without it is of no concern. Source: <a
 * href="https://libvirt.org/formatdomain.html">Domain XML format</a>.
 */
public final class Domain {
    /** The namespace of the element in the metadata. */
    public static final String NAMESPACE = "urn:farpage:guest:1";

    private static final String QEMU = "http://libvirt.org/schemas/domain/qemu/1.0";
    private static final String LIBRARY = "libfarpage-preload.so";
    private static final List<String> ATTRIBUTES = List.of(
            "space",
            "local",
            "replicas",
            "homes",
            "page-size",
            "prefetch",
            "encrypted",
            "key-id",
            "thin",
            "socket-owner");

    private final Element root;
    private final String name;

    private Domain(Element root, String name) {
        this.root = root;
        this.name = name;
    }

    /**
     * Reads the description of a domain. Entities and other documents are not read.
     *
     * @throws DomainException if it is none
     */
    public static Domain read(InputStream xml) throws DomainException {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        factory.setExpandEntityReferences(false);
        try {
            factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
            factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
            Document document = factory.newDocumentBuilder().parse(xml);
            Element root = document.getDocumentElement();
            String name = child(root, "", "name").map(Domain::text).orElse("");
            if (!root.getNodeName().equals("domain") || name.isEmpty()) {
                throw new DomainException("what libvirt sent is no <domain> with a <name>");
            }
            return new Domain(root, name);
        } catch (SAXException | IOException | ParserConfigurationException e) {
            throw new DomainException("the description of the domain cannot be read: " + e.getMessage(), e);
        }
    }

    /** Whether its RAM must be on remote memory. */
    public boolean isRemote() {
        return guest().isPresent();
    }

    /** Name of its space: the attribute {@code space}, or the domain's name. */
    public String space() {
        return guest().map(element -> element.getAttribute("space"))
                .filter(given -> !given.isEmpty())
                .orElse(name);
    }

    private Optional<Element> guest() {
        return child(root, "", "metadata").flatMap(metadata -> child(metadata, NAMESPACE, "guest"));
    }

    /**
     * What its agent is asked for.
     *
     * @throws DomainException if the domain would not come to the agent, or asks for what there is not
     */
    public GuestRequest request() throws DomainException {
        Map<String, String> asked = attributes();
        requireSharedMemory();
        Map<String, String> environment = environment();
        if (!environment.getOrDefault("LD_PRELOAD", "").contains(LIBRARY)) {
            throw refused("<qemu:env name='LD_PRELOAD' value='.../" + LIBRARY
                    + "'/> is missing in <qemu:commandline>: QEMU would not hand its RAM over");
        }
        String socket = environment.getOrDefault("FARPAGE_SOCKET", "");
        if (!Path.of(socket).isAbsolute()) {
            throw refused(
                    "<qemu:env name='FARPAGE_SOCKET' value='/run/farpage/%s.handoff'/> is missing in <qemu:commandline>"
                            .formatted(name));
        }
        return new GuestRequest(
                socket,
                OptionalLong.of(memory()),
                integer(asked, "page-size", Domain::size),
                Optional.ofNullable(asked.get("homes")).map(homes -> List.of(homes.split("[,\\s]+"))),
                integer(asked, "replicas", Long::parseLong),
                number(asked, "local", Domain::size),
                integer(asked, "prefetch", Long::parseLong),
                Optional.empty(),
                Optional.empty(),
                Optional.ofNullable(asked.get("socket-owner")),
                Optional.empty(),
                Optional.empty(),
                yes(asked, "encrypted"),
                Optional.ofNullable(asked.get("key-id")),
                yes(asked, "thin"),
                Optional.empty(),
                Optional.empty());
    }

    private Map<String, String> attributes() throws DomainException {
        Element element = guest().orElseThrow(() -> refused("it has no farpage:guest in its <metadata>"));
        Map<String, String> all = new TreeMap<>();
        NamedNodeMap given = element.getAttributes();
        for (int i = 0; i < given.getLength(); i++) {
            Node attribute = given.item(i);
            String key = attribute.getNodeName();
            if (key.startsWith("xmlns")) {
                continue;
            }
            if (!ATTRIBUTES.contains(key)) {
                throw refused(
                        "farpage:guest has no attribute '%s'; it has %s".formatted(key, String.join(", ", ATTRIBUTES)));
            }
            all.put(key, attribute.getNodeValue());
        }
        return all;
    }

    private void requireSharedMemory() throws DomainException {
        Optional<Element> backing = child(root, "", "memoryBacking");
        boolean memfd = backing.flatMap(element -> child(element, "", "source"))
                .filter(source -> source.getAttribute("type").equals("memfd"))
                .isPresent();
        boolean shared = backing.flatMap(element -> child(element, "", "access"))
                .filter(access -> access.getAttribute("mode").equals("shared"))
                .isPresent();
        if (!memfd || !shared) {
            throw refused("its RAM must be a shared memfd: <memoryBacking><source type='memfd'/><access"
                    + " mode='shared'/></memoryBacking>");
        }
        for (String never : List.of("locked", "allocation")) {
            Optional<Element> set = backing.flatMap(element -> child(element, "", never))
                    .filter(element -> !element.getAttribute("mode").equals("ondemand"));
            if (set.isPresent()) {
                throw refused("<%s> in <memoryBacking> would fetch all of its RAM; leave it out".formatted(never));
            }
        }
    }

    private Map<String, String> environment() {
        Map<String, String> all = new TreeMap<>();
        child(root, QEMU, "commandline")
                .ifPresent(commandLine -> children(commandLine, QEMU, "env")
                        .forEach(one -> all.put(one.getAttribute("name"), one.getAttribute("value"))));
        return all;
    }

    private long memory() throws DomainException {
        Element memory = child(root, "", "memory").orElseThrow(() -> refused("it has no <memory>"));
        String unit = memory.getAttribute("unit");
        String text = text(memory);
        try {
            return new BigInteger(text).multiply(BigInteger.valueOf(unit(unit))).longValueExact();
        } catch (ArithmeticException | NumberFormatException e) {
            throw refused("<memory unit='%s'>%s</memory> is not a size".formatted(unit, text));
        }
    }

    /** The units of libvirt, which are powers of 1024 but for those that end with a B after one letter. */
    private static long unit(String name) {
        return switch (name) {
            case "b", "bytes" -> 1;
            case "KB" -> 1_000;
            case "", "k", "KiB" -> 1L << 10;
            case "MB" -> 1_000_000;
            case "M", "MiB" -> 1L << 20;
            case "GB" -> 1_000_000_000;
            case "G", "GiB" -> 1L << 30;
            case "TB" -> 1_000_000_000_000L;
            case "T", "TiB" -> 1L << 40;
            default -> throw new NumberFormatException(name);
        };
    }

    /** Reads a value, or throws {@link IllegalArgumentException}. */
    private interface Value {
        long of(String text);
    }

    private static long size(String text) {
        return Quantities.bytes(text);
    }

    private OptionalLong number(Map<String, String> asked, String key, Value value) throws DomainException {
        String text = asked.get(key);
        if (text == null) {
            return OptionalLong.empty();
        }
        try {
            return OptionalLong.of(value.of(text));
        } catch (IllegalArgumentException e) {
            throw refused("farpage:guest has %s='%s', which is not valid: %s".formatted(key, text, e.getMessage()));
        }
    }

    private OptionalInt integer(Map<String, String> asked, String key, Value value) throws DomainException {
        OptionalLong found = number(asked, key, value);
        return found.isPresent()
                ? OptionalInt.of(Math.clamp(found.getAsLong(), Integer.MIN_VALUE, Integer.MAX_VALUE))
                : OptionalInt.empty();
    }

    private Optional<Boolean> yes(Map<String, String> asked, String key) throws DomainException {
        String text = asked.getOrDefault(key, "no");
        if (!text.equals("yes") && !text.equals("no")) {
            throw refused("farpage:guest has %s='%s'; it is 'yes' or 'no'".formatted(key, text));
        }
        return text.equals("yes") ? Optional.of(true) : Optional.empty();
    }

    private DomainException refused(String why) {
        return new DomainException("domain '%s' cannot start on remote memory: %s".formatted(name, why));
    }

    private static String text(Element element) {
        return element.getTextContent().strip();
    }

    private static Optional<Element> child(Element parent, String namespace, String name) {
        return children(parent, namespace, name).stream().findFirst();
    }

    private static List<Element> children(Element parent, String namespace, String name) {
        List<Element> found = new ArrayList<>();
        NodeList nodes = parent.getChildNodes();
        for (int i = 0; i < nodes.getLength(); i++) {
            if (nodes.item(i) instanceof Element element
                    && name.equals(element.getLocalName())
                    && namespace.equals(
                            Optional.ofNullable(element.getNamespaceURI()).orElse(""))) {
                found.add(element);
            }
        }
        return found;
    }
}
