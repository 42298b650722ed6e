# time limit: 240 s
# One machine reads the other's pages and checks every byte.
two_node_read() {
  java "${java_flags[@]}" -cp "$RIG_CLASSPATH" io.farpage.verbs.ibverbs.TwoNodeRead "$@"
}
case $RIG_ROLE in
  a) two_node_read serve 10.78.0.1 ;;
  b) two_node_read read 10.78.0.1 "${READS:-5000}" ;;
esac
