# time limit: 600 s
# kind: repetition
# lane: cable
# devices: rxe1 rxe2
# The provider contract between two devices, the packets travelling through a cable.
before=$(cat /sys/class/net/cable1/statistics/tx_packets)
junit rxe1,rxe2 --select-class io.farpage.verbs.ibverbs.IbverbsContractTest
after=$(cat /sys/class/net/cable1/statistics/tx_packets)
echo "# result: $((after - before)) packets left through cable1"
[ $((after - before)) -gt 1000 ]
