# The JDK and the class path that the guest uses straight from the host's file system.

find_java() {
  local candidate
  for candidate in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
    if [ -x "$candidate/bin/javac" ] && [ "$("$candidate/bin/javac" -version 2>&1 | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 25 ]; then
      export JAVA_HOME=$candidate
      return
    fi
  done
  echo "rig: no JDK of version 25 or newer; install one or set JAVA_HOME" >&2
  return 1
}

build_tests() {
  echo "rig: compiling" >&2
  (cd "$root" && mvn -q -B -Dquick -pl rdma-verbs -am test-compile dependency:build-classpath \
    -Dmdep.outputFile=target/rig.classpath -Dmdep.includeScope=test)
}

# The AOT caches of the programs, without which emulation takes minutes to start them; recorded anew if there was a build since.
record_programs() {
  local lib=$root/target/farpage/lib
  [ -d "$lib" ] || { echo "rig: the programs are not built; run: make -C $root build" >&2; return 1; }
  "$root/build/aot-caches"
}

# jars DIRECTORY FILE: the class path in a file. An AOT cache takes no directories, so each directory becomes a jar in DIRECTORY.
jars() {
  local entry number=0 path=
  while IFS= read -r -d : entry; do
    if [ -d "$entry" ]; then
      number=$((number + 1))
      "$JAVA_HOME/bin/jar" --create --file "$1/module-$number.jar" -C "$entry" .
      entry=$1/module-$number.jar
    fi
    path=$path:$entry
  done < <(tr -d '\n' <"$2"; printf :)
  printf %s "${path#:}"
}

# prepare_classes DIRECTORY: sets CLASSPATH, the classes being copied there so that the guest does not see the next build, and has
# the JVM archive them loaded and verified (CDS), which emulation would take long to do.
prepare_classes() {
  local module=$root/rdma-verbs/target
  [ -s "$module/rig.classpath" ] || { echo "rig: $module/rig.classpath is missing; run without --no-build" >&2; return 1; }
  mkdir -p "$1"
  "$JAVA_HOME/bin/jar" --create --file "$1/classes.jar" -C "$module/classes" .
  "$JAVA_HOME/bin/jar" --create --file "$1/tests.jar" -C "$module/test-classes" .
  CLASSPATH=$1/tests.jar:$1/classes.jar:$(jars "$1" "$module/rig.classpath")
  ARCHIVE=$1/rig.jsa
  "$JAVA_HOME/bin/java" "@$root/bin/java-flags" -XX:TieredStopAtLevel=1 -Xlog:disable -Xlog:all=off -XX:ArchiveClassesAtExit="$ARCHIVE" \
    -cp "$CLASSPATH" org.junit.platform.console.ConsoleLauncher execute --details=none \
    --reports-dir "$1" --select-class io.farpage.verbs.ibverbs.SendChainTest --select-class io.farpage.verbs.ibverbs.GidTableTest >/dev/null
}
