import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Enumeration;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Gives the classes of jars that are older than Java 6 the version of Java 7 and the stack maps that it asks for. The
 * JVM's caches of loaded classes take no older ones, which would be read and verified at each start. Nothing else of
 * them is changed.
 *
 * <p>{@code java CacheableClasses.java JAR...}; a jar whose classes are all new enough stays as it is. One that is
 * written keeps its time and the times of its entries, so that it is the same bytes each time.
 */
final class CacheableClasses {

    private CacheableClasses() {}

    public static void main(String... jars) throws IOException {
        for (String jar : jars) {
            rewrite(Path.of(jar));
        }
    }

    private static void rewrite(Path jar) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        boolean changed = false;
        try (ZipFile in = new ZipFile(jar.toFile());
                URLClassLoader classes = new URLClassLoader(new URL[] {jar.toUri().toURL()});
                ZipOutputStream out = new ZipOutputStream(bytes)) {
            ClassHierarchyResolver hierarchy = ClassHierarchyResolver.ofClassLoading(classes);
            ClassFile format = ClassFile.of(ClassHierarchyResolverOption.of(hierarchy));
            for (Enumeration<? extends ZipEntry> entries = in.entries(); entries.hasMoreElements(); ) {
                ZipEntry entry = entries.nextElement();
                byte[] content = in.getInputStream(entry).readAllBytes();
                if (entry.getName().endsWith(".class")) {
                    ClassModel model = format.parse(content);
                    if (model.majorVersion() < ClassFile.JAVA_6_VERSION) {
                        content = current(format, model);
                        changed = true;
                    }
                }
                ZipEntry same = new ZipEntry(entry.getName());
                same.setLastModifiedTime(entry.getLastModifiedTime());
                out.putNextEntry(same);
                out.write(content);
                out.closeEntry();
            }
        }
        if (changed) {
            FileTime time = Files.getLastModifiedTime(jar);
            Files.write(jar, bytes.toByteArray());
            Files.setLastModifiedTime(jar, time);
        }
    }

    /** Code is built anew from its instructions, since it is then that stack maps are made. */
    private static byte[] current(ClassFile format, ClassModel model) throws IOException {
        byte[] bytes = format.transformClass(
                model,
                ClassTransform.transformingMethodBodies(CodeBuilder::with)
                        .andThen(ClassTransform.endHandler(built -> built.withVersion(ClassFile.JAVA_7_VERSION, 0))));
        if (!format.verify(bytes).isEmpty()) {
            throw new IOException(model.thisClass().asInternalName() + " cannot be rewritten: " + format.verify(bytes));
        }
        return bytes;
    }
}
